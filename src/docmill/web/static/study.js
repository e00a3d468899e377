// One card at a time: Space or Enter turns it (it is a button), arrows go on and back.
const cards = [...document.querySelectorAll(".flash")];
const place = document.getElementById("place");
let at = 0;

function flip(card, open) {
  const side = card.querySelector(".side");
  side.setAttribute("aria-expanded", String(open));
  card.querySelector(".back").hidden = !open;
}

function show(next) {
  at = (next + cards.length) % cards.length;
  cards.forEach((card, index) => {
    card.hidden = index !== at;
    flip(card, false);
  });
  place.textContent = `Card ${at + 1} of ${cards.length}`;
}

function go(step) {
  const within = document.activeElement?.classList.contains("side");
  show(at + step);
  if (within) cards[at].querySelector(".side").focus();
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
  document.addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey || event.target.closest(".wide")) return;
    if (event.key === "ArrowRight") go(1);
    else if (event.key === "ArrowLeft") go(-1);
  });
  document.querySelector(".turn").hidden = false;
  show(0);
}
