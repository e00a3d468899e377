// Files on their way, kept by the browser until the server has them: a reload sends them again,
// under the same key, so that none becomes two jobs. Without such a store nothing is kept.

const STORE = "uploads";

const opened = new Promise((resolve) => {
  try {
    const asked = indexedDB.open("docmill", 1);
    asked.onupgradeneeded = () => asked.result.createObjectStore(STORE, { keyPath: "key" });
    asked.onsuccess = () => resolve(asked.result);
    asked.onerror = asked.onblocked = () => resolve(null);
  } catch {
    resolve(null);
  }
});

async function run(mode, work) {
  const base = await opened;
  if (!base) return null;
  return new Promise((resolve) => {
    const asked = work(base.transaction(STORE, mode).objectStore(STORE));
    asked.onsuccess = () => resolve(asked.result);
    asked.onerror = (event) => { event.preventDefault(); resolve(null); };
  }).catch(() => null);
}

export const keep = (upload) => run("readwrite", (store) => store.put(upload));
export const forget = (key) => run("readwrite", (store) => store.delete(key));
export const listKept = async () => (await run("readonly", (store) => store.getAll())) ?? [];

// One page at a time works on an upload. The lock is let go when the page is gone.
export function claimUpload(key) {
  if (!navigator.locks) return Promise.resolve(true);
  return new Promise((resolve) => {
    navigator.locks.request(`docmill ${key}`, { ifAvailable: true }, (lock) => {
      resolve(lock !== null);
      return lock && new Promise(() => {});
    });
  });
}
