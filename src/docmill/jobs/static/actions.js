// What can be done with jobs, one or many: the same requests as the API's, three at a time.

import { showProblem, hideProblem, readProblem, announce } from "./messages.js";

const AT_ONCE = 3;
const DONE = { retry: "Queued again", cancel: "Cancelled", delete: "Deleted", boost: "Moved ahead" };

export async function applyAction(what, id) {
  const gone = what === "delete";
  const address = `/api/jobs/${id}${gone ? "" : `/${what}`}`;
  const answer = await fetch(address, { method: gone ? "DELETE" : "POST" }).catch(() => null);
  if (answer?.ok || (gone && answer?.status === 404)) return null;
  return readProblem(answer);
}

// Does it to all; tells once what could not be done and why.
export async function applyToAll(what, ids, each = () => {}) {
  hideProblem();
  const left = [...ids];
  const problems = [];
  const work = async () => {
    while (left.length) {
      const id = left.shift();
      const problem = await applyAction(what, id);
      if (problem) problems.push(problem);
      else each(id);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  const done = ids.length - problems.length;
  if (done) announce(done === 1 ? "1 file" : `${done} files`, DONE[what]);
  if (problems.length === 1 && ids.length === 1) showProblem(`${problems[0].title}. ${problems[0].detail}`);
  else if (problems.length) showProblem(`${problems.length} of ${ids.length}: ${problems[0].title}`);
  return problems.length === 0;
}

export async function exportAll(ids) {
  hideProblem();
  const answer = await fetch("/api/exports", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ jobs: ids }),
  }).catch(() => null);
  if (!answer?.ok) {
    const problem = await readProblem(answer);
    return showProblem([problem.title, problem.reason ?? problem.detail].filter(Boolean).join(". "));
  }
  const link = document.createElement("a");
  link.href = URL.createObjectURL(await answer.blob());
  link.download = /filename="([^"]+)"/.exec(answer.headers.get("content-disposition"))?.[1] ?? "export.xml";
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
  announce(ids.length === 1 ? "1 file" : `${ids.length} files`, "Exported");
}

export function confirmDelete(title) {
  const dialog = document.querySelector("#ask");
  dialog.querySelector("h2").textContent = title;
  dialog.returnValue = "";
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "yes"), { once: true });
  });
}
