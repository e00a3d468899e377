// Uploads: three at a time, each with its bar, its cancel and its retry.

import { forget, keep, listKept, claimUpload } from "./kept_uploads.js";
import { showProblem, announce, size } from "./messages.js";

const MOST = 3;
const TRIES = 6;
const form = document.querySelector("#drop");
const input = document.querySelector("#files");
const sending = document.querySelector("#sending");
const pipeline = document.querySelector("#pipeline");
const mapping = document.querySelector("#mapping");
const waiting = [];
const running = new Set();
let heldBack = false;
let arrived = () => {};

// Random, also on pages that came without TLS.
function newKey() {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((b) => b.toString(16).padStart(2, "0")).join("");
}

class Upload {
  constructor({ key, file, fields }) {
    Object.assign(this, { key, file, fields, tries: 0 });
    this.row = document.createElement("li");
    this.row.innerHTML =
      '<span class="name"></span><div class="how"><progress max="1" value="0"></progress><span class="meta"></span></div><div class="row"></div>';
    this.row.querySelector(".name").textContent = file.name;
    this.bar = this.row.querySelector("progress");
    this.bar.setAttribute("aria-label", `Upload of ${file.name}`);
    this.words = this.row.querySelector(".how span");
    sending.append(this.row);
    this.wait();
  }

  wait(text = `waiting · ${size(this.file.size)}`) {
    this.bar.hidden = false;
    this.bar.value = 0;
    this.tell(text);
    this.offer(["Cancel", () => this.cancel()]);
  }

  tell(text, bad = false) {
    this.words.textContent = text;
    this.words.className = bad ? "error" : "meta";
  }

  offer(...acts) {
    const buttons = acts.map(([title, act]) => {
      const button = document.createElement("button");
      button.className = "small";
      button.textContent = title;
      button.setAttribute("aria-label", `${title} ${this.file.name}`);
      button.addEventListener("click", act);
      return button;
    });
    const place = this.row.querySelector(".row");
    const focused = place.contains(document.activeElement);
    place.replaceChildren(...buttons);
    if (focused) buttons[0]?.focus();
  }

  send() {
    running.add(this);
    const body = new FormData();
    for (const [name, value] of Object.entries(this.fields)) if (value) body.append(name, value);
    body.append("file", this.file);
    this.request = new XMLHttpRequest();
    this.request.upload.onprogress = ({ loaded, total }) => {
      this.bar.value = loaded / total;
      const sent = Math.floor((100 * loaded) / total);
      this.tell(sent < 100 ? `${sent} % of ${size(this.file.size)}` : `sent · ${size(this.file.size)} · being stored`);
    };
    this.request.onloadend = () => this.ended();
    this.request.open("POST", "/api/upload");
    this.request.setRequestHeader("Idempotency-Key", this.key);
    this.request.send(body);
  }

  ended() {
    running.delete(this);
    const { status } = this.request;
    if (this.gone) return next();
    let answer = {};
    try { answer = JSON.parse(this.request.responseText); } catch { /* no answer came */ }
    if (status === 200) this.arrive(answer);
    else if (status === 429) holdBack(this, answer);
    else if (status === 0 || status >= 500) this.again(answer);
    else this.refuse(answer.title || "The upload was refused");
    next();
  }

  arrive(answer) {
    forget(this.key);
    arrived(answer.jobId);
    announce(this.file.name, answer.message);
    if (!answer.duplicate) return this.leave();
    this.bar.hidden = true;
    this.tell(answer.message);
    this.offer(["Open", () => { location.href = `/jobs/${answer.jobId}`; }], ["Dismiss", () => this.leave()]);
  }

  // The server or the way to it is away: by itself for a while, then when asked.
  again(answer) {
    this.tries += 1;
    const sentence = answer.title || "The upload was interrupted";
    if (this.tries >= TRIES) return this.refuse(sentence, true);
    const seconds = answer.retryAfter ?? Math.min(2 ** this.tries, 15);
    this.wait(`${sentence}. Trying again in ${seconds} s`);
    this.timer = setTimeout(() => { waiting.unshift(this); next(); }, seconds * 1000);
  }

  // A refused file stays on the page until its sentence was read.
  refuse(sentence, hope = false) {
    if (!hope) forget(this.key);
    this.bar.hidden = true;
    this.tell(sentence, true);
    announce(this.file.name, sentence);
    const retry = ["Retry", () => { this.tries = 0; this.wait(); waiting.push(this); next(); }];
    this.offer(...(hope ? [retry] : []), ["Dismiss", () => { forget(this.key); this.leave(); }]);
  }

  cancel() {
    this.gone = true;
    clearTimeout(this.timer);
    if (waiting.includes(this)) waiting.splice(waiting.indexOf(this), 1);
    this.request?.abort();
    forget(this.key);
    announce(this.file.name, "Upload cancelled");
    this.leave();
  }

  leave() {
    const focused = this.row.contains(document.activeElement);
    this.row.remove();
    if (focused) input.focus();
  }
}

function holdBack(upload, answer) {
  waiting.unshift(upload);
  const seconds = answer.retryAfter ?? 5;
  for (const each of waiting) each.wait(`${answer.title}. Continuing in ${Math.ceil(seconds)} s`);
  if (heldBack) return;
  heldBack = true;
  setTimeout(() => { heldBack = false; next(); }, seconds * 1000);
}

function next() {
  while (!heldBack && running.size < MOST && waiting.length) waiting.shift().send();
}

async function take(files) {
  const fields = { pipeline: pipeline.value, mapping: mapping.disabled ? "" : mapping.value };
  for (const file of files) {
    const upload = new Upload({ key: newKey(), file, fields });
    if (file.size > Number(form.dataset.max)) { upload.refuse(form.dataset.tooLarge); continue; }
    await claimUpload(upload.key);
    await keep({ key: upload.key, file, fields });
    if (upload.gone) { forget(upload.key); continue; }
    waiting.push(upload);
    next();
  }
}

// What a reload interrupted goes on, unless another page is at it.
async function resumeUploads() {
  for (const pending of await listKept()) {
    if (!(await claimUpload(pending.key))) continue;
    waiting.push(new Upload(pending));
    next();
  }
}

function takeDropped(transfer) {
  const folders = [...(transfer.items ?? [])].filter((item) => item.webkitGetAsEntry?.()?.isDirectory);
  if (folders.length) showProblem("Folders can't be dropped. Open the folder and drop the files in it");
  const names = new Set(folders.map((item) => item.getAsFile()?.name));
  take([...transfer.files].filter((file) => !names.has(file.name)));
}

// Only those of the pipeline stand there: two pipelines may have mappings of the same name.
const mappings = [...mapping.options];
function chooseMapping() {
  const was = mapping.value;
  mapping.replaceChildren(...mappings.filter((option) => option.dataset.of === pipeline.value));
  if ([...mapping.options].some((option) => option.value === was)) mapping.value = was;
  mapping.disabled = mapping.options.length === 0;
  document.querySelector("#mapped").toggleAttribute("data-none", mapping.disabled);
}

function remember() {
  try {
    localStorage.setItem("pipeline", pipeline.value);
    if (!mapping.disabled) localStorage.setItem(`mapping of ${pipeline.value}`, mapping.value);
  } catch { /* a browser that keeps nothing */ }
}

function recall() {
  try {
    const was = localStorage.getItem("pipeline");
    if ([...pipeline.options].some((option) => option.value === was)) pipeline.value = was;
    chooseMapping();
    const as = localStorage.getItem(`mapping of ${pipeline.value}`);
    if ([...mapping.options].some((option) => option.value === as)) mapping.value = as;
  } catch {
    chooseMapping();
  }
}

function hasFiles(event) {
  return [...(event.dataTransfer?.types ?? [])].includes("Files");
}

export function begin(onArrival) {
  arrived = onArrival;
  recall();
  pipeline.addEventListener("change", () => { chooseMapping(); remember(); });
  mapping.addEventListener("change", remember);
  input.addEventListener("change", () => { take([...input.files]); input.value = ""; });
  form.addEventListener("submit", (event) => event.preventDefault());
  document.addEventListener("dragover", (event) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    document.body.classList.add("dropping");
  });
  document.addEventListener("dragleave", (event) => {
    if (!event.relatedTarget) document.body.classList.remove("dropping");
  });
  document.addEventListener("drop", (event) => {
    document.body.classList.remove("dropping");
    if (!hasFiles(event)) return;
    event.preventDefault();
    takeDropped(event.dataTransfer);
  });
  document.addEventListener("paste", (event) => {
    if (event.clipboardData.files.length) take([...event.clipboardData.files]);
  });
  resumeUploads();
}
