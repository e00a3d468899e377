// The lines of a review as a grid: arrows, paste from a spreadsheet, columns that change places.

import * as figures from "./figures.js";

let tools; // what the page does for the grid: values, canonical, send, tell, placeOf
const table = () => tools.values().querySelector("table.lines");
const rows = () => [...table().querySelectorAll("tr.line")];
const shown = (row) => [...row.querySelectorAll("td[data-path]:not([hidden]) input")];
const inputAt = (line, name) => table().querySelector(`input[name="lines[${line}].${name}"]`);
const nameOf = (input) => input.name.split(".")[1];
const lineOf = (input) => Number(input.closest("tr").dataset.line);
export const isCell = (each) => Boolean(each?.closest?.("tr.line"));

export function begin(given) {
  tools = given;
  const form = document.querySelector("#form");
  form.addEventListener("keydown", (event) => isCell(event.target) && event.target.name && steer(event));
  form.addEventListener("paste", (event) => isCell(event.target) && event.target.name && paste(event));
  form.addEventListener("change", (event) => event.target.dataset.column && assign(event.target));
  form.addEventListener("click", (event) => event.target.closest("#wider") && widen());
}

// `lines.code`: what was learned of a column.
export function titleOf(path) {
  const option = path.startsWith("lines.") && table().querySelector(`option[value="${path.slice(6)}"]`);
  return option ? `${option.textContent} column` : null;
}

export function go(input) {
  input.focus();
  input.select();
}

// The cell below, or the first of the next column at the end.
export function down(input) {
  const below = inputAt(lineOf(input) + 1, nameOf(input));
  if (below) go(below);
}

function steer(event) {
  const input = event.target;
  if ((event.ctrlKey || event.metaKey) && event.key === "Delete") {
    event.preventDefault();
    return tools.remove(lineOf(input), nameOf(input));
  }
  if ((event.ctrlKey || event.metaKey) && event.key === "d") {
    event.preventDefault();
    return fill(input);
  }
  if (event.altKey || event.ctrlKey || event.metaKey || event.isComposing) return;
  const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
  if (!step || event.shiftKey || (step[1] && !atEdge(input, step[1]))) return;
  const row = rows()[rows().indexOf(input.closest("tr")) + step[0]];
  const next = row && shown(row)[shown(input.closest("tr")).indexOf(input) + step[1]];
  if (!next) return;
  event.preventDefault();
  go(next);
}

// Left and right move inside the text first, unless all of it is selected.
function atEdge(input, way) {
  const all = input.selectionStart === 0 && input.selectionEnd === input.value.length;
  return all || (way < 0 ? input.selectionEnd === 0 : input.selectionStart === input.value.length);
}

// Cells of a spreadsheet, from this one on; lines that are not there yet are put in.
async function paste(event) {
  const text = event.clipboardData.getData("text/plain").replace(/\r\n?/g, "\n").replace(/\n$/, "");
  if (!/[\t\n]/.test(text)) return;
  event.preventDefault();
  const input = event.target;
  const names = shown(input.closest("tr")).map(nameOf);
  const from = names.indexOf(nameOf(input));
  const count = rows().length;
  const edits = text.split("\n").flatMap((one, down) => {
    const line = lineOf(input) + down;
    const cells = one.split("\t").slice(0, names.length - from);
    const found = cells.map((value, across) => [names[from + across], clean(names[from + across], value)]);
    if (line >= count) return [{ path: `lines[${line}]`, value: Object.fromEntries(found) }];
    return found.map(([name, value]) => ({ path: `lines[${line}].${name}`, value, ...tools.placeOf(value) }));
  });
  const said = `${text.split("\n").length} lines pasted.`;
  if (await tools.send(edits, input.name)) tools.tell(said);
}

function clean(name, value) {
  const kind = inputAt(0, name)?.dataset.kind;
  const text = value.trim();
  return (kind === "figure" ? figures.read(text, tools.mark) : text) || null;
}

// What a cell says goes into the empty ones below it.
async function fill(input) {
  const name = nameOf(input);
  const value = tools.canonical(input);
  const cells = rows().map((row) => inputAt(row.dataset.line, name));
  const empty = cells.slice(cells.indexOf(input) + 1).filter((each) => !each.value.trim());
  if (!value || !empty.length) return tools.tell("Nothing to fill: no cell below is empty.", "warm");
  const edits = [input, ...empty].map((each) => ({ path: each.name, value }));
  if (await tools.send(edits, input.name)) tools.tell(`${empty.length} filled.`);
}

// "This column is the code": its values go there, and what stood there comes here.
async function assign(select) {
  const [from, to] = [select.dataset.column, select.value];
  select.value = from;
  if (from === to) return;
  let lost = 0;
  const edits = rows().flatMap((row) => {
    const [one, other] = [from, to].map((name) => inputAt(row.dataset.line, name));
    const moves = [move(one, other), move(other, one)].filter(Boolean);
    lost += moves.filter((each) => each.lost).length;
    return moves.map(({ lost: _, ...edit }) => edit);
  });
  const label = (name) => select.querySelector(`option[value="${name}"]`).textContent;
  if (!edits.length) return tools.tell(`${label(from)} and ${label(to)} are both empty.`);
  if (!(await tools.send(edits, `lines[0].${to}`))) return;
  const left = lost ? ` ${lost} did not fit and were left out; see History.` : "";
  tools.tell(`What was ${label(from).toLowerCase()} is ${label(to).toLowerCase()} now, in ${rows().length} lines.${left}`, lost ? "warm" : "good");
}

function move(source, target) {
  const value = tools.canonical(source);
  const there = tools.canonical(target);
  if (value === there) return null;
  const number = target.dataset.kind === "figure" ? figures.read(value, tools.mark) : value;
  const fits = target.dataset.kind !== "figure" || number === "" || /^[+-]?\d+(\.\d*)?$/.test(number);
  const [page, box] = [Number(source.dataset.page), source.dataset.box];
  const place = page && box && fits ? { page, box: box.split(" ").map(Number) } : {};
  return { path: target.name, value: fits ? number || null : null, ...place, lost: !fits };
}

function widen() {
  const button = document.querySelector("#wider");
  const wide = button.getAttribute("aria-pressed") !== "true";
  button.setAttribute("aria-pressed", wide);
  for (const select of table().querySelectorAll("select[data-column]")) {
    const name = select.dataset.column;
    const empty = !wide && !select.closest("th").dataset.kept && isEmpty(name);
    for (const cell of table().querySelectorAll(`.c-${name}`)) cell.hidden = empty;
  }
}

const KEPT = ["description", "quantity", "unit_price", "amount"];
const isEmpty = (name) => !KEPT.includes(name) && rows().every((row) => !inputAt(row.dataset.line, name).value);

// The sum of the amounts, and whether it is what the totals say.
export function sum(state) {
  document.querySelector("#n-lines").textContent = rows().length;
  const output = document.querySelector("#sum");
  if (!output) return;
  const amounts = rows().map((row) => tools.canonical(inputAt(row.dataset.line, "amount")));
  output.textContent = `Σ ${figures.show(figures.add(amounts), tools.mark, tools.group)}`;
  if (state !== undefined) output.dataset.state = state;
}
