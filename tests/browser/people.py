"""What a person does on the queue page, and the files they have."""

import base64
from datetime import timedelta
from typing import Any
from uuid import UUID

import psycopg
from playwright.sync_api import FilePayload, Locator, Page, expect

import pdfs
from docmill.db import notify
from docmill.jobs import results
from invoice_pdfs import paper
from terminal import book

INVOICE = "pt_simon_invoice_v1"


def invoice(number: int) -> FilePayload:
    """An invoice unlike others."""
    price = f"{100 + number}.000"
    data = paper([(str(1), f"Kertas A4 no. {number}", "1", price, price)], [("Total", price)])
    return a_file(f"invoice {number}.pdf", data)


def locked() -> FilePayload:
    return a_file("locked.pdf", pdfs.encrypted_pdf())


def long_one(pages: int, title: str = "A book") -> FilePayload:
    """One that takes a while: some ten milliseconds a page."""
    return a_file(f"{title}.pdf", book(pages, title))


def heavy(name: str) -> FilePayload:
    """Long to send and soon converted."""
    data = pdfs.make_pdf([[(72, 72, name)]], info={"Title": name * (400_000 // len(name))})
    return a_file(f"{name}.pdf", data)


def a_file(name: str, data: bytes) -> FilePayload:
    return FilePayload(name=name, mimeType="application/pdf", buffer=data)


# Files as a mouse brings them: what the page is given by the browser in a drop.
TRANSFER = """
(files) => {
  const transfer = new DataTransfer();
  for (const [name, type, data] of files) {
    const bytes = Uint8Array.from(atob(data), (c) => c.charCodeAt(0));
    transfer.items.add(new File([bytes], name, { type }));
  }
  return transfer;
}
"""


def transfer(page: Page, files: list[FilePayload]) -> Any:
    given = [[f["name"], f["mimeType"], base64.b64encode(f["buffer"]).decode()] for f in files]
    return page.evaluate_handle(TRANSFER, given)


def drop(page: Page, *files: FilePayload) -> None:
    """Somewhere on the page, not on the marked place."""
    given = {"dataTransfer": transfer(page, list(files))}
    for kind in ("dragover", "drop"):
        page.dispatch_event("#list", kind, given)


def choose(page: Page, *files: FilePayload) -> None:
    page.get_by_label("choose files").set_input_files(list(files))


def convert_with(page: Page, pipeline: str) -> None:
    page.get_by_label("Convert with").select_option(pipeline)
    if pipeline == "invoice":
        page.get_by_label("Write as").select_option(INVOICE)


def row(page: Page, name: str) -> Locator:
    return page.get_by_role("row").filter(has=page.get_by_role("link", name=name, exact=True))


def expect_badge(page: Page, name: str, label: str) -> None:
    expect(row(page, name).locator(".badge")).to_have_text(label)


def open_job(page: Page, name: str) -> None:
    page.get_by_role("link", name=name, exact=True).click()
    page.wait_for_url("**/jobs/*")


def expire(page: Page, name: str, database_url: str) -> None:
    """What the daily sweep does to a result whose days are over."""
    address = page.get_by_role("link", name=name, exact=True).get_attribute("href") or ""
    with psycopg.connect(database_url) as conn:
        args = {"ids": [UUID(address.rpartition("/")[2])], "anyway": True, "pressed": False}
        conn.execute(results.EXPIRE, {**args, "short": timedelta()})
        conn.execute(notify.NOTIFY, (notify.CHANGES,))
