"""Invoices on a site, for tests of its pages: sent, converted, ready to be looked at."""

from typing import Any, Final

from playwright.sync_api import BrowserContext

from layouts import odd_invoice

ITEMS: Final = (
    ("Kertas A4 80 gram", 10, 50_000),
    ("Tinta printer hitam", 4, 120_000),
    ("Map plastik", 100, 5_000),
)


def converted(context: BrowserContext, pdf: bytes, name: str = "invoice.pdf") -> str:
    """The id of a job that is complete, of whoever this browser is."""
    file: Any = {"name": name, "mimeType": "application/pdf", "buffer": pdf}
    sent = context.request.post("/api/upload", multipart={"pipeline": "invoice", "file": file})
    assert sent.ok, sent.text()
    job_id = sent.json()["jobId"]
    job: dict[str, Any] = {"status": "queued"}
    while job["status"] in {"queued", "processing"}:
        job = context.request.get(f"/api/jobs/{job_id}", headers={"prefer": "wait=30"}).json()
    assert job["status"] == "complete", job
    return job_id


def an_invoice(context: BrowserContext, number: str = "SJA-25-0417") -> str:
    """One whose number was not found."""
    return converted(context, odd_invoice(number, items=ITEMS), f"{number}.pdf")
