"""Not tests: each brings a page into a state and takes its picture. Run by `make shots`."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from browser import gallery, people
from browser.conftest import NewContext
from browser.eyes import Watch
from browser.papers import an_invoice

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


def _take(page: Page, name: str) -> None:
    """From the top: what sticks to the window would stand in the middle of a long picture."""
    page.evaluate("scrollTo(0, 0)")
    gallery.take(page, name)


def test_reviews(new_context: NewContext) -> None:
    """One to review, with a value chosen; one learned; a conflict; what waits; nothing waits."""
    context = new_context(viewport={"width": 1280, "height": 860})
    page = context.new_page()
    page.goto("/review")
    _take(page, "review-empty")
    first = an_invoice(context)
    page.goto(f"/review/{first}")
    page.locator(".sheet.known").wait_for()
    _take(page, "review-to-check")
    page.get_by_label("Total", exact=True).fill("1642900")
    page.get_by_text("Net and tax do not add up").first.wait_for()
    _take(page, "review-broken")
    page.get_by_label("Total", exact=True).fill("1642800")
    page.get_by_label("Invoice number", exact=True).fill("SJA-25-0417")
    page.keyboard.press("Enter")
    page.get_by_text("Saved").wait_for()
    page.keyboard.press("Control+Enter")
    page.get_by_text("Learned for the next").first.wait_for()
    _take(page, "review-approved")
    page.goto(f"/review/{an_invoice(context, 'SJA-25-1032')}")
    page.locator(".sheet.known").wait_for()
    page.locator(".learned").wait_for()
    _take(page, "review-learned")
    page.goto("/review")
    _take(page, "review-list")


def test_a_conflict_of_reviews(new_context: NewContext, watch: Watch) -> None:
    watch.forgive("409")
    context = new_context(viewport={"width": 1280, "height": 860})
    address = f"/review/{an_invoice(context)}"
    first, second = context.new_page(), context.new_page()
    for page in (first, second):
        page.goto(address)
    for page, number in ((first, "A-1"), (second, "B-2")):
        page.get_by_label("Invoice number", exact=True).fill(number)
        page.keyboard.press("Enter")
        page.locator("#saved:not(:empty), dialog[open]").first.wait_for()
    _take(second, "review-conflict")
