// A table of trades has no room on a narrow screen: each is a block there.

const desk = document.querySelector("#review");
const narrow = matchMedia("(max-width: 59.99rem)");
const choose = () => desk.toggleAttribute("data-narrow", narrow.matches);

narrow.addEventListener("change", choose);
choose();
