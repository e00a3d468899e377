// Judges a trade in place: the form goes out in the background, and the row comes back as it is now.

const said = document.querySelector("#said");

document.addEventListener("submit", async (event) => {
  const form = event.target.closest("form[data-judge]");
  if (!form) return;
  event.preventDefault();
  const row = form.closest("tr");
  const button = form.querySelector("button");
  button.disabled = true;
  try {
    const answer = await fetch(form.action, { method: "POST", headers: { "x-fragment": "row" } });
    if (!answer.ok) throw new Error((await answer.json()).error ?? "Something went wrong");
    const template = document.createElement("template");
    template.innerHTML = `<table>${await answer.text()}</table>`; // drawn and escaped by the server
    const fresh = template.content.querySelector("tr");
    row.replaceWith(fresh);
    said.textContent = `${button.textContent}: ${fresh.querySelector(".review").textContent}`;
    fresh.querySelector("button")?.focus();
  } catch (error) {
    said.textContent = error.message;
    button.disabled = false;
  }
});

// New trades appear by themselves, but never under the hand of somebody who works in the list.
const EVERY_MS = 4000;
const found = document.querySelector("#found");
found.dataset.drawn = found.innerHTML;

function renewWaiting(fresh) {
  const waiting = document.querySelector("#waiting");
  if (fresh && fresh.innerHTML !== waiting.innerHTML && !waiting.contains(document.activeElement))
    waiting.replaceChildren(...fresh.childNodes);
}

async function renew() {
  if (document.hidden || found.contains(document.activeElement)) return;
  const answer = await fetch(location.href, { headers: { accept: "text/html" } });
  if (!answer.ok) return;
  const drawn = new DOMParser().parseFromString(await answer.text(), "text/html");
  const fresh = drawn.querySelector("#found");
  renewWaiting(drawn.querySelector("#waiting"));
  if (!fresh || fresh.innerHTML === found.dataset.drawn || found.contains(document.activeElement)) return;
  const news = fresh.querySelectorAll("tbody tr").length - found.querySelectorAll("tbody tr").length;
  found.dataset.drawn = fresh.innerHTML;
  found.replaceChildren(...fresh.childNodes);
  if (news > 0) said.textContent = news === 1 ? "1 new trade" : `${news} new trades`;
}

async function keepRenewing() {
  await renew().catch(() => {}); // the site restarts: it is asked again
  setTimeout(keepRenewing, EVERY_MS);
}

setTimeout(keepRenewing, EVERY_MS);
