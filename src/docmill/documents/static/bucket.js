// The bucket page is live: it is drawn anew every few seconds, and counted anew while it is looked at.

const EVERY_MS = 4000;
const COUNT_MS = 30_000; // between two counts: each lists the whole bucket
const live = () => document.querySelector("#live");

function isOld() {
  const counted = Date.parse(live().dataset.counted ?? 0);
  return "counts" in live().dataset && Date.now() - counted > COUNT_MS;
}

async function renew() {
  if (document.hidden || live().contains(document.activeElement)) return;
  // The answer of a count is the page with its figures.
  const answer = isOld() ? await fetch(`/bucket/count?source=${encodeURIComponent(live().dataset.counts)}`, { method: "POST" }) : await fetch(location.href);
  if (!answer.ok || (answer.redirected && location.search)) return;
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const fresh = page.querySelector("#live");
  if (fresh && !live().contains(document.activeElement)) live().replaceWith(fresh);
}

async function keepRenewing() {
  await renew().catch(() => {}); // the site restarts: it is asked again
  setTimeout(keepRenewing, EVERY_MS);
}

keepRenewing();
