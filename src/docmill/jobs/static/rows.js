// The rows of the queue. A row that changes is changed cell by cell, so focus and selection stay.

import { announce, showTimes } from "./messages.js";

export const list = () => document.querySelector("#list");
const body = () => document.querySelector("#jobs");

export function idOf(row) {
  return row.id.slice("job-".length);
}

export function rowOf(id) {
  return document.getElementById(`job-${id}`);
}

export function all() {
  return [...body().rows];
}

export function put(html) {
  const template = document.createElement("template");
  template.innerHTML = html; // drawn and escaped by the server
  const fresh = template.content.querySelector("tr");
  showTimes(fresh);
  const old = document.getElementById(fresh.id);
  if (!old) return add(fresh);
  if (old.dataset.status !== fresh.dataset.status)
    announce(fresh.querySelector(".name").textContent, fresh.querySelector(".badge").textContent);
  change(old, fresh);
}

function change(old, fresh) {
  const key = old.contains(document.activeElement) ? document.activeElement.dataset.key : undefined;
  for (const name of Object.keys(fresh.dataset)) old.dataset[name] = fresh.dataset[name];
  [...fresh.cells].forEach((cell, number) => {
    const there = old.cells[number];
    const same = cell.className === "thumb" && there.querySelector("img") && cell.querySelector("img");
    if (cell.className === "pick" || same || there.innerHTML === cell.innerHTML) return;
    if (!move(there, cell)) there.replaceChildren(...cell.childNodes);
  });
  if (key && !old.contains(document.activeElement))
    (old.querySelector(`[data-key="${key}"]`) ?? old.querySelector("[data-key]"))?.focus();
}

// A bar that only grows is not drawn anew: it glides.
function move(there, cell) {
  const [bar, newBar] = [there.querySelector("progress"), cell.querySelector("progress")];
  const [words, newWords] = [there.querySelector(".how .meta"), cell.querySelector(".how .meta")];
  if (!bar || !newBar || !words || !newWords) return false;
  bar.value = newBar.value;
  words.textContent = newWords.textContent;
  there.querySelector(".badge").textContent = cell.querySelector(".badge").textContent;
  return true;
}

// New rows go where their age belongs; not below the last of a page that has another one after it,
// and on later pages and in other orders not at all.
function add(fresh) {
  if (list().dataset.after || "sorted" in list().dataset) return;
  const older = all().find((row) => row.dataset.created < fresh.dataset.created);
  if (!older && list().dataset.more === "1") return;
  body().insertBefore(fresh, older ?? null);
  markEmpty();
}

export function drop(id) {
  const row = rowOf(id);
  if (!row) return;
  const next = row.nextElementSibling ?? row.previousElementSibling;
  const focused = row.contains(document.activeElement);
  row.remove();
  if (focused) (next?.querySelector(".name") ?? document.querySelector("#files")).focus();
  markEmpty();
}

export function markEmpty() {
  list().toggleAttribute("data-empty", all().length === 0);
}

export function active() {
  return all().filter((row) => row.dataset.active === "1");
}
