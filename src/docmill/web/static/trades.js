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
