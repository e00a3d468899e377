"""The examples of /docs run, in curl and in Python, against a docmill that has read the samples."""

import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx2
import pytest

from docmill.client import Client, Refused
from docmill.jobs.samples import SAMPLES
from docmill.web.docs_page import ShownRoute, group_routes
from folders import quick_folder
from terminal import Served, Terminal
from waits import PATIENCE
from warm_sandboxes import WARM

# What is right to ask and yet refused here, each for a reason of its own.
REFUSED = {
    "POST /api/jobs/{job_id}/retry": "WRONG_STATE",  # it is complete
    "POST /api/jobs/{job_id}/cancel": "WRONG_STATE",
    "POST /api/jobs/{job_id}/boost": "WRONG_STATE",
    "POST /api/uploads/{upload_id}/complete": "UPLOAD_NOT_FOUND",
    "DELETE /api/lessons/{lesson_id}": "LESSON_NOT_FOUND",  # none was taught
    "POST /api/account/claim": "SESSION_NOT_FOUND",  # one person alone has no session
    "DELETE /api/keys/{key_id}": "KEY_NOT_FOUND",
    "DELETE /api/sessions/{session_id}": "SESSION_NOT_FOUND",
    "POST /api/reviews/{job_id}/approve": "REVIEW_CONFLICT",  # it was edited before
    "POST /api/reviews/{job_id}/reject": "REVIEW_CONFLICT",
    "POST /api/reviews/{job_id}/checked": "REVIEW_CONFLICT",
    "POST /api/documents/{document_id}/trades/checked": "REVIEW_CONFLICT",
    "POST /api/documents/{document_id}/trades/approve": "REVIEW_CONFLICT",
    "POST /api/documents/{document_id}/trades/reject": "REVIEW_CONFLICT",
    "POST /api/admin/jobs/{job_id}/{action}": "WRONG_STATE",  # it is complete
    "POST /api/admin/services/{service}/pause": "UNKNOWN_SERVICE",  # none is set up
    "POST /api/admin/services/{service}/resume": "UNKNOWN_SERVICE",
    "POST /api/webhooks": "URL_REFUSED",  # nobody is known by that name
    **{
        f"{method} /api/webhooks/{{webhook_id}}{path}": "WEBHOOK_NOT_FOUND"  # none could be made
        for method, path in (
            ("GET", ""),
            ("DELETE", ""),
            ("POST", "/rotate"),
            ("POST", "/enable"),
            ("GET", "/deliveries"),
            ("POST", "/deliveries/{delivery_id}/replay"),
            ("POST", "/replay"),
        )
    },
}
# The second language finds the review changed by the first, and the job gone by its end.
REFUSED_AGAIN = REFUSED | {
    "POST /api/reviews/{job_id}/edits": "REVIEW_CONFLICT",
    "POST /api/documents/{document_id}/trades/edits": "REVIEW_CONFLICT",
}
ENDLESS = "GET /api/events"
LAST = "DELETE /api/jobs/{job_id}"
# Leads to the download where the job has ended: `curl` is content with that, the client is not.
PARTIAL = "GET /api/jobs/{job_id}/partial"
SKIPPED = {"python": {ENDLESS, LAST, PARTIAL}, "curl": {ENDLESS}}
NOBODY = "00000000-0000-4000-8000-000000000000"
# What is called by a name, by the word before it in the address.
NAMES = {"mappings": "ubl_invoice_v1", "sources": "bucket"}


@dataclass(frozen=True, slots=True)
class Try:
    """Where the examples run, and what their variables stand for."""

    url: str
    folder: Path
    variables: dict[str, str]
    routes: list[ShownRoute]


@pytest.fixture(scope="module")
def ground() -> Iterator[Try]:
    with quick_folder("examples") as folder:
        (folder / "invoice.pdf").write_bytes(SAMPLES["invoice"].read())
        settings = {"DOCMILL_UPLOADS_PER_MINUTE": "0", "DOCMILL_READS_PER_MINUTE": "0", **WARM}
        terminal = Terminal(folder, settings)
        served = Served(terminal, folder / "data")
        try:
            yield prepare(served.url, folder)
        finally:
            served.stop()


def prepare(url: str, folder: Path) -> Try:
    with Client(url) as docmill:
        for sample in SAMPLES.values():
            job = docmill.submit(sample.read(), pipeline=sample.pipeline, filename="s.pdf")
            assert docmill.wait(job.id).good
        (trade,) = docmill.ask("GET", "/api/trades")["trades"]
        invoice = next(one for one in docmill.jobs() if one["pipeline"] == "invoice")
        shared = docmill.link(invoice["id"])["url"]
        size = (folder / "invoice.pdf").stat().st_size
        begun = docmill.ask("POST", "/api/uploads", json={"filename": "i.pdf", "bytes": size})
        batch = docmill.ask("POST", "/api/reprocess", json={"status": "failed"})
        link = docmill.ask("GET", f"/api/trades/{trade['id']}/pdf")["pdf_url"]
    document = httpx2.get(f"{url}/openapi.json", timeout=PATIENCE).json()
    routes = [route for group in group_routes(document) for route in group.routes]
    routes.sort(key=lambda route: f"{route.method} {route.path}" == LAST)
    variables = {
        "docmill": url, "id": invoice["id"], "trade_id": trade["id"], "number": "1",
        "document_id": invoice["document_id"], "batch_id": batch["id"], "lesson_id": NOBODY,
        "webhook_id": NOBODY, "delivery_id": NOBODY, "key_id": NOBODY, "session_id": NOBODY,
        "upload_id": NOBODY, "upload_url": begun["url"], "link_url": shared,
        "action": "cancel", "service": "openai",
        "pdf_url": str(httpx2.URL(url).join(link)),
    }  # fmt: skip
    return Try(url, folder, variables, routes)


def run_curl(ground: Try, example: str) -> str:
    """The code of the refusal, or nothing."""
    command = example.replace("curl -f", "curl -sS --fail-with-body", 1)
    ran = subprocess.run(
        ["bash", "-euc", command], cwd=ground.folder, env={**os.environ, **ground.variables},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if ran.returncode == 0:
        return ""
    return ran.stdout.partition('"code":"')[2].partition('"')[0] or f"{ran.stdout}{ran.stderr}"


def run_python(ground: Try, example: str) -> str:
    with Client(ground.url, tries=1) as docmill:
        known: dict[str, Any] = {**ground.variables, "docmill": docmill}
        try:
            exec(example, {**known, "Path": Path})
        except Refused as exc:
            return exc.code or exc.says
    return ""


@pytest.mark.parametrize("language", ["python", "curl"])
def test_every_example_does_what_it_says(
    ground: Try, language: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ground.folder)
    wrong: dict[str, str] = {}
    for route in ground.routes:
        title = f"{route.method} {route.path}"
        if title in SKIPPED[language]:
            continue
        example = route.curl if language == "curl" else route.python
        run = run_curl if language == "curl" else run_python
        expected = REFUSED if language == "python" else REFUSED_AGAIN
        name = NAMES.get(route.path.split("/")[2], "") if route.path.startswith("/api/") else ""
        given = replace(ground, variables={**ground.variables, "name": name})
        if (code := run(given, example)) != expected.get(title, ""):
            wrong[example] = code
    assert wrong == {}
