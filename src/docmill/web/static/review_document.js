// The document of a review: pages with a box for every value, and words that can be taken.

const SVG = "http://www.w3.org/2000/svg";
const sheets = document.querySelector(".sheets");
const words = new Map(); // page number -> [text, x0, y0, x1, y1] each
const SMALL = 4; // points: a shorter drag is a click

const sheetOf = (page) => sheets.querySelector(`.sheet[data-page="${page}"]`);
const boxOf = (input) => (input.dataset.box ? input.dataset.box.split(" ").map(Number) : null);
const plain = (text) => text.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "");

export function begin({ chosen, taken }) {
  for (const sheet of sheets.querySelectorAll(".sheet")) {
    const image = sheet.querySelector("img");
    if (image.complete && image.naturalWidth) measure(sheet);
    else image.addEventListener("load", () => measure(sheet), { once: true });
    select(sheet, chosen, taken);
  }
  sheets.addEventListener("scroll", number, { passive: true });
  new ResizeObserver(fit).observe(sheets);
  document.querySelector("#in").addEventListener("click", () => choose(zoom * 1.25));
  document.querySelector("#out").addEventListener("click", () => choose(zoom / 1.25));
  document.querySelector("#fit").addEventListener("click", () => choose(1));
  document.querySelector("#before").addEventListener("click", () => turn(-1));
  document.querySelector("#after").addEventListener("click", () => turn(1));
}

// Zoom: large enough that the words can be read, until somebody chooses otherwise.
let zoom = 1;
let chosen = false;
let shown = null; // the value last brought into view
const LEGIBLE = 13; // pixels a line of text should be high
const MOST = 4;

function scale(to) {
  if (to === zoom) return;
  zoom = Math.min(MOST, Math.max(1, to));
  sheets.style.setProperty("--zoom", zoom);
  document.querySelector("#fit").setAttribute("aria-pressed", zoom === 1);
  if (shown) show(shown);
}

function choose(to) {
  chosen = true;
  scale(to);
}

function fit() {
  const sheet = sheets.querySelector(".sheet.known");
  const all = sheet && words.get(sheet.dataset.page);
  if (chosen || !all?.length) return;
  const heights = all.map((word) => word[4] - word[2]).sort((one, other) => one - other);
  const perPoint = sheet.clientWidth / zoom / sheet.querySelector("svg").viewBox.baseVal.width;
  const wanted = LEGIBLE / (heights[heights.length >> 1] * perPoint);
  scale(matchMedia("(min-width: 60rem)").matches ? Math.min(wanted, 1.8) : 1.6);
}

// Which page is in view.
const pages = [...sheets.querySelectorAll(".sheet")];
function inView() {
  const middle = sheets.getBoundingClientRect().top + sheets.clientHeight / 2;
  const found = pages.findIndex((sheet) => sheet.getBoundingClientRect().bottom >= middle);
  return found < 0 ? pages.length - 1 : found;
}

function number() {
  document.querySelector("#at").textContent = `Page ${inView() + 1} of ${pages.length}`;
}

function turn(step) {
  const next = pages[inView() + step];
  if (next) sheets.scrollBy({ top: next.getBoundingClientRect().top - sheets.getBoundingClientRect().top - 8 });
}

async function measure(sheet) {
  const answer = await fetch(sheet.querySelector("img").src.replace(/\.png$/, ".json"));
  if (!answer.ok) return;
  const page = await answer.json();
  sheet.querySelector("svg").setAttribute("viewBox", `0 0 ${page.width} ${page.height}`);
  sheet.classList.add("known");
  words.set(sheet.dataset.page, page.words);
  draw();
  fit();
  if (shown) show(shown);
  sheet.dispatchEvent(new Event("known", { bubbles: true }));
}

// All boxes anew, from what the inputs say of their places.
export function draw() {
  for (const svg of sheets.querySelectorAll("svg")) svg.replaceChildren();
  for (const input of document.querySelectorAll("#values input[name]")) {
    const box = boxOf(input);
    const svg = box && sheetOf(input.dataset.page)?.querySelector("svg");
    if (svg) svg.append(rectangle(box, input));
  }
}

function rectangle([x0, y0, x1, y1], input) {
  const rect = document.createElementNS(SVG, "rect");
  const place = { x: x0 - 1.5, y: y0 - 1, width: x1 - x0 + 3, height: y1 - y0 + 2, rx: 1.5 };
  for (const [name, value] of Object.entries(place)) rect.setAttribute(name, value);
  rect.dataset.field = input.id;
  rect.classList.toggle("doubt", "doubt" in input.dataset);
  rect.classList.toggle("edited", Boolean(input.closest(".edited")));
  return rect;
}

// The box of a value, marked and brought into view without moving anything else.
export function show(input) {
  shown = input;
  for (const rect of sheets.querySelectorAll("rect.now")) rect.classList.remove("now");
  const rect = sheets.querySelector(`rect[data-field="${CSS.escape(input.id)}"]`);
  if (!rect) return false;
  rect.classList.add("now");
  rect.parentNode.append(rect);
  const at = rect.getBoundingClientRect();
  const frame = sheets.getBoundingClientRect();
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
  sheets.scrollBy({
    top: at.top + at.height / 2 - (frame.top + frame.height / 2),
    left: at.left < frame.left + 8 || at.right > frame.right - 8 ? at.left + at.width / 2 - (frame.left + frame.width / 2) : 0,
    behavior: still ? "auto" : "smooth",
  });
  return true;
}

// Where a typed value is printed, if the pages seen so far say it in these words.
export function find(value) {
  const wanted = plain(value);
  if (wanted.length < 2) return null;
  for (const [page, all] of words) {
    for (let first = 0; first < all.length; first += 1) {
      let said = "";
      for (let last = first; last < Math.min(first + 12, all.length); last += 1) {
        said += plain(all[last][0]);
        if (said === wanted) return { page: Number(page), box: around(all.slice(first, last + 1)) };
        if (!wanted.startsWith(said)) break;
      }
    }
  }
  return null;
}

function around(some) {
  const side = (index, pick) => pick(...some.map((word) => word[index]));
  return [side(1, Math.min), side(2, Math.min), side(3, Math.max), side(4, Math.max)];
}

function pointOn(svg, event) {
  const at = new DOMPoint(event.clientX, event.clientY);
  return at.matrixTransform(svg.getScreenCTM().inverse());
}

// A click on a box chooses its value; a click on a word, or a drag over several, takes them.
function select(sheet, chosen, taken) {
  const svg = sheet.querySelector("svg");
  let from = null;
  let frame = null;
  svg.addEventListener("pointerdown", (event) => {
    if (event.button || !svg.viewBox.baseVal?.width) return;
    event.preventDefault(); // the value being edited keeps the focus
    from = pointOn(svg, event);
    if (event.pointerType === "mouse") svg.setPointerCapture(event.pointerId);
  });
  svg.addEventListener("pointermove", (event) => {
    if (!from || event.pointerType !== "mouse") return;
    const to = pointOn(svg, event);
    frame ??= svg.appendChild(document.createElementNS(SVG, "rect"));
    frame.setAttribute("class", "drag");
    frame.setAttribute("x", Math.min(from.x, to.x));
    frame.setAttribute("y", Math.min(from.y, to.y));
    frame.setAttribute("width", Math.abs(to.x - from.x));
    frame.setAttribute("height", Math.abs(to.y - from.y));
  });
  svg.addEventListener("pointerup", (event) => {
    if (!from) return;
    const to = pointOn(svg, event);
    const area = [Math.min(from.x, to.x), Math.min(from.y, to.y), Math.max(from.x, to.x), Math.max(from.y, to.y)];
    const dragged = area[2] - area[0] > SMALL || area[3] - area[1] > SMALL;
    frame?.remove();
    from = frame = null;
    const box = document.elementsFromPoint(event.clientX, event.clientY).find((each) => each.dataset?.field);
    if (!dragged && box) return chosen(document.getElementById(box.dataset.field));
    const some = (words.get(sheet.dataset.page) ?? []).filter((word) => inside(word, area));
    if (some.length) {
      const text = some.map((word) => word[0]).join(" ");
      taken(text, { page: Number(sheet.dataset.page), box: around(some) });
    }
  });
  svg.addEventListener("pointercancel", () => {
    frame?.remove();
    from = frame = null;
  });
}

const inside = ([, x0, y0, x1, y1], [left, top, right, bottom]) =>
  x0 <= right && x1 >= left && (y0 + y1) / 2 <= bottom + 3 && (y0 + y1) / 2 >= top - 3;
