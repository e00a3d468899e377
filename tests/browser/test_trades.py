"""The trades page in a real browser: notes become rows, rows are judged, pages are seen."""

import re

import httpx2
import pytest
from playwright.sync_api import Page, expect

from browser.conftest import SOON_MS, Grounds
from browser.eyes import axe_everywhere
from notes import DIVIDEND, GERMAN, note
from waits import PATIENCE, wait_for

DOUBTFUL = tuple(line.replace("Stück 25", "Stück 26") for line in GERMAN)


@pytest.fixture
def desk(page: Page, grounds: Grounds) -> Page:
    """A browser that has sent three notes, at the page on which their trades have appeared."""
    page.goto("/trades")
    cookies = {item["name"]: item["value"] for item in page.context.cookies()}  # pyright: ignore[reportTypedDictNotRequiredAccess]
    with httpx2.Client(
        base_url=grounds.url, cookies=cookies, trust_env=False, timeout=PATIENCE
    ) as client:
        for lines in (GERMAN, DOUBTFUL, DIVIDEND):
            files = [("file", ("note.pdf", note(*lines), "application/pdf"))]
            answer = client.post("/api/upload", data={"pipeline": "trades"}, files=files)
            assert answer.status_code == 200, answer.text
            job = f"/api/jobs/{answer.json()['jobId']}"
            wait_for(lambda job=job: client.get(job).json()["status"] == "complete")
    page.goto("/trades")
    return page


def test_trades_are_found_judged_and_seen_on_their_page(desk: Page) -> None:
    rows = desk.locator("tbody tr")
    expect(rows).to_have_count(2)
    expect(desk.get_by_role("list", name="Totals")).to_contain_text("8,620.00 EUR")
    axe_everywhere(desk)

    desk.set_viewport_size({"width": 1280, "height": 800})
    desk.get_by_label("Review").select_option("pending")
    desk.get_by_role("button", name="Filter").click()
    expect(desk).to_have_url(re.compile("status=pending"))
    expect(rows).to_have_count(1)

    desk.get_by_role("button", name="Approve").click()
    expect(rows.first).to_contain_text("Approved")
    expect(desk.get_by_role("status")).to_contain_text("Approved")
    desk.goto("/trades?status=pending")
    expect(desk.locator("main")).to_contain_text("No trade matches this filter.")

    desk.goto("/trades")
    desk.get_by_role("link", name="View PDF").last.click()
    expect(desk.get_by_role("heading", level=1)).to_contain_text("SIEMENS")
    expect(desk.locator("rect[data-name=quantity]")).to_be_visible()
    drawn = desk.evaluate(
        "async () => { const i = new Image(); i.src = document.querySelector('image').href.baseVal;"
        " await i.decode(); return i.naturalWidth; }"
    )
    assert drawn > 500
    axe_everywhere(desk)

    address = desk.get_by_role("link", name="Open the PDF").get_attribute("href")
    file = desk.request.get(address or "")
    assert file.body().startswith(b"%PDF")


def test_a_browser_without_scripts_can_judge_as_well(desk: Page) -> None:
    expect(desk.locator("tbody tr")).to_have_count(2)
    plain = desk.context.browser
    assert plain is not None
    context = plain.new_context(
        base_url=desk.url.partition("/trades")[0],
        java_script_enabled=False,
        storage_state=desk.context.storage_state(),
    )
    context.set_default_timeout(SOON_MS)
    try:
        page = context.new_page()
        page.goto("/trades?status=pending")
        page.get_by_role("button", name="Reject").click()
        page.wait_for_url(re.compile(r"/trades/[0-9a-f-]{36}$"))
        page.goto("/trades?status=rejected")
        expect(page.locator("tbody tr")).to_have_count(1)
    finally:
        context.close()
