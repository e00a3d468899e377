"""Not tests: each brings a page into a state and takes its picture. Run by `make shots`."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from browser import gallery, people
from browser.eyes import Watch

SETTINGS = {"DOCMILL_WORKER_SLOTS": "2"}


@pytest.fixture(scope="module", autouse=True)
def index() -> Iterator[None]:
    yield
    gallery.write_index()


def test_docs(page: Page) -> None:
    page.goto("/docs")
    gallery.take(page, "docs")


def test_an_address_that_leads_nowhere(page: Page, watch: Watch) -> None:
    watch.forgive("404")
    page.goto("/nowhere")
    gallery.take(page, "mistake")


def test_an_empty_queue(page: Page) -> None:
    page.goto("/queue")
    gallery.take(page, "queue-1-empty")


def test_a_busy_queue_then_done(page: Page, watch: Watch, site_database: str) -> None:
    watch.forgive("400")
    page.goto("/queue")
    people.convert_with(page, "invoice")
    people.choose(page, *(people.invoice(number) for number in range(3)), people.locked())
    for number in range(3):
        people.expect_badge(page, f"invoice {number}.pdf", "Ready")
    people.expect_badge(page, "locked.pdf", "Failed")
    people.convert_with(page, "extract")
    people.choose(page, *(people.long_one(700, f"Handbook {n}") for n in range(2)))
    people.expect_badge(page, "Handbook 0.pdf", "Converting...")
    people.expect_badge(page, "Handbook 1.pdf", "Converting...")
    people.choose(page, people.long_one(700, "Handbook 2"))
    people.expect_badge(page, "Handbook 2.pdf", "Waiting")
    for number in (0, 1):
        far = re.compile(r"page \d{2,3} of 700")
        expect(people.row(page, f"Handbook {number}.pdf")).to_contain_text(far)
    gallery.take(page, "queue-2-busy")
    people.choose(page, people.a_file("holiday.jpg", b"\xff\xd8\xff\xe0 not a pdf"))
    expect(page.get_by_text("Only PDF files are supported")).to_be_visible()
    gallery.take(page, "queue-2-refused")
    people.open_job(page, "Handbook 0.pdf")
    gallery.take(page, "job-1-busy")
    page.go_back()
    for number in range(3):
        people.row(page, f"Handbook {number}.pdf").get_by_role("button", name="Cancel").click()
        people.expect_badge(page, f"Handbook {number}.pdf", "Cancelled")
    people.expire(page, "invoice 0.pdf", site_database)
    expect(people.row(page, "invoice 0.pdf")).to_contain_text("removed by retention")
    page.get_by_label("Select invoice 1.pdf").check()
    page.get_by_label("Select invoice 2.pdf").check()
    gallery.take(page, "queue-3-done")
    page.get_by_role("button", name="Delete", exact=True).first.click()
    gallery.take(page, "queue-4-delete")
    page.get_by_role("button", name="Keep").click()
    people.open_job(page, "invoice 1.pdf")
    gallery.take(page, "job-2-done")
    page.goto("/queue?status=failed")
    gallery.take(page, "queue-5-failed")
    people.open_job(page, "locked.pdf")
    gallery.take(page, "job-3-failed")
    page.goto("/queue?q=nothing+like+it")
    gallery.take(page, "queue-6-no-match")
