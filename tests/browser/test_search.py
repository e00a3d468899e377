"""Search in the browser: ask, open a passage, see it marked on its page."""

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from browser.eyes import axe_everywhere
from pdfs import make_pdf
from terminal import wait_for

PAPER = make_pdf([[(72, 100, "The agreement ends on 31 December 2027 unless renewed.")]])


@pytest.fixture
def read(page: Page) -> None:
    """A contract that extract has read, of this browser."""
    page.goto("/search")
    file: Any = {"name": "contract.pdf", "mimeType": "application/pdf", "buffer": PAPER}
    form: Any = {"pipeline": "extract", "file": file}
    answer = page.request.post("/api/upload", multipart=form)
    job = answer.json()["jobId"]
    wait_for(lambda: page.request.get(f"/api/jobs/{job}").json()["status"] == "complete")


@pytest.mark.usefixtures("read")
def test_a_question_leads_to_the_passage_on_its_page(page: Page) -> None:
    box = page.get_by_role("searchbox", name="Question or words")
    expect(box).to_be_focused()
    box.fill("when does the agreement end")
    box.press("Enter")
    expect(page.locator(".hits mark").first).to_have_text("agreement")
    axe_everywhere(page)

    page.get_by_role("link", name="contract.pdf, page 1").click()

    image = page.get_by_role("img", name="Page 1 of contract.pdf, with the passage marked")
    expect(image).to_be_visible()
    expect(image).not_to_have_js_property("naturalWidth", 0)
    sheet, mark = image.bounding_box(), page.locator(".sheet rect").bounding_box()
    assert sheet
    assert mark
    assert abs((mark["y"] - sheet["y"]) / sheet["height"] - 88 / 842) < 0.02
    axe_everywhere(page)


@pytest.mark.usefixtures("read")
def test_nonsense_finds_nothing(page: Page) -> None:
    page.goto("/search?q=xqzzt+blorf+vrangle")

    expect(page.get_by_role("status")).to_contain_text("Nothing found")
    expect(page.locator(".hits")).to_have_count(0)


def test_nothing_found_says_what_to_do(page: Page) -> None:
    page.goto("/search?q=unheard-of")

    expect(page.get_by_role("status")).to_contain_text("Nothing found. Try other words")
    axe_everywhere(page)
