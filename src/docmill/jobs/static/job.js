// The page of one document: drawn anew by the server whenever the job changes, with its folds as they were.

import { begin } from "./pointing.js";
import { applyToAll, confirmDelete } from "./actions.js";
import { announce, readProblem, showProblem, showTimes } from "./messages.js";

const job = () => document.querySelector("#job");
const id = job().dataset.job;
let source = null;
let timer = 0;

// A button that only a script can answer is drawn disabled: a click before the script is there would be lost.
function prepare(article) {
  showTimes(article);
  begin(article);
  for (const button of article.querySelectorAll("[data-link]")) button.disabled = false;
}

async function redraw() {
  const answer = await fetch(location.href, { headers: { accept: "text/html" } }).catch(() => null);
  if (!answer?.ok) return;
  const fresh = new DOMParser().parseFromString(await answer.text(), "text/html").querySelector("#job");
  const old = job();
  for (const fold of old.querySelectorAll("[data-fold]")) {
    const twin = fresh.querySelector(`[data-fold="${fold.dataset.fold}"]`);
    if (twin) twin.open = fold.open;
  }
  const key = old.contains(document.activeElement) ? document.activeElement.dataset.key : undefined;
  if (old.dataset.status !== fresh.dataset.status)
    announce(fresh.dataset.name, fresh.querySelector("#badge").textContent);
  old.replaceWith(fresh);
  prepare(fresh);
  if (key) (fresh.querySelector(`[data-key="${key}"]`) ?? fresh.querySelector("[data-key]"))?.focus();
  follow();
}

// While the job is under way; afterwards only its own page changes it, so a redraw still waiting is dropped.
function follow() {
  if (job().dataset.active === "0") {
    clearTimeout(timer);
    timer = 0;
    source?.close();
    source = null;
    return;
  }
  if (source && source.readyState !== EventSource.CLOSED) return;
  source = new EventSource(`/api/events?since=${encodeURIComponent(job().dataset.since)}`);
  source.addEventListener("job", (event) => { if (JSON.parse(event.data).id === id) soon(); });
  source.addEventListener("deleted", (event) => {
    if (JSON.parse(event.data).id === id) showProblem("This job was deleted");
  });
  source.onerror = () => { if (source.readyState === EventSource.CLOSED) setTimeout(redraw, 5000); };
}

function soon() {
  timer ||= setTimeout(() => { timer = 0; redraw(); }, 300);
}

// What else can be done: a request without a body, whose answer may be another job.
async function post(button) {
  button.disabled = true;
  const answer = await fetch(button.dataset.post, { method: "POST" }).catch(() => null);
  const body = answer?.ok ? await answer.json() : null;
  if (!body) showProblem((await readProblem(answer)).title);
  const other = body?.job?.id ?? id;
  if (other !== id) location.href = `/jobs/${other}`;
  else await redraw();
}

// A link to the result for whoever has no account here; it can be read in the page where nothing may be copied.
async function copyLink(button) {
  const headers = { "content-type": "application/json" };
  const answer = await fetch(button.dataset.link, { method: "POST", headers, body: "{}" }).catch(() => null);
  if (!answer?.ok) {
    const problem = await readProblem(answer);
    return showProblem(`${problem.title}. ${problem.detail}`);
  }
  const { url, expires_at: until } = await answer.json();
  const day = new Date(until).toLocaleString();
  try {
    await navigator.clipboard.writeText(url);
    button.lastChild.textContent = "Link copied";
    announce(job().dataset.name, `Link copied, valid until ${day}`);
  } catch {
    prompt(`Anybody may open this link until ${day}`, url);
  }
}

document.addEventListener("click", async (event) => {
  const link = event.target.closest("[data-link]");
  if (link) return copyLink(link);
  const other = event.target.closest("[data-post]");
  if (other) return post(other);
  const button = event.target.closest("[data-act]");
  if (!button) return;
  const what = button.dataset.act;
  if (what === "delete" && !(await confirmDelete(`Delete ${job().dataset.name}?`))) return;
  button.disabled = true;
  const done = await applyToAll(what, [id]);
  if (done && what === "delete") location.href = "/queue";
  else await redraw();
});

prepare(job());
follow();
