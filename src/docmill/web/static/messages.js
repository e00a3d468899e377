// What pages say: quietly and in batches to screen readers, visibly when something went wrong.

const BATCH_MS = 1200;
const said = document.querySelector("#said");
const notice = document.querySelector("#notice");
const waiting = new Map(); // a sentence's end -> the names it is about
let timer = 0;

// "a.pdf: Ready", or "5 files: Ready" when many of them become it at once.
export function announce(name, what) {
  waiting.set(what, [...(waiting.get(what) ?? []), name]);
  timer ||= setTimeout(flush, BATCH_MS);
}

function flush() {
  timer = 0;
  said.textContent = [...waiting]
    .map(([what, names]) => `${names.length > 2 ? `${names.length} files` : names.join(", ")}: ${what}`)
    .join(". ");
  waiting.clear();
}

export function showProblem(text) {
  notice.querySelector("span").textContent = text;
  notice.hidden = false;
}

export function hideProblem() {
  notice.hidden = true;
}

notice.querySelector("button").addEventListener("click", hideProblem);

export async function readProblem(answer) {
  const body = answer ? await answer.json().catch(() => null) : null;
  return body?.title ? { ...body } : { title: "The server can't be reached", detail: "" };
}

export function size(bytes) {
  if (bytes < 1000) return `${bytes} B`;
  return bytes < 1e6 ? `${Math.round(bytes / 1000)} kB` : `${(bytes / 1e6).toFixed(1)} MB`;
}

function ago(at) {
  const seconds = (Date.now() - at) / 1000;
  if (seconds < 60) return "just now";
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`;
  if (seconds < 86400) return `${Math.floor(seconds / 3600)} h ago`;
  return `${Math.floor(seconds / 86400)} d ago`;
}

// Times as the reader's clock and language have them.
export function showTimes(root) {
  for (const time of root.querySelectorAll("time")) {
    const at = new Date(time.dateTime);
    const exact = at.toLocaleString([], { dateStyle: "medium", timeStyle: "medium" });
    const text = "exact" in time.dataset ? exact : ago(at);
    if (time.textContent !== text) time.textContent = text;
    if (time.title !== exact) time.title = exact;
  }
}
