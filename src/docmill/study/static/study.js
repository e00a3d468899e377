// One card at a time: Space or Enter turns it (it is a button), arrows go on and back, 1 and 2 say
// whether it is known. Known cards are left out and remembered in this browser.
const cards = [...document.querySelectorAll(".flash")];
const place = document.getElementById("place");
const again = document.getElementById("again");
const name = `docmill-known-${document.getElementById("deck")?.dataset.job}`;
const known = new Set(remembered());
let at = 0;

function remembered() {
  try {
    return JSON.parse(localStorage.getItem(name)) ?? [];
  } catch {
    return [];
  }
}

function remember() {
  try {
    localStorage.setItem(name, JSON.stringify([...known]));
  } catch {
    // A browser that keeps nothing still shows the cards.
  }
}

function flip(card, open) {
  const side = card.querySelector(".side");
  side.setAttribute("aria-expanded", String(open));
  card.querySelector(".back").hidden = !open;
}

function isKnown(card) {
  return known.has(card.dataset.card);
}

function show() {
  const left = cards.filter((card) => !isKnown(card)).length;
  cards.forEach((card, index) => {
    card.hidden = index !== at;
    flip(card, false);
  });
  const count = known.size ? `, ${cards.length - left} known` : "";
  place.textContent = left
    ? `Card ${at + 1} of ${cards.length}${count}`
    : `You know all ${cards.length} cards`;
  again.hidden = !known.size;
}

// The next card that is not known; the next one of all when none is left.
function go(step) {
  const within = document.activeElement?.classList.contains("side");
  for (let tries = 0; tries < cards.length; tries += 1) {
    at = (at + step + cards.length) % cards.length;
    if (!isKnown(cards[at])) break;
  }
  show();
  if (within) cards[at].querySelector(".side").focus();
}

function tell(isIt) {
  if (isIt) known.add(cards[at].dataset.card);
  else known.delete(cards[at].dataset.card);
  remember();
  go(1);
}

// Space anywhere on the page turns the card; it would scroll otherwise.
function turn(event) {
  event.preventDefault();
  flip(cards[at], cards[at].querySelector(".back").hidden);
  cards[at].querySelector(".side").focus();
}

function press(event) {
  if (event.altKey || event.ctrlKey || event.metaKey || event.target.closest(".wide")) return;
  if (event.key === " " && !event.target.closest("button, a, input, select, summary")) turn(event);
  else if (event.key === "ArrowRight") go(1);
  else if (event.key === "ArrowLeft") go(-1);
  else if (event.key === "1") tell(false);
  else if (event.key === "2") tell(true);
}

if (cards.length) {
  for (const card of cards) {
    card.querySelector(".side").addEventListener("click", (event) => {
      flip(card, event.currentTarget.getAttribute("aria-expanded") !== "true");
    });
  }
  for (const button of document.querySelectorAll("[data-go]")) {
    button.addEventListener("click", () => go(Number(button.dataset.go)));
  }
  for (const button of document.querySelectorAll("[data-known]")) {
    button.addEventListener("click", () => tell(button.dataset.known === "yes"));
  }
  again.addEventListener("click", () => {
    known.clear();
    remember();
    at = 0;
    show();
    cards[0].querySelector(".side").focus();
  });
  document.addEventListener("keydown", press);
  for (const row of document.querySelectorAll(".turn")) row.hidden = false;
  at = Math.max(0, cards.findIndex((card) => !isKnown(card)));
  show();
}
