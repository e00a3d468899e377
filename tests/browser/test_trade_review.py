"""Trades in the review desk: a wrong quantity mended by keys alone, cells pasted, rows decided."""

import re
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from browser.conftest import NewContext
from browser.eyes import SCHEMES, Watch, axe, axe_everywhere
from notes import DIVIDEND, GERMAN, TABLE, note

DOUBTFUL = tuple(line.replace("Stück 25", "Stück 26") for line in GERMAN)
LONG = (
    *TABLE,
    "15/03/2024   Buy      US0378331005    5           10.00     50.00",
    "16/03/2024   Buy      US0378331005    6           10.00     60.00",
)
PHONE = 390


@pytest.fixture
def context(new_context: NewContext) -> BrowserContext:
    return new_context(viewport={"width": 1280, "height": 800})


def send_note(context: BrowserContext, *lines: str, name: str = "note.pdf") -> str:
    """The id of the document, whose trades were read."""
    file: Any = {"name": name, "mimeType": "application/pdf", "buffer": note(*lines)}
    sent = context.request.post("/api/upload", multipart={"pipeline": "trades", "file": file})
    assert sent.ok, sent.text()
    job: dict[str, Any] = {"status": "queued"}
    while job["status"] in {"queued", "processing"}:
        address = f"/api/jobs/{sent.json()['jobId']}"
        job = context.request.get(address, headers={"prefer": "wait=30"}).json()
    assert job["status"] == "complete", job
    return job["document_id"]


def open_desk(context: BrowserContext, document_id: str) -> Page:
    page = context.new_page()
    page.goto(f"/trades/review/{document_id}")
    page.locator(".sheet.known").first.wait_for()
    return page


def read_note(page: Page) -> dict[str, Any]:
    document_id = re.sub(r".*/review/|[?#].*", "", page.url)
    return page.request.get(f"/api/documents/{document_id}/trades").json()


def test_a_wrong_quantity_is_mended_and_approved_by_keys_alone(context: BrowserContext) -> None:
    page = open_desk(context, send_note(context, *DOUBTFUL, name="first.pdf"))
    send_note(context, *(line.replace("26", "27") for line in DOUBTFUL), name="second.pdf")
    page.goto("/review")
    expect(page.get_by_role("link", name="2 trade notes to check")).to_be_visible()
    page.goto("/trades")
    expect(page.get_by_role("heading", name="2 notes to check")).to_be_visible()
    page.get_by_role("link", name="Review", exact=True).last.press("Enter")
    page.locator(".sheet.known").first.wait_for()
    expect(page.locator("#count")).to_have_text("2 to check")
    assert page.evaluate("document.activeElement.name") == "lines[0].quantity"
    expect(page.locator("rect.now")).to_be_visible()
    page.keyboard.type("25")
    expect(page.locator("#count")).to_have_text("Nothing left to check")
    page.keyboard.press("Enter")
    expect(page.locator("#saved")).to_have_text("Saved")
    expect(page.locator("#approve")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#status")).to_have_text("Approved")
    kept = read_note(page)
    assert kept["trades"][0]["quantity"] == "25"
    assert kept["trades"][0]["approved_by"].startswith("session:")
    expect(page.locator("tr.line")).to_contain_text("by you")
    expect(page.get_by_role("button", name="Approve", exact=True)).to_be_disabled()
    expect(page.locator("[data-decide*='/approve']")).to_have_count(0)
    expect(page.locator("#next")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("second.pdf")


def test_approving_asks_while_something_is_in_doubt(context: BrowserContext, watch: Watch) -> None:
    watch.forgive("400")
    page = open_desk(context, send_note(context, *DOUBTFUL))
    page.locator('[name="lines[0].isin"]').fill("DE0007236102")
    expect(page.locator('[data-path="lines[0].isin"] .why')).to_contain_text("check digit")
    page.keyboard.press("Control+Enter")
    expect(page.locator('[name="lines[0].isin"]')).to_be_focused()
    assert read_note(page)["status"] == "pending"
    page.locator('[name="lines[0].isin"]').fill("DE0007236101")
    page.keyboard.press("Control+Enter")
    expect(page.locator("#asking")).to_contain_text("Quantity times price is 4,482.4")
    axe_everywhere(page)
    page.get_by_role("button", name="Approve all the same").click()
    expect(page.locator("#status")).to_have_text("Approved")


PASTE = """
([name, text]) => {
  const data = new DataTransfer();
  data.setData("text/plain", text);
  const pasted = { clipboardData: data, bubbles: true, cancelable: true };
  const target = document.querySelector(`input[name="${name}"]`);
  target.dispatchEvent(new ClipboardEvent("paste", pasted));
}
"""


def test_a_block_is_pasted_and_a_column_filled(context: BrowserContext) -> None:
    page = open_desk(context, send_note(context, *LONG))
    expect(page.locator("tr.line")).to_have_count(5)
    block = "7\t10.00\t70.00\r\n8\t10.00\t80.00\r\n9\t10.00\t90.00\r\n"
    page.evaluate(PASTE, ["lines[3].quantity", block])
    expect(page.locator("tr.line")).to_have_count(6)
    expect(page.locator("#told")).to_contain_text("3 lines pasted")
    told = [(one["quantity"], one["notional"]) for one in read_note(page)["trades"][3:]]
    assert told == [("7", "70.00"), ("8", "80.00"), ("9", "90.00")]
    page.locator('[name="lines[0].currency"]').fill("usd")
    page.keyboard.press("Control+d")
    expect(page.locator("#told")).to_contain_text("filled")
    assert {one["currency"] for one in read_note(page)["trades"]} == {"USD"}


def test_rows_are_decided_one_by_one(context: BrowserContext) -> None:
    page = open_desk(context, send_note(context, *LONG))
    expect(page.locator("tr.line")).to_have_count(5)
    page.locator('[name="lines[0].quantity"]').focus()
    for key, cell in (
        ("ArrowDown", "lines[1].quantity"),
        ("ArrowRight", "lines[1].price"),
        ("Tab", "lines[1].notional"),
        ("ArrowUp", "lines[0].notional"),
    ):
        page.keyboard.press(key)
        assert page.evaluate("document.activeElement.name") == cell
    page.keyboard.press("Control+Delete")
    expect(page.locator("tr.line")).to_have_count(4)
    expect(page.locator(".gone")).to_contain_text("US0378331005")
    page.locator("tr.line").first.get_by_role("button", name=re.compile("^Approve")).click()
    expect(page.locator("tr.line .badge")).to_have_count(1)
    states = [one["review_status"] for one in read_note(page)["trades"]]
    assert states == ["approved", "pending", "pending", "pending"]
    page.locator(".gone").get_by_role("button", name="Take US0378331005 back").click()
    expect(page.locator("tr.line")).to_have_count(5)
    page.get_by_role("button", name="Add a trade").click()
    expect(page.locator("tr.line")).to_have_count(6)
    assert page.evaluate("document.activeElement.name").startswith("lines[5]")
    page.get_by_role("button", name="Reject", exact=True).click()
    page.get_by_label("Why?").fill("a copy")
    page.locator("#rejecting").get_by_role("button", name="Reject").click()
    expect(page.locator("#status")).to_have_text("Rejected")
    expect(page.locator("#reject")).to_be_disabled()
    page.get_by_role("tab", name="History").click()
    expect(page.locator("#history")).to_contain_text("(a copy)")


def test_the_desk_is_in_order_for_everybody(context: BrowserContext) -> None:
    for lines in (DOUBTFUL, LONG, DIVIDEND, GERMAN):
        page = open_desk(context, send_note(context, *lines))
        axe_everywhere(page)
    page.get_by_role("tab", name="History").click()
    axe_everywhere(page)


def test_the_desk_is_used_on_a_phone(new_context: NewContext) -> None:
    context = new_context(viewport={"width": PHONE, "height": 800}, has_touch=True)
    page = open_desk(context, send_note(context, *LONG))
    for scheme in SCHEMES:
        page.emulate_media(color_scheme=scheme)
        axe(page)
    assert page.evaluate("document.documentElement.scrollWidth") == PHONE
    cell = page.locator('[name="lines[0].currency"]')
    cell.fill("USD")
    cell.press("Enter")
    expect(page.locator("#saved")).to_have_text("Saved")
    box = page.locator('[name="lines[0].notional"]').bounding_box()
    assert box
    assert box["x"] + box["width"] <= PHONE


def test_two_people_at_one_note(context: BrowserContext, watch: Watch) -> None:
    watch.forgive("409")
    document_id = send_note(context, *DOUBTFUL)
    first, second = open_desk(context, document_id), open_desk(context, document_id)
    for page, quantity in ((first, "25"), (second, "24")):
        page.locator('[name="lines[0].quantity"]').fill(quantity)
        page.keyboard.press("Enter")
        page.locator("#saved:not(:empty), dialog[open]").first.wait_for()
    expect(second.locator("#theirs")).to_contain_text("26 → 25")
    second.get_by_role("button", name="Keep mine").click()
    expect(second.locator("#conflict")).to_be_hidden()
    expect(second.locator("#saved")).to_have_text("Saved")
    assert read_note(second)["trades"][0]["quantity"] == "24"
