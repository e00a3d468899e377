// The queue page: sends dropped files two at a time and swaps in rows as the server draws them.

const form = document.querySelector("#drop");
const input = document.querySelector("#files");
const jobs = document.querySelector("#jobs");
const sending = document.querySelector("#sending");
const said = document.querySelector("#said");
const waiting = [];
let under_way = 0;
let held_back = false;

function say(text, bad = false) {
  said.textContent = text;
  said.classList.toggle("bad", bad);
}

function localTimes(root) {
  for (const time of root.querySelectorAll("time")) {
    const at = new Date(time.dateTime);
    time.textContent = at.toLocaleString([], { dateStyle: "medium", timeStyle: "short" });
  }
}

function swap(html) {
  const template = document.createElement("template");
  template.innerHTML = html; // drawn and escaped by the server
  const row = template.content.querySelector("li");
  localTimes(row);
  const old = document.getElementById(row.id);
  if (!old) return jobs.prepend(row);
  const focused = old.contains(document.activeElement);
  if (old.dataset.status !== row.dataset.status)
    say(`${row.querySelector(".name").textContent}: ${row.querySelector(".badge").textContent}`);
  old.replaceWith(row);
  if (focused) row.querySelector("button, a")?.focus();
}

function listen() {
  const source = new EventSource(`/queue/events?since=${encodeURIComponent(jobs.dataset.since)}`);
  source.addEventListener("job", (event) => swap(event.data));
}

function uploadRow(file) {
  const row = document.createElement("li");
  row.className = "job";
  const name = document.createElement("strong");
  name.className = "name";
  name.textContent = file.name;
  const bar = document.createElement("progress");
  bar.max = 1;
  bar.value = 0;
  bar.setAttribute("aria-label", `Upload of ${file.name}`);
  const running = document.createElement("div");
  running.className = "running";
  running.append(bar);
  row.append(name, running);
  sending.append(row);
  return { row, bar };
}

function send({ file, row, bar }) {
  const request = new XMLHttpRequest();
  const body = new FormData();
  body.append("file", file);
  request.upload.onprogress = (event) => { bar.value = event.loaded / event.total; };
  request.onloadend = () => {
    under_way -= 1;
    let answer = {};
    try { answer = JSON.parse(request.responseText); } catch { /* no answer came */ }
    if (request.status === 429) return holdBack({ file, row, bar }, answer);
    if (request.status === 200) {
      row.remove();
      say(`${file.name}: ${answer.message}`);
    } else refuse(file, row, answer.title || "The upload was interrupted");
    next();
  };
  request.open("POST", "/api/upload");
  request.send(body);
}

// A refused file stays on the page until its sentence was read: the next message would hide it.
function refuse(file, row, sentence) {
  const error = document.createElement("p");
  error.className = "error";
  error.textContent = sentence;
  const dismiss = document.createElement("button");
  dismiss.textContent = "Dismiss";
  dismiss.setAttribute("aria-label", `Dismiss ${file.name}`);
  dismiss.addEventListener("click", () => { row.remove(); input.focus(); });
  const acts = document.createElement("div");
  acts.className = "acts";
  acts.append(dismiss);
  row.querySelector(".running").remove();
  row.append(error, acts);
  say(`${file.name}: ${sentence}`, true);
}

function holdBack(upload, answer) {
  waiting.unshift(upload);
  upload.bar.value = 0;
  say(`${answer.title} (going on in ${answer.retryAfter} s)`);
  if (held_back) return;
  held_back = true;
  setTimeout(() => { held_back = false; next(); }, answer.retryAfter * 1000);
}

function next() {
  while (!held_back && under_way < 2 && waiting.length) {
    under_way += 1;
    send(waiting.shift());
  }
}

function take(files) {
  for (const file of files) waiting.push({ file, ...uploadRow(file) });
  next();
}

input.addEventListener("change", () => { take([...input.files]); input.value = ""; });
form.addEventListener("submit", (event) => event.preventDefault());
for (const name of ["dragenter", "dragover"])
  document.addEventListener(name, (event) => { event.preventDefault(); form.classList.add("over"); });
for (const name of ["dragleave", "drop"])
  document.addEventListener(name, (event) => { event.preventDefault(); form.classList.remove("over"); });
document.addEventListener("drop", (event) => take([...event.dataTransfer.files]));

jobs.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-act]");
  if (!button) return;
  button.disabled = true;
  const { act, job } = button.dataset;
  const gone = act === "delete";
  const answer = await fetch(`/api/jobs/${job}${gone ? "" : `/${act}`}`, { method: gone ? "DELETE" : "POST" })
    .catch(() => null);
  if (answer?.ok && gone) { button.closest("li").remove(); input.focus(); return say("Deleted"); }
  if (!answer?.ok) say((answer && (await answer.json()).title) || "The server can't be reached", true);
  button.disabled = false;
});

localTimes(jobs);
listen();
