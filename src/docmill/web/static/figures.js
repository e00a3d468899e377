// Numbers as people write them and as invoices keep them: digits and a point.

const PLAIN = /^[+-]?\d{1,30}(\.\d{0,18})?$/;

// What was typed, in either notation, with a point; as it is where it is no number.
// One mark with three digits behind it parts thousands, unless it is the document's decimal mark.
export function read(text, mark) {
  const given = text.trim();
  const negative = /^[-−–]|[-−–]$|^\(.*\)$/.test(given);
  const bare = given.replace(/^[-−–+(]\s*|\s*[-−–)]$/g, "").replace(/['’\s]/g, "");
  if (!/^\d[\d.,]*$/.test(bare)) return given;
  const marks = bare.match(/[.,]/g) ?? [];
  const last = marks.at(-1);
  let whole;
  if (new Set(marks).size === 2) whole = marks.filter((each) => each === last).length === 1 ? last : null;
  else if (marks.length > 1) whole = "";
  else whole = last && !(last !== mark && /^[1-9]\d{0,2}[.,]\d{3}$/.test(bare)) ? last : "";
  if (whole === null) return given;
  const [front, end = ""] = whole ? bare.split(whole) : [bare];
  const digits = front.replace(/[.,]/g, "");
  const plain = end ? `${digits}.${end}` : digits;
  return PLAIN.test(plain) ? (negative ? `-${plain}` : plain) : given;
}

// With thousands apart, as the document prints them.
export function show(plain, mark, group = mark === "," ? "." : ",") {
  if (!PLAIN.test(plain)) return plain;
  const [whole, behind] = plain.replace("+", "").split(".");
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, group);
  return behind ? `${grouped}${mark}${behind}` : grouped;
}

// The sum of plain numbers, exactly.
export function add(numbers) {
  const known = numbers.filter((each) => PLAIN.test(each));
  const places = Math.max(0, ...known.map((each) => (each.split(".")[1] ?? "").length));
  const scaled = (each) => BigInt((each.split(".")[0] || "0") + (each.split(".")[1] ?? "").padEnd(places, "0"));
  const total = known.reduce((sum, each) => sum + scaled(each), 0n);
  const digits = (total < 0n ? -total : total).toString().padStart(places + 1, "0");
  const text = places ? `${digits.slice(0, -places)}.${digits.slice(-places)}` : digits;
  return total < 0n ? `-${text}` : text;
}
