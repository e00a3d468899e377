// The inbox of reviews: rows are selected and approved together, each at the revision that was seen.

import { announce, readProblem, showProblem, showTimes } from "./messages.js";

const rows = () => [...document.querySelectorAll("tr[data-job]")];
const picked = () => rows().filter((row) => row.querySelector("input").checked);
const asking = document.querySelector("#asking");
const count = (number) => (number === 1 ? "1 document" : `${number} documents`);

function show() {
  const some = picked();
  document.querySelector("#many").hidden = !some.length;
  document.querySelector("#picked").textContent = `${some.length} selected`;
  const all = document.querySelector("#all");
  all.checked = some.length > 0 && some.length === rows().length;
  all.indeterminate = some.length > 0 && !all.checked;
}

function ask() {
  const doubts = picked().reduce((sum, row) => sum + Number(row.dataset.doubts), 0);
  document.querySelector("#h-asking").textContent = `Approve ${count(picked().length)}?`;
  document.querySelector("#about").textContent = doubts
    ? `${doubts === 1 ? "1 value" : `${doubts} values`} still to check. Nobody has checked them yet.`
    : "Nothing is left to check.";
  asking.showModal();
}

async function approveAll() {
  asking.close();
  const some = picked();
  let done = 0;
  let problem = null;
  for (const row of some) {
    const { job, revision } = row.dataset;
    const body = JSON.stringify({ revision: Number(revision) });
    const headers = { "content-type": "application/json" };
    const answer = await fetch(`/api/reviews/${job}/approve`, { method: "POST", headers, body }).catch(() => null);
    if (answer?.ok) {
      done += 1;
      row.remove();
    } else problem = await readProblem(answer);
  }
  show();
  if (done) announce(count(done), "Approved");
  if (problem) showProblem(`${some.length - done} of ${some.length} were not approved: ${problem.reason ?? problem.title}`);
  else if (!rows().length) location.reload();
}

if (rows().length) {
  document.addEventListener("change", (event) => {
    if (event.target.id === "all") for (const row of rows()) row.querySelector("input").checked = event.target.checked;
    if (event.target.closest(".inbox")) show();
    if (event.target.id === "sort") event.target.form.submit();
  });
  document.querySelector("#approve-all").addEventListener("click", ask);
  document.querySelector("#stay").addEventListener("click", () => asking.close());
  document.querySelector("#anyway").addEventListener("click", approveAll);
  show();
}
showTimes(document);
