// The review page: values are checked while they are typed, kept when they are left, and decided on.

import * as figures from "./figures.js";
import * as grid from "./review_grid.js";
import * as sheet from "./review_document.js";

const root = document.querySelector("#review");
const form = document.querySelector("#form");
const { api, page: here } = root.dataset; // where this document's review is asked for
const { mark, group } = root.dataset; // how the document writes amounts
const said = document.querySelector("#said");
const told = document.querySelector("#told");
const conflict = document.querySelector("#conflict");
const rejecting = document.querySelector("#rejecting");
const asking = document.querySelector("#asking");
const PAUSE = 300;

let current = null; // the value that was last worked on
let doubted = false; // whether it was in doubt when it was come to
let line = Promise.resolve(); // edits go one after the other, each on what the last one left
let asked = 0;
let timer = 0;
let mine = []; // edits that met a conflict
const places = new Map(); // where words taken from the page stand, by path
const confirmed = new Set(); // doubts that a person passed with Enter

const values = () => document.querySelector("#values");
const revision = () => Number(values().dataset.revision);
const inputs = () => [...values().querySelectorAll("input[name]")];
const input = (path) => values().querySelector(`input[name="${CSS.escape(path)}"]`);
const holder = (path) => values().querySelector(`[data-path="${CSS.escape(path)}"]`);
const isFigure = (each) => each.dataset.kind === "figure";
const canonical = (each) => (isFigure(each) ? figures.read(each.value, mark) : each.value.trim());
const written = (each, value) => (isFigure(each) ? figures.show(value, mark, group) : value);
const changed = (each) => canonical(each) !== each.dataset.saved;
const title = (path) => (path ? (input(path) ? labelOf(input(path)) : (grid.titleOf(path) ?? path)) : "the decision");

const labelOf = (each) => each.labels[0]?.textContent ?? each.getAttribute("aria-label") ?? each.name;

function say(text) {
  said.textContent = text;
}

function tell(text, kind = "good") {
  told.querySelector("span").textContent = text;
  told.className = `note ${kind}`;
  told.hidden = !text;
  say(text);
}

async function ask(method, address, body) {
  const options = { method, headers: { accept: "application/json" } };
  if (body !== undefined) {
    options.headers["content-type"] = "application/json";
    options.body = JSON.stringify(body);
  }
  try {
    const answer = await fetch(address, options);
    return { status: answer.status, body: await answer.json() };
  } catch {
    return { status: 0, body: { error: "docmill does not answer. Your values stay here; try again." } };
  }
}

function edit(each) {
  const value = canonical(each);
  const place = places.get(each.name) ?? (value ? sheet.find(value) ?? sheet.find(written(each, value)) : null);
  return { path: each.name, value: value || null, ...place };
}

// What arithmetic and the mapping say, put where people look. A mapping that refuses a half-typed
// value says nothing of the others: what it asked of them before stays asked.
function judge(body) {
  const stays = (each) => body.refusal && "doubt" in each.dataset && !changed(each) && !confirmed.has(each.name);
  const kept = inputs().filter((each) => stays(each) && !body.reasons[each.name] && !holder(each.name).matches(".edited"));
  for (const each of inputs()) {
    const around = holder(each.name);
    const reason = body.reasons[each.name] ?? (kept.includes(each) ? around.querySelector(".why").textContent : "");
    if (!reason && "doubt" in each.dataset) around.classList.add("done");
    each.toggleAttribute("data-doubt", Boolean(reason));
    around.classList.toggle("doubt", Boolean(reason));
    if (!each.hasAttribute("aria-invalid")) around.querySelector(".why").textContent = reason;
  }
  count([...body.review, ...kept.map((each) => each.name)]);
  grid.sum(body.checks.lines_net);
  preview(body.xml ?? "");
  const refusal = document.querySelector("#refusal");
  if (refusal) Object.assign(refusal, { textContent: body.refusal ?? "", hidden: !body.refusal });
}

// The XML anew, brought to the first line that is another one now.
function preview(text) {
  const xml = document.querySelector("#xml"); // trades are written in none
  if (!xml) return;
  const before = xml.textContent.split("\n");
  const after = text.split("\n");
  const at = after.findIndex((line, index) => line !== before[index]);
  xml.textContent = text;
  if (at >= 0 && before.length > 1) {
    xml.scrollTop = (xml.scrollHeight * at) / after.length - xml.clientHeight / 3;
  }
}

let doubts = inputs().filter((each) => "doubt" in each.dataset).map((each) => each.name);
const open = () => doubts.filter((path) => !confirmed.has(path));
function count(paths = doubts) {
  doubts = paths;
  const left = open().length;
  document.querySelector("#count").textContent = left ? `${left} to check` : "Nothing left to check";
}

function flag(path, message) {
  const each = input(path);
  if (!each) return tell(message, "bad");
  each.setAttribute("aria-invalid", "true");
  const around = holder(path);
  around.classList.add("doubt");
  around.querySelector(".why").textContent = message;
  say(`${labelOf(each)}: ${message}`);
}

function refuse(answer, edits) {
  const mistake = answer.body.mistakes?.[0];
  const index = mistake?.at.match(/^body\.edits\.(\d+)/)?.[1];
  if (index !== undefined && edits[index]) flag(edits[index].path, `This ${mistake.message}`);
  else tell(answer.body.error, "bad");
}

async function check() {
  const turn = ++asked;
  const edits = inputs().filter(changed).map(edit);
  const answer = await ask("POST", `${api}/check`, { edits });
  if (turn !== asked || answer.status !== 200) return;
  for (const each of edits) input(each.path)?.removeAttribute("aria-invalid");
  judge(answer.body);
  for (const [path, message] of Object.entries(answer.body.mistakes)) flag(path, `This ${message}`);
}

function stateOf(body) {
  values().dataset.revision = body.revision;
  const badge = document.querySelector("#status");
  const looks = { pending: ["warm", "To review"], approved: ["good", "Approved"], rejected: ["bad", "Rejected"] };
  const [kind, text] = looks[body.status];
  badge.className = `badge ${kind}`;
  badge.textContent = text;
  document.querySelector("#approve").disabled = body.status === "approved";
  document.querySelector("#reject").disabled = body.status === "rejected";
  for (const each of document.querySelectorAll("#download, #formats")) each.hidden = body.status !== "approved";
}

function kept(body, edits) {
  asked += 1; // a check under way is older than this
  stateOf(body);
  for (const { path } of edits) {
    const each = input(path);
    const seen = body.data.evidence[path];
    if (!each || !seen) continue;
    each.removeAttribute("aria-invalid");
    each.dataset.saved = seen.text;
    if (document.activeElement !== each || canonical(each) === edits.find((e) => e.path === path).value)
      each.value = written(each, seen.text);
    each.dataset.page = seen.page ?? "";
    each.dataset.box = (seen.box ?? []).join(" ");
    holder(path).classList.add("edited");
    places.delete(path);
  }
  judge(body);
  sheet.draw();
  if (current) sheet.show(current);
  if (inputs().some(changed)) return check(); // what was typed meanwhile is judged anew
  document.querySelector("#saved").textContent = "Saved";
}

async function deliver(edits, redraw = false) {
  const answer = await ask("POST", `${api}/edits`, { revision: revision(), edits });
  if (answer.status === 200) {
    kept(answer.body, edits);
    if (redraw) await refresh();
    return true;
  }
  if (answer.status === 409 && answer.body.changes) meet(answer.body, edits);
  else refuse(answer, edits);
  return false;
}

function send(edits, redraw = false) {
  line = line.then(() => deliver(edits, redraw));
  return line;
}

// What can't be kept is said at the value, and not sent.
async function keep(each) {
  if (!changed(each) || conflict.open || !each.isConnected) return;
  const one = edit(each);
  const answer = await ask("POST", `${api}/check`, { edits: [one] });
  const mistake = answer.body.mistakes?.[one.path];
  if (!mistake) return deliver([one]);
  confirmed.delete(one.path);
  flag(one.path, `This ${mistake}`);
}

function commit(each) {
  clearTimeout(timer);
  line = line.then(() => keep(each));
  return line;
}

async function redrawn() {
  const answer = await fetch(`${here}/values`);
  const template = document.createElement("template");
  template.innerHTML = answer.ok ? await answer.text() : ""; // drawn and escaped by the server
  return template.content.querySelector("#values");
}

async function refresh(path = current?.name) {
  const at = [...document.querySelectorAll(".panels .panel, .frame")].map((each) => each.scrollTop);
  const fresh = await redrawn();
  if (!fresh) return;
  values().replaceWith(fresh);
  document.querySelectorAll(".panels .panel, .frame").forEach((each, index) => (each.scrollTop = at[index] ?? 0));
  root.toggleAttribute("data-few", !values().querySelector("#p-lines.dense"));
  times();
  sheet.draw();
  grid.sum();
  current = (path && input(path)) || null;
  current?.focus();
}

// The tabs: what was read, the lines alone, the XML, and what happened so far.
const tabs = [...document.querySelectorAll('[role="tab"]')];
const tabOf = (each) => (grid.isCell(each) && !(root.dataset.tab === "values" && "few" in root.dataset) ? "lines" : "values");

function openTab(name) {
  root.dataset.tab = name;
  for (const tab of tabs) {
    tab.setAttribute("aria-selected", tab.dataset.tab === name);
    tab.tabIndex = tab.dataset.tab === name ? 0 : -1;
  }
  if (name === "history") showHistory();
}

async function showHistory() {
  const fresh = (await redrawn())?.querySelector("#history");
  if (fresh) values().querySelector("#history").replaceWith(fresh);
  times();
}

function go(each) {
  if (!grid.isCell(each) || root.dataset.tab !== "lines") openTab(tabOf(each));
  each.focus();
  each.select();
}

for (const tab of tabs) {
  tab.addEventListener("click", () => openTab(tab.dataset.tab));
  tab.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    const next = step && tabs[(tabs.indexOf(tab) + step + tabs.length) % tabs.length];
    if (!next) return;
    openTab(next.dataset.tab);
    next.focus();
  });
}

// Two people at one document: both are shown, and nothing is thrown away unasked.
function meet(problem, edits) {
  mine = edits;
  values().dataset.theirs = problem.revision;
  const list = document.querySelector("#theirs");
  list.replaceChildren(
    ...problem.changes.map((change) => {
      const item = document.createElement("li");
      const name = document.createElement("b");
      name.textContent = title(change.path);
      const text = change.kind === "edit" ? `: ${shown(change.before)} → ${shown(change.after)}` : `: ${change.kind}`;
      item.append(name, text);
      return item;
    }),
  );
  const yours = edits.map((each) => `${title(each.path)}: ${shown(each.value)}`).join("; ");
  document.querySelector("#mine").textContent = yours ? `Yours, not saved yet: ${yours}` : "";
  document.querySelector("#keep").hidden = !edits.length;
  conflict.showModal();
  say("Somebody else changed this document in the meantime.");
}

function shown(value) {
  if (value === null || value === undefined) return "nothing";
  return typeof value === "object" ? (value.description ?? "a line") : String(value);
}

document.querySelector("#keep").addEventListener("click", async () => {
  conflict.close();
  values().dataset.revision = values().dataset.theirs;
  if (await send(mine)) await refresh();
});
document.querySelector("#take").addEventListener("click", async () => {
  conflict.close();
  await refresh();
  await check();
});
conflict.addEventListener("cancel", (event) => event.preventDefault());

function focusOn(each) {
  if (current) current.closest("[data-path]")?.classList.remove("now-field");
  if (current !== each) doubted = "doubt" in each.dataset && !confirmed.has(each.name);
  current = each;
  each.closest("[data-path]").classList.add("now-field");
  const seen = sheet.show(each);
  const reason = each.closest("td")?.querySelector(".why").textContent;
  const where = seen ? `${labelOf(each)} is marked on page ${each.dataset.page}.` : `${labelOf(each)}: click its word on the page to use it.`;
  document.querySelector("#where").textContent = reason ? `${labelOf(each)}: ${reason}.` : where;
}

// What was looked at and is right is kept as such, after what was typed into it; unless that mended it.
function confirm(each) {
  confirmed.add(each.name);
  if (changed(each)) commit(each);
  line = line.then(async () => {
    if (!confirmed.has(each.name) || !input(each.name)?.hasAttribute("data-doubt") || conflict.open) return;
    const answer = await ask("POST", `${api}/checked`, { revision: revision(), paths: [each.name] });
    if (answer.status === 200) kept(answer.body, []);
    else if (answer.status === 409 && answer.body.changes) meet(answer.body, []);
    else tell(answer.body.error, "bad");
  });
}

// Enter: this one was looked at, and the next one in doubt is come to. One that is empty was not.
function onward(from) {
  const missing = "doubt" in from.dataset && !from.value.trim();
  if (!missing) confirm(from);
  count();
  // A check while it was typed may have taken the doubt away: it was there when the field was entered.
  if ((doubted || "doubt" in from.dataset) && !missing) holder(from.name).classList.add("done");
  const all = inputs();
  const at = all.indexOf(from);
  const order = [...all.slice(at + 1), ...all.slice(0, at)];
  const next = order.find((each) => "doubt" in each.dataset && !confirmed.has(each.name));
  if (missing) say(`${labelOf(from)} is still missing.`);
  if (next) return go(next);
  if (!missing) return document.querySelector("#approve").focus();
  tell(`${labelOf(from)} is missing. Type it, or click it on the page.`, "warm");
}

form.addEventListener("submit", (event) => event.preventDefault());
form.addEventListener("focusin", (event) => event.target.name && focusOn(event.target));
form.addEventListener("input", (event) => {
  if (!event.target.name) return;
  event.target.removeAttribute("aria-invalid");
  places.delete(event.target.name);
  confirmed.delete(event.target.name);
  holder(event.target.name).classList.remove("done");
  document.querySelector("#saved").textContent = "";
  if (grid.isCell(event.target)) grid.sum();
  clearTimeout(timer);
  timer = setTimeout(check, PAUSE);
});
form.addEventListener("focusout", (event) => event.target.name && event.relatedTarget !== event.target && commit(event.target));
form.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || !event.target.name || event.isComposing) return;
  event.preventDefault();
  if (event.ctrlKey || event.metaKey) approve();
  else if (grid.isCell(event.target) && !doubted) grid.down(event.target);
  else onward(event.target); // which leaves the value, and so keeps it
});
form.addEventListener("change", async (event) => {
  if (event.target.id !== "learn") return;
  const on = event.target.checked;
  const answer = await ask("PUT", "/api/lessons", { learning: on });
  if (answer.status === 200) tell(on ? "Learning is on." : "Learning is off: lessons are not used.");
  else tell(answer.body.error, "bad");
});
form.addEventListener("click", async (event) => {
  const button = event.target.closest("button");
  if (!button) return;
  const { add, remove, forget } = button.dataset;
  if (add !== undefined) {
    if (await send([{ path: `lines[${add}]`, value: {} }], true)) input(`lines[${add}].${root.dataset.first}`)?.focus();
  } else if (remove !== undefined) await removeLine(Number(remove), root.dataset.first);
  else if (button.dataset.decide) await decideRow(button);
  else if (forget) await forgetLesson(forget, button);
});

async function removeLine(at, name) {
  if (!(await send([{ path: `lines[${at}]`, value: null }], true))) return;
  const left = values().querySelectorAll("tr.line").length;
  const next = left ? input(`lines[${Math.min(at, left - 1)}].${name}`) : values().querySelector("[data-add]");
  next.focus();
}

// One row is approved, or its decision taken back.
async function decideRow(button) {
  await (current ? commit(current) : line);
  const answer = await ask("POST", button.dataset.decide);
  if (answer.status !== 200) return tell(answer.body.error, "bad");
  await refresh();
  stateOf(values().dataset);
  count(inputs().filter((each) => "doubt" in each.dataset).map((each) => each.name));
  say(`${button.dataset.row}: ${answer.body.review_status}`);
}

async function forgetLesson(lesson, button) {
  const answer = await ask("DELETE", `/api/lessons/${lesson}`);
  if (answer.status !== 200 && answer.status !== 404) return tell(answer.body.error, "bad");
  (button.closest("li") ?? button.closest(".learned")).remove();
  tell("Deleted. The next document of this layout is read without this lesson.");
}

// What nobody looked at is asked about first.
async function approve(sure = false) {
  await (current ? commit(current) : line);
  const wrong = values().querySelector("[aria-invalid]");
  if (wrong) return go(wrong);
  if (open().length && sure !== true) return askFirst();
  const answer = await ask("POST", `${api}/approve`, { revision: revision() });
  if (answer.status === 200) return decided(answer.body, approvedText(answer.body.learned ?? []));
  if (answer.status === 409 && answer.body.changes) return meet(answer.body, []);
  tell(answer.body.reason ?? answer.body.error, "bad");
}

function askFirst() {
  const items = open().slice(0, 8).map((path) => {
    const item = document.createElement("li");
    const reason = input(path) ? holder(path).querySelector(".why").textContent : "";
    item.textContent = reason ? `${title(path)}: ${reason}` : title(path);
    return item;
  });
  const more = open().length - items.length;
  if (more) items.push(Object.assign(document.createElement("li"), { textContent: `and ${more} more` }));
  document.querySelector("#open").replaceChildren(...items);
  asking.showModal();
  document.querySelector("#look").focus();
}

document.querySelector("#anyway").addEventListener("click", () => {
  asking.close();
  approve(true);
});
document.querySelector("#look").addEventListener("click", () => {
  asking.close();
  const first = open().map(input).find(Boolean);
  if (first) go(first);
  else openTab("lines");
});

function approvedText(learned) {
  const names = learned.map((path) => title(path).toLowerCase());
  const lesson = names.length ? ` Learned for the next of this layout: ${names.join(", ")}.` : "";
  return `${root.dataset.approved}${lesson}`;
}

async function decided(body, text) {
  await refresh(null);
  stateOf(body);
  document.querySelector("#count").textContent = "";
  document.querySelector("#saved").textContent = "";
  tell(text);
  document.querySelector("#next").focus();
}

document.querySelector("#approve").addEventListener("click", () => approve());
document.querySelector("#reject").addEventListener("click", () => rejecting.showModal());
rejecting.querySelector("[data-close]").addEventListener("click", () => rejecting.close());
rejecting.addEventListener("close", async () => {
  const reason = document.querySelector("#reason").value.trim();
  if (rejecting.returnValue !== "reject" || !reason) return;
  await line;
  const answer = await ask("POST", `${api}/reject`, { revision: revision(), reason });
  if (answer.status === 200) decided(answer.body, `Rejected: ${reason}`);
  else if (answer.status === 409 && answer.body.changes) meet(answer.body, []);
  else tell(answer.body.error, "bad");
});

function times() {
  for (const time of document.querySelectorAll("time")) {
    const at = new Date(time.dateTime);
    time.textContent = at.toLocaleString([], { dateStyle: "medium", timeStyle: "short" });
  }
}

// Leaving with something unsaved is asked about, as anywhere.
addEventListener("beforeunload", (event) => inputs().some(changed) && event.preventDefault());

sheet.begin({
  chosen: (each) => each && go(each),
  taken: (text, place) => {
    if (!current) return;
    go(current);
    current.value = written(current, isFigure(current) ? figures.read(text, mark) : text);
    current.dispatchEvent(new Event("input", { bubbles: true }));
    places.set(current.name, place);
    commit(current);
  },
});
grid.begin({
  values,
  mark,
  group,
  canonical,
  tell,
  remove: removeLine,
  placeOf: (value) => (value ? sheet.find(value) : null),
  send: async (edits, path) => {
    if (!(await send(edits, true))) return false;
    const each = input(path);
    if (each) go(each);
    return true;
  },
});
document.querySelector(".sheets").addEventListener("known", () => current && focusOn(current)); // its place is known now
times();
const first = input(root.dataset.start) ?? values().querySelector("input[data-doubt]");
if (first) {
  openTab(tabOf(first));
  first.focus({ preventScroll: true });
  first.select();
}
