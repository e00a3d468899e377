"""The review page, as a person at a keyboard or with a mouse goes through it."""

from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page, Route, expect

from browser.conftest import NewContext
from browser.eyes import axe_everywhere
from browser.papers import ITEMS, an_invoice, converted
from layouts import odd_invoice
from waits import wait_for

WORD = "SJA-25-0417"


@pytest.fixture
def context(new_context: NewContext) -> BrowserContext:
    return new_context(viewport={"width": 1280, "height": 860})


@pytest.fixture
def review(context: BrowserContext) -> Page:
    """A page that reviews an invoice whose number was not found."""
    return opened(context, an_invoice(context))


def opened(context: BrowserContext, job_id: str) -> Page:
    page = context.new_page()
    page.goto(f"/review/{job_id}")
    page.locator(".sheet.known").first.wait_for()
    return page


def job_of(page: Page) -> str:
    return page.url.rpartition("/")[2]


def told(page: Page) -> dict[str, Any]:
    """The review as the API tells it."""
    return page.request.get(f"/api/reviews/{job_of(page)}").json()


def focused(page: Page) -> str | None:
    return page.evaluate("document.activeElement.name || document.activeElement.id")


def test_an_invoice_is_reviewed_with_the_keyboard_alone(review: Page) -> None:
    """Fifteen fields: those in doubt one after the other by Enter, others by Tab, then approved."""
    assert focused(review) == "invoice_number"
    given = {
        "invoice_number": WORD,
        "currency": "IDR",
        "seller.tax_id": "01.234.567.8-901.000",
        "buyer.tax_id": "02.345.678.9-012.000",
        "issue_date": "15 Maret 2025",
        "due_date": "2025-04-14",
        "seller.name": "PT Sinar Jaya",
        "seller.address": "Jl. Sudirman 1",
        "buyer.name": "CV Maju",
        "buyer.address": "Jl. Thamrin 2",
        "totals.net": "1.480.000,00",
        "totals.tax": "162800",
        "totals.gross": "1642800",
        "totals.withholding": "0",
        "totals.paid": "0",
    }
    doubts = told(review)["review"]
    assert doubts == [path for path in given if path in doubts]
    for path in doubts:
        assert focused(review) == path
        review.keyboard.type(given[path])
        review.keyboard.press("Enter")
        expect(review.locator(f'[data-path="{path}"]')).to_contain_class("done")
    expect(review.locator("#count")).to_have_text("Nothing left to check")
    expect(review.locator("#approve")).to_be_focused()
    review.locator('[name="issue_date"]').focus()
    shown: list[str] = review.locator("#p-values input").evaluate_all(
        "all => all.map((each) => each.name)"
    )
    for path in shown[shown.index("issue_date") : shown.index("totals.paid") + 1]:
        assert focused(review) == path
        if path in given and path not in doubts:
            review.keyboard.press("Control+A")
            review.keyboard.type(given[path])
        review.keyboard.press("Tab")
    expect(review.locator('[data-path="totals.paid"]')).to_contain_class("edited")
    review.keyboard.press("Control+Enter")
    expect(review.locator("#status")).to_have_text("Approved")
    expect(review.locator("#next")).to_be_focused()
    data = told(review)["data"]
    assert data["issue_date"] == "2025-03-15"
    assert data["totals"]["net"] == "1480000.00"
    assert data["buyer"]["name"] == "CV Maju"
    xml = review.request.get(f"/api/jobs/{job_of(review)}/download").text()
    assert "<TaxInvoiceDate>2025-03-15</TaxInvoiceDate>" in xml
    assert "CV Maju<" in xml


def test_a_value_shows_its_box_and_a_box_its_value(review: Page) -> None:
    review.get_by_label("Total", exact=True).focus()
    marked = review.locator("rect.now")
    expect(marked).to_have_attribute("data-field", "f-totals-gross")
    expect(marked).to_be_in_viewport()
    review.locator('rect[data-field="f-buyer-name"]').click()
    assert focused(review) == "buyer.name"
    expect(review.locator("rect.now")).to_have_attribute("data-field", "f-buyer-name")


def test_a_word_clicked_on_the_page_is_taken_with_its_place(review: Page) -> None:
    words = review.request.get(f"/api/jobs/{job_of(review)}/pages/1.json").json()
    (box,) = [word[1:] for word in words["words"] if word[0] == WORD]
    sheet = review.locator(".sheet svg").first.bounding_box()
    assert sheet is not None
    scale = sheet["width"] / words["width"]
    x, y = (box[0] + box[2]) / 2 * scale, (box[1] + box[3]) / 2 * scale
    assert focused(review) == "invoice_number"
    review.locator(".sheet svg").first.click(position={"x": x, "y": y})
    expect(review.locator('[name="invoice_number"]')).to_have_value(WORD)
    expect(review.locator('rect[data-field="f-invoice_number"]')).to_be_visible()
    seen = told(review)["data"]["evidence"]["invoice_number"]
    assert (seen["page"], seen["box"]) == (1, box)


def test_arithmetic_and_xml_follow_while_typing_and_nothing_is_kept_yet(review: Page) -> None:
    review.get_by_label("Total", exact=True).fill("9999")
    why = review.locator('[data-path="totals.gross"] .why')
    expect(why).to_have_text("Net and tax do not add up to the total")
    review.get_by_label("Buyer name").fill("PT Lain Sekali")
    review.get_by_role("tab", name="XML").click()
    expect(review.locator("#xml")).to_contain_text("PT Lain Sekali")
    review.get_by_role("tab", name="Values").click()
    review.get_by_label("Invoice date").fill("soon")
    wrong = review.locator('[name="issue_date"]')
    expect(wrong).to_have_attribute("aria-invalid", "true")
    assert told(review)["data"]["issue_date"] == "2025-03-14"


def test_what_is_typed_while_another_value_is_saved_is_judged_all_the_same(review: Page) -> None:
    """A check that was under way when the save came back is older than it, and asked again."""
    saves, checks = list[Route](), list[Route]()
    review.route("**/edits", lambda route: saves.append(route))  # noqa: PLW0108  no builtin will do
    typed = "9999"
    review.route(
        "**/check",
        lambda route: checks.append(route) if typed in _sent(route) else route.continue_(),
    )
    review.get_by_label("Buyer name").fill("PT Lain Sekali")
    review.get_by_label("Total", exact=True).fill(typed)
    wait_for(lambda: review.wait_for_timeout(20) or (saves and checks))
    review.unroute("**/check")
    with review.expect_response("**/edits"):
        saves[0].continue_()
    checks[0].continue_()
    why = review.locator('[data-path="totals.gross"] .why')
    expect(why).to_have_text("Net and tax do not add up to the total")


def _sent(route: Route) -> str:
    return route.request.post_data or ""


def test_lines_are_added_and_taken_out(review: Page) -> None:
    review.get_by_role("button", name="Add a line").click()
    expect(review.locator(".line")).to_have_count(len(ITEMS) + 1)
    expect(review.locator(f'[name="lines[{len(ITEMS)}].description"]')).to_be_focused()
    review.keyboard.type("Ongkos kirim")
    review.locator(f'[name="lines[{len(ITEMS)}].amount"]').fill("20000")
    why = review.locator('[data-path="totals.net"] .why')
    expect(why).to_have_text("The lines do not add up to the net amount")
    review.get_by_role("button", name=f"Take out line {len(ITEMS) + 1}").click()
    expect(review.locator(".line")).to_have_count(len(ITEMS))
    assert told(review)["checks"]["lines_net"] == "held"
    assert [each["path"] for each in told(review)["history"]].count(f"lines[{len(ITEMS)}]") == 2


def test_the_second_of_two_people_is_told_and_loses_nothing(
    context: BrowserContext, watch: Any
) -> None:
    watch.forgive("409")
    job_id = an_invoice(context)
    first, second = opened(context, job_id), opened(context, job_id)
    first.get_by_label("Invoice number").fill("A-1")
    first.keyboard.press("Enter")
    expect(first.locator("#saved")).to_have_text("Saved")
    second.get_by_label("Invoice number").fill("B-2")
    second.keyboard.press("Enter")
    dialog = second.get_by_role("dialog")
    expect(dialog).to_contain_text("Somebody else changed this meanwhile")
    expect(dialog).to_contain_text("Invoice number: nothing → A-1")
    expect(dialog).to_contain_text("Yours, not saved yet: Invoice number: B-2")
    axe_everywhere(second)
    second.get_by_role("button", name="Keep mine").click()
    expect(second.locator("#saved")).to_have_text("Saved")
    assert told(second)["data"]["invoice_number"] == "B-2"
    first.get_by_role("button", name="Approve").click()
    first.get_by_role("button", name="Approve all the same").click()
    expect(first.get_by_role("dialog")).to_contain_text("A-1 → B-2")
    first.get_by_role("button", name="Take theirs").click()
    expect(first.get_by_label("Invoice number")).to_have_value("B-2")
    steps = [(each["before"], each["after"]) for each in told(first)["history"]]
    assert steps == [(None, "A-1"), ("A-1", "B-2")]


def test_a_rejection_asks_for_its_reason_and_leads_to_the_next(context: BrowserContext) -> None:
    an_invoice(context, "SJA-25-0001")
    page = opened(context, an_invoice(context, "SJA-25-0002"))
    page.get_by_role("button", name="Reject").click()
    page.get_by_label("Why?").fill("Not ours")
    page.get_by_role("dialog").get_by_role("button", name="Reject").click()
    expect(page.locator("#status")).to_have_text("Rejected")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("SJA-25-0001.pdf")


def test_what_was_learned_is_shown_and_can_be_forgotten(context: BrowserContext) -> None:
    page = opened(context, an_invoice(context))
    page.keyboard.type(WORD)
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Approve").click()
    page.get_by_role("button", name="Approve all the same").click()
    expect(page.locator("#told")).to_contain_text(
        "Learned for the next of this layout: invoice number"
    )
    other = converted(context, odd_invoice("SJA-25-1032", "PT Laut Biru"), "next.pdf")
    page = opened(context, other)
    expect(page.get_by_label("Invoice number", exact=True)).to_have_value("SJA-25-1032")
    learned = page.locator(".learned")
    expect(learned).to_contain_text(f"Learned from your correction of {WORD}.pdf")
    axe_everywhere(page)
    learned.get_by_role("button").click()
    expect(learned).to_have_count(0)
    assert page.request.get("/api/lessons").json()["lessons"] == []


def test_the_pages_are_in_order_for_everybody(review: Page) -> None:
    axe_everywhere(review)
    review.goto("/review")
    expect(review.get_by_role("link", name="PT Sinar Jaya Abadi")).to_be_visible()
    axe_everywhere(review)


def test_several_are_approved_at_once_from_the_inbox(context: BrowserContext) -> None:
    jobs = [an_invoice(context, number) for number in ("SJA-25-0001", "SJA-25-0002")]
    other = converted(context, odd_invoice("X-1", seller="CV Lain"), "other.pdf")
    page = context.new_page()
    page.goto("/review?supplier=sinar&least=1.000.000")
    rows = page.locator("tr[data-job]")
    expect(rows).to_have_count(2)
    expect(page.locator("#many")).to_be_hidden()
    page.get_by_label("Select all on this page").check()
    expect(page.get_by_text("2 selected")).to_be_visible()
    page.get_by_role("button", name="Approve").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("Approve 2 documents?")
    expect(dialog).to_contain_text("still to check")
    axe_everywhere(page)
    dialog.get_by_role("button", name="Approve").click()
    expect(page.get_by_text("No review matches")).to_be_visible()
    found = {
        job: page.request.get(f"/api/reviews/{job}").json()["status"] for job in [*jobs, other]
    }
    assert found == {jobs[0]: "approved", jobs[1]: "approved", other: "pending"}
