// A document to docmill and its study set back, by asking every two seconds.
export const EVERY_MS = 2000;
export const MOST_POLLS = 150;

const pause = (ms) => new Promise((done) => { setTimeout(done, ms); });

async function asked(answer) {
  const body = await answer.json();
  if (!answer.ok) throw new Error(body.error ?? `docmill answered ${answer.status}`);
  return body;
}

/** Uploads a file and polls until its job is done, failed, or was asked about 150 times. */
export async function study(file, { url = "", token = "", told = () => {}, every = EVERY_MS } = {}) {
  const headers = token ? { authorization: `Bearer ${token}` } : {};
  const form = new FormData();
  form.append("pipeline", "study");
  form.append("file", file, file.name);
  const given = { method: "POST", headers, body: form };
  const { jobId } = await asked(await fetch(`${url}/api/upload`, given));
  for (let poll = 0; poll < MOST_POLLS; poll += 1) {
    await pause(every);
    const status = await asked(await fetch(`${url}/api/job-status/${jobId}`, { headers }));
    told(status);
    if (status.status === "completed") return status.result;
    if (status.status === "failed") throw new Error(status.error);
  }
  throw new Error(`Not done after ${MOST_POLLS} polls; the job ${jobId} goes on`);
}
