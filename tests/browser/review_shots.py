"""Not tests: pictures of reviews in every state. Run by `make shots`."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page

from browser import gallery
from browser.conftest import NewContext
from browser.eyes import Watch
from browser.papers import an_invoice


@pytest.fixture(scope="module", autouse=True)
def index() -> Iterator[None]:
    yield
    gallery.write_index()


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
    page.get_by_role("button", name="Approve all the same").click()
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
