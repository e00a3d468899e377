// The value under the cursor, marked on the page of the document.

const SVG = "http://www.w3.org/2000/svg";

export function begin(root) {
  const sheets = root.querySelector(".sheets");
  if (!sheets) return;
  for (const image of sheets.querySelectorAll("img"))
    if (image.complete && image.naturalWidth) measure(image);
    else image.addEventListener("load", () => measure(image), { once: true });
  const found = root.querySelector(".found");
  for (const kind of ["pointerover", "focusin"])
    found.addEventListener(kind, (event) => {
      const value = event.target.closest("[data-page]");
      if (value) mark(sheets, value);
    });
}

// Pictures are drawn at two pixels a point, unless the page is huge; its words say its real size.
async function measure(image) {
  const answer = await fetch(image.src.replace(/\.png$/, ".json")).catch(() => null);
  if (!answer?.ok) return;
  const page = await answer.json();
  image.parentNode.querySelector("svg").setAttribute("viewBox", `0 0 ${page.width} ${page.height}`);
  image.parentNode.classList.add("known");
}

function mark(sheets, value) {
  for (const rect of sheets.querySelectorAll("rect")) rect.remove();
  for (const each of document.querySelectorAll(".pointed")) each.classList.remove("pointed");
  const sheet = sheets.querySelector(`.sheet[data-page="${value.dataset.page}"]`);
  if (!sheet) return;
  value.classList.add("pointed");
  let target = sheet;
  if (value.dataset.box) {
    const [x0, y0, x1, y1] = value.dataset.box.split(" ").map(Number);
    target = document.createElementNS(SVG, "rect");
    const place = { x: x0 - 2, y: y0 - 1.5, width: x1 - x0 + 4, height: y1 - y0 + 3, rx: 1.5 };
    for (const [name, number] of Object.entries(place)) target.setAttribute(name, number);
    sheet.querySelector("svg").append(target);
  }
  const [at, frame] = [target.getBoundingClientRect(), sheets.getBoundingClientRect()];
  if (at.top >= frame.top && at.bottom <= frame.bottom) return;
  sheets.scrollBy({ top: at.top - frame.top - (target === sheet ? 8 : frame.height / 3) });
}
