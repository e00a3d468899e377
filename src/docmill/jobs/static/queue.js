// The queue page: uploads, live rows, filters in the address, and acts on one row or many.

import { applyToAll, exportAll, confirmDelete } from "./actions.js";
import { Live } from "./live.js";
import { active, all, drop, idOf, list, put, rowOf, markEmpty } from "./rows.js";
import { begin } from "./uploads.js";
import { showProblem, showTimes } from "./messages.js";

const filter = document.querySelector("#filter");
const search = document.querySelector("#q");
const title = document.title;

function address(path, since) {
  const asked = new URLSearchParams(new URL(list().dataset.here, location).search);
  asked.delete("cursor");
  asked.set("since", since);
  return `${path}?${asked}`;
}

const live = new Live({
  since: list().dataset.since,
  address,
  tell(name, data) {
    if (name === "row") put(data);
    else drop(JSON.parse(data).id);
    showCounts();
    countSoon();
  },
  lost(yes) {
    document.querySelector("#lost").hidden = !yes;
  },
});
// How many there are of each, asked for once things have come to rest.
let counting = 0;
function countSoon() {
  counting ||= setTimeout(async () => {
    counting = 0;
    const answer = await fetch("/queue/counts").catch(() => null);
    const counts = answer?.ok ? await answer.json() : {};
    for (const chip of document.querySelectorAll("#chips .chip")) {
      const count = counts[chip.dataset.status];
      if (count !== undefined) chip.querySelector(".n").textContent = count;
    }
  }, 500);
}

live.busy = () => active().length > 0;

// Selection

const picked = () => all().filter((row) => row.querySelector(".pick input").checked);
const FITS = {
  retry: (row) => row.dataset.status === "failed",
  cancel: (row) => active().includes(row),
  delete: () => true,
  export: (row) => row.dataset.exportable === "1",
};

function showCounts() {
  const rows = picked();
  const boxes = document.querySelector("#all");
  document.querySelector("#picked").textContent = rows.length ? `${rows.length} selected` : "None selected";
  boxes.checked = rows.length > 0 && rows.length === all().length;
  boxes.indeterminate = rows.length > 0 && !boxes.checked;
  for (const button of document.querySelectorAll("[data-many]"))
    button.disabled = !rows.some(FITS[button.dataset.many]);
  const count = active().length;
  document.title = count ? `(${count}) ${title}` : title;
}

async function applyToPicked(what) {
  const ids = picked().filter(FITS[what]).map(idOf);
  if (what === "export") return exportAll(ids);
  return applyAndRedraw(what, ids);
}

async function applyAndRedraw(what, ids) {
  const name = ids.length === 1 ? rowOf(ids[0]).querySelector(".name").textContent : `${ids.length} files`;
  if (what === "delete" && !(await confirmDelete(`Delete ${name}?`))) return;
  live.wake();
  await applyToAll(what, ids, (id) => { if (what === "delete") drop(id); });
  showCounts();
}

document.addEventListener("change", (event) => {
  if (event.target.id === "all")
    for (const row of all()) row.querySelector(".pick input").checked = event.target.checked;
  if (event.target.closest("#list")) showCounts();
});

document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-act], [data-many]");
  if (button) {
    const row = button.closest("tr");
    // Whoever is asked whether they are sure finds the focus again where it was.
    button.disabled = (button.dataset.act ?? button.dataset.many) !== "delete";
    if (row) await applyAndRedraw(button.dataset.act, [idOf(row)]);
    else await applyToPicked(button.dataset.many);
    button.disabled = false;
    return showCounts();
  }
  const link = event.target.closest(".chip, [data-go]");
  if (!link || event.metaKey || event.ctrlKey || event.shiftKey) return;
  event.preventDefault();
  go(link.href);
});

// Filters: another address and another list, but the same page, so that uploads go on.

let going = 0;
const keyOf = (element) => element.dataset.status ?? element.textContent;

async function go(href, { push = true } = {}) {
  const mine = ++going;
  const answer = await fetch(href, { headers: { accept: "text/html" } }).catch(() => null);
  if (mine !== going) return;
  if (!answer?.ok) return showProblem("The list can't be loaded now. Try again in a moment");
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const focused = document.activeElement?.closest("#chips, #list") ? keyOf(document.activeElement) : null;
  for (const id of ["chips", "list"]) document.getElementById(id).replaceWith(page.getElementById(id));
  for (const id of ["status", "of", "sort"]) document.getElementById(id).value = page.getElementById(id).value;
  if (document.activeElement !== search) search.value = page.getElementById("q").value;
  if (push) history.pushState(null, "", href);
  if (focused) [...document.querySelectorAll("#chips a, #list a")].find((a) => keyOf(a) === focused)?.focus();
  live.restart(list().dataset.since);
  settle();
}

function ask() {
  const asked = new URLSearchParams([...new FormData(filter)].filter(([, value]) => value));
  go(asked.size ? `/queue?${asked}` : "/queue");
}

let typing = 0;
search.addEventListener("input", () => {
  clearTimeout(typing);
  typing = setTimeout(ask, 250);
});
filter.addEventListener("change", (event) => { if (event.target !== search) ask(); });
filter.addEventListener("submit", (event) => { event.preventDefault(); clearTimeout(typing); ask(); });
addEventListener("popstate", () => go(location.href, { push: false }));

function settle() {
  showTimes(list());
  markEmpty();
  showCounts();
}

settle();
setInterval(() => showTimes(list()), 20_000);
begin(() => live.wake());
