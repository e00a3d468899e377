// Find a route in the list, and try one: the page itself needs neither.
const LONGEST = 20000;

function find(text) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  for (const item of document.querySelectorAll("[data-route]")) {
    const route = item.dataset.route.toLowerCase();
    item.hidden = !words.every((word) => route.includes(word));
  }
  for (const group of document.querySelectorAll(".tree > li:has(ul)")) {
    group.hidden = words.length > 0 && !group.querySelector("[data-route]:not([hidden])");
  }
}

function request(form) {
  let path = form.dataset.path;
  const query = new URLSearchParams();
  const options = { method: form.dataset.method, headers: {} };
  const sent = new FormData();
  for (const field of form.querySelectorAll("[data-in]")) {
    const where = field.dataset.in;
    if (where === "path") path = path.replace(`{${field.name}}`, encodeURIComponent(field.value));
    else if (where === "query" && field.value) query.append(field.name, field.value);
    else if (where === "form" && field.type === "file") for (const file of field.files) sent.append(field.name, file);
    else if (where === "form" && field.value) sent.append(field.name, field.value);
    else if (where === "body") {
      options.body = field.value;
      options.headers["content-type"] = "application/json";
    }
  }
  if (form.dataset.kind === "multipart/form-data") options.body = sent;
  return [query.size ? `${path}?${query}` : path, options];
}

async function read(response) {
  const kind = response.headers.get("content-type") ?? "";
  if (!/json|text|xml/.test(kind)) return `${kind}, ${(await response.blob()).size} bytes`;
  const text = await response.text();
  if (!kind.includes("json") || kind.includes("jsonl")) return text;
  try { return JSON.stringify(JSON.parse(text), null, 2); } catch { return text; }
}

async function send(form) {
  const answer = form.querySelector(".answer");
  const [address, options] = request(form);
  const stop = new AbortController();
  const told = document.createElement("p");
  const body = document.createElement("pre");
  body.tabIndex = 0;
  told.textContent = `${options.method} ${address} …`;
  answer.replaceChildren(told);
  // A stream of events has no end.
  const timer = setTimeout(() => stop.abort(), 60000);
  try {
    const response = await fetch(address, { ...options, signal: stop.signal });
    told.textContent = `${response.status} ${response.statusText} · ${options.method} ${address}`;
    if (/event-stream/.test(response.headers.get("content-type") ?? "")) {
      stop.abort();
      body.textContent = "A stream of events: it continues until you leave the page.";
    } else {
      const text = await read(response);
      body.textContent = text.length > LONGEST ? `${text.slice(0, LONGEST)}\n…` : text;
    }
    answer.append(body);
  } catch {
    told.textContent = "No answer.";
  } finally {
    clearTimeout(timer);
  }
}

const box = document.getElementById("find");
box.hidden = false;
box.addEventListener("input", () => find(box.value));
for (const one of document.querySelectorAll(".try")) one.hidden = false;
document.addEventListener("submit", (event) => {
  if (!event.target.matches(".try form")) return;
  event.preventDefault();
  send(event.target);
});
