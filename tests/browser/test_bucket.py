"""The bucket page in a real browser: a file is dropped, its trade appears, and it all adds up."""

from playwright.sync_api import Page, expect

from browser.conftest import Grounds
from browser.eyes import axe, axe_everywhere
from notes import GERMAN, note
from waits import wait_for

SETTINGS = {"AUTH_MODE": "local"}  # who sees what came by the bucket


def test_a_dropped_note_appears_by_itself_and_is_counted_by_keyboard(
    page: Page, grounds: Grounds
) -> None:
    page.goto("/trades")
    expect(page.locator("main")).to_contain_text("bucket/incoming")
    axe_everywhere(page)
    inbox = grounds.data / "bucket" / "incoming"
    (inbox / "Note 1.PDF").write_bytes(note(*GERMAN))
    (inbox / "hello.txt").write_text("hello")
    expect(page.locator("tbody tr")).to_have_count(1)
    expect(page.get_by_role("status")).to_contain_text("1 new trade")

    page.get_by_role("link", name="Bucket").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Bucket")
    axe(page)
    archived = page.get_by_role("row", name="archive/").locator("[data-name=done]")
    failed = page.get_by_role("row", name="failed/").locator("[data-name=failed]")

    def counts() -> tuple[str, str]:
        page.get_by_role("button", name="Count now").focus()
        with page.expect_navigation():
            page.keyboard.press("Enter")
        return archived.inner_text(), failed.inner_text()

    # The poller files what has ended in its next round.
    wait_for(lambda: counts() == ("1", "1"))
    expect(page.get_by_role("row", name="All").locator("[data-name=objects]")).to_have_text("2")
    expect(page.locator("main")).to_contain_text("Bucket and database agree.")
    expect(page.locator("caption", has_text="Counted")).to_contain_text("just now")
    axe_everywhere(page)
