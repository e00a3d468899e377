"""A customer's page on another site: it uploads past docmill, polls, downloads and shares."""

import atexit
import socket
import threading
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx2
import pytest
from playwright.sync_api import Browser, Page, expect

from browser.conftest import SOON_MS, Grounds
from pdfs import make_pdf
from waits import PATIENCE

# Held until their server takes it: the settings of ours name it minutes before.
RESERVED = socket.create_server(("127.0.0.1", 0))
atexit.register(RESERVED.close)
PORT: int = RESERVED.getsockname()[1]
# Another name, so another site to a browser: no cookie of docmill's goes with its requests.
THEIRS = f"http://localhost:{PORT}"
SETTINGS: Mapping[str, str] = {"DOCMILL_ORIGINS": THEIRS, "DOCMILL_DEFAULT_PIPELINE": "extract"}
PAGE = b"""<!doctype html><meta charset="utf-8"><title>Theirs</title><link rel="icon" href="data:,">
<input type="file" aria-label="File"><p role="status"></p><script>
const [docmill, key] = decodeURIComponent(location.hash.slice(1)).split(" ");
const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
const say = (text) => { document.querySelector("p").textContent = text; };
async function ask(path, method = "GET", wish = undefined) {
  const body = wish && JSON.stringify(wish);
  const answer = await fetch(docmill + path, { method, headers, body });
  if (!answer.ok) throw new Error((await answer.json()).error);
  return answer.json();
}
async function run(file) {
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", await file.arrayBuffer()));
  const sha256 = [...hash].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  const told = await ask("/api/uploads", "POST", { filename: file.name, bytes: file.size, sha256 });
  const put = await fetch(told.url, { method: told.method, headers: told.headers, body: file });
  if (!put.ok) throw new Error((await put.json()).error);
  const { jobId } = await ask(`/api/uploads/${told.upload_id}/complete`, "POST");
  let job = await ask(`/api/job-status/${jobId}`);
  while (!["completed", "failed"].includes(job.status)) {
    say(`${job.status} ${job.progress} %`);
    await new Promise((done) => setTimeout(done, 200));
    job = await ask(`/api/job-status/${jobId}`);
  }
  const result = await ask(`/api/jobs/${jobId}/download?form=data`);
  const link = await ask(`/api/jobs/${jobId}/links`, "POST", {});
  const shared = await (await fetch(link.url)).text();
  const read = JSON.stringify(result).includes("Hello from afar");
  say(`${job.status}: ${read} ${shared.length > 0}`);
}
document.querySelector("input").onchange = (event) =>
  run(event.target.files[0]).catch((error) => say(`broke: ${error.message}`));
</script>"""


class Theirs(BaseHTTPRequestHandler):
    """Serves the page."""

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Silent."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/html")
        self.end_headers()
        self.wfile.write(PAGE)


@pytest.fixture
def theirs() -> Iterator[str]:
    RESERVED.close()
    server = ThreadingHTTPServer(("127.0.0.1", PORT), Theirs)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield THEIRS
    server.shutdown()
    server.server_close()


def a_file(name: str, text: str) -> Any:
    pdf = make_pdf([[(72, 72, text)]])
    return {"name": name, "mimeType": "application/pdf", "buffer": pdf}


def test_a_page_of_another_site_uploads_polls_downloads_and_shares(
    chromium: Browser, grounds: Grounds, theirs: str
) -> None:
    page = chromium.new_page()
    with httpx2.Client(base_url=grounds.url, timeout=PATIENCE, trust_env=False) as person:
        key = person.post("/api/keys", json={"name": "their app"}).json()["key"]
        page.goto(f"{theirs}/#{grounds.url} {key}")
        file = a_file("theirs.pdf", "Hello from afar")
        page.get_by_label("File").set_input_files(files=[file])
        expect(page.get_by_role("status")).to_contain_text("completed: true true", timeout=SOON_MS)
        (job,) = person.get("/api/jobs").json()["jobs"]
        assert (job["filename"], job["download_count"]) == ("theirs.pdf", 2)
    # A page that nobody named is refused by the browser: it may not even ask.
    page.goto(f"http://127.0.0.1:{PORT}/#{grounds.url} {key}")
    page.get_by_label("File").set_input_files(files=[file])
    expect(page.get_by_role("status")).to_contain_text("broke: Failed to fetch")
    page.close()


def test_a_link_to_a_result_is_copied_from_its_page(page: Page, grounds: Grounds) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"], origin=grounds.url)
    page.goto("/queue")
    file = a_file("mine.pdf", "Hello from here")
    page.locator("input[type=file]").first.set_input_files(files=[file])
    page.get_by_role("link", name="mine.pdf", exact=True).click()
    page.get_by_role("button", name="Copy link").click()
    expect(page.get_by_role("button", name="Link copied")).to_be_visible()
    url = page.evaluate("navigator.clipboard.readText()")
    answer = httpx2.get(url, timeout=PATIENCE, trust_env=False)
    assert "Hello from here" in answer.text
    assert answer.headers["cache-control"].startswith("public, max-age=")
