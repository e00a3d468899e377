// What can be done with jobs, one or many: the same requests as the API's, three at a time.

import { complain, hush, problemOf, say } from "./words.js";

const AT_ONCE = 3;
const DONE = { retry: "Queued again", cancel: "Cancelled", delete: "Deleted" };

export async function act(what, id) {
  const gone = what === "delete";
  const address = `/api/jobs/${id}${gone ? "" : `/${what}`}`;
  const answer = await fetch(address, { method: gone ? "DELETE" : "POST" }).catch(() => null);
  if (answer?.ok || (gone && answer?.status === 404)) return null;
  return problemOf(answer);
}

// Does it to all; tells once what could not be done and why.
export async function actOnAll(what, ids, each = () => {}) {
  hush();
  const left = [...ids];
  const problems = [];
  const work = async () => {
    while (left.length) {
      const id = left.shift();
      const problem = await act(what, id);
      if (problem) problems.push(problem);
      else each(id);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  const done = ids.length - problems.length;
  if (done) say(done === 1 ? "1 file" : `${done} files`, DONE[what]);
  if (problems.length === 1 && ids.length === 1) complain(`${problems[0].title}. ${problems[0].detail}`);
  else if (problems.length) complain(`${problems.length} of ${ids.length}: ${problems[0].title}`);
  return problems.length === 0;
}

export async function exportAll(ids) {
  hush();
  const answer = await fetch("/api/exports", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ jobs: ids }),
  }).catch(() => null);
  if (!answer?.ok) {
    const problem = await problemOf(answer);
    return complain([problem.title, problem.reason ?? problem.detail].filter(Boolean).join(". "));
  }
  const link = document.createElement("a");
  link.href = URL.createObjectURL(await answer.blob());
  link.download = /filename="([^"]+)"/.exec(answer.headers.get("content-disposition"))?.[1] ?? "export.xml";
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
  say(ids.length === 1 ? "1 file" : `${ids.length} files`, "Exported");
}

export function sure(title) {
  const dialog = document.querySelector("#ask");
  dialog.querySelector("h2").textContent = title;
  dialog.returnValue = "";
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "yes"), { once: true });
  });
}
