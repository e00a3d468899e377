"""The lines of a review as a grid: few keys, cells pasted, columns re-assigned."""

from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from browser.conftest import NewContext
from browser.eyes import axe_everywhere
from browser.papers import an_invoice, converted
from invoice_pdfs import HEAD, HEADINGS, row
from layouts import money
from pdfs import Text, make_pdf

MANY = 76
MOST_ACTIONS = 15
LETTERHEAD: list[Text] = [
    *HEAD,
    (40, 82, "NPWP : 01.234.567.8-901.000"),
    (40, 142, "NPWP : 02.345.678.9-012.000"),
]


@pytest.fixture
def context(new_context: NewContext) -> BrowserContext:
    return new_context(viewport={"width": 1280, "height": 800})


def open_desk(context: BrowserContext, job_id: str) -> Page:
    page = context.new_page()
    page.goto(f"/review/{job_id}")
    page.locator(".sheet.known").first.wait_for()
    return page


def read_review(page: Page) -> dict[str, Any]:
    return page.request.get(f"/api/reviews/{page.url.rpartition('/')[2]}").json()


def close_with_totals(texts: list[Text], y: float, net: int, more_tax: int = 0) -> list[Text]:
    tax = net * 11 // 100 + more_tax
    for label, amount in (("Subtotal", net), ("PPN 11%", tax), ("Total", net + tax)):
        y += 14
        texts += [(380, y, label), (480, y, money(amount))]
    return texts


def doubtful_invoice(count: int) -> bytes:
    """No line's price makes its amount, which is asked about twice; and the tax is not 11 %."""
    texts: list[Text] = [*LETTERHEAD, (40, 168, "Mata Uang : IDR"), *row(180, *HEADINGS)]
    y, net = 196.0, 0
    for number in range(1, count + 1):
        amount = number * 10_000 + 7_000
        texts += row(y, str(number), f"Barang {number}", "2", money(number * 5_000), money(amount))
        y, net = y + 14, net + amount
    return make_pdf([close_with_totals(texts, y, net, more_tax=5_000)])


def wrong_column_invoice(count: int = MANY, codes: str = "KX") -> bytes:
    """Many lines on two pages; what its heading calls the unit is an article's code."""
    columns = (40.0, 70.0, 250.0, 320.0, 380.0, 480.0)
    headings = ("No", "Nama Barang", "Satuan", "Qty", "Harga Satuan", "Jumlah")
    pages: list[list[Text]] = []
    texts: list[Text] = [*LETTERHEAD, *zip(columns, [180.0] * 6, headings, strict=True)]
    y, net = 196.0, 0
    for number in range(1, count + 1):
        price = 1_000 * number
        cells = (str(number), f"Barang {number}", f"{codes}-{1000 + number}", "2", money(price))
        line = (*cells, money(2 * price))
        texts += [(x, y, cell) for x, cell in zip(columns, line, strict=True)]
        y, net = y + 13, net + 2 * price
        if y > 780:
            pages.append(texts)
            texts, y = [(x, 40.0, cell) for x, cell in zip(columns, headings, strict=True)], 56.0
    return make_pdf([*pages, close_with_totals(texts, y, net)])


def test_nine_doubts_are_looked_at_and_approved_in_eleven_keys(context: BrowserContext) -> None:
    an_invoice(context)
    page = open_desk(context, converted(context, doubtful_invoice(4), "nine.pdf"))
    assert len(read_review(page)["review"]) == 9
    expect(page.locator("#count")).to_have_text("9 to check")
    for _ in range(9):
        page.keyboard.press("Enter")
    expect(page.locator("#approve")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#status")).to_have_text("Approved")
    expect(page.locator("#download")).to_be_visible()
    expect(page.locator("#next")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("SJA-25-0417.pdf")


def test_a_wrong_column_of_many_lines_is_mended_at_once(context: BrowserContext) -> None:
    page = open_desk(context, converted(context, wrong_column_invoice(), "many.pdf"))
    lines = read_review(page)["data"]["lines"]
    assert len(lines) == MANY
    assert {line["unit"] for line in lines} == {f"KX-{1001 + n}" for n in range(MANY)}
    actions = 0
    page.get_by_role("tab", name="Lines").click()
    actions += 1
    page.locator('select[data-column="unit"]').select_option("code")
    actions += 1
    expect(page.locator("#told")).to_contain_text(f"is code now, in {MANY} lines")
    lines = read_review(page)["data"]["lines"]
    assert [line["code"] for line in lines] == [f"KX-{1001 + n}" for n in range(MANY)]
    assert {line["unit"] for line in lines} == {None}
    expect(page.locator('input[name="lines[0].code"]')).to_have_value("KX-1001")
    assert page.locator("th.c-unit").is_hidden()
    page.keyboard.press("Control+Enter")
    actions += 1
    if page.locator("#asking").is_visible():
        page.get_by_role("button", name="Approve all the same").click()
        actions += 1
    expect(page.locator("#status")).to_have_text("Approved")
    assert actions < MOST_ACTIONS


def test_a_column_that_was_re_assigned_is_read_so_in_the_next_document(
    context: BrowserContext,
) -> None:
    page = open_desk(context, converted(context, wrong_column_invoice(), "first.pdf"))
    page.get_by_role("tab", name="Lines").click()
    page.locator('select[data-column="unit"]').select_option("code")
    expect(page.locator("#told")).to_contain_text("is code now")
    page.keyboard.press("Control+Enter")
    expect(page.locator("#status, #asking[open]").last).to_be_visible()
    if page.locator("#asking").is_visible():
        page.get_by_role("button", name="Approve all the same").click()
    expect(page.locator("#told")).to_contain_text(
        "Learned for the next of this layout: code column"
    )
    second = converted(context, wrong_column_invoice(31, codes="BT"), "second.pdf")
    page = open_desk(context, second)
    lines = read_review(page)["data"]["lines"]
    assert [line["code"] for line in lines] == [f"BT-{1001 + n}" for n in range(31)]
    assert {line["unit"] for line in lines} == {None}
    page.get_by_role("tab", name="Lines").click()
    expect(page.locator("#p-lines .learned")).to_contain_text(
        "Code column: learned from your correction of first.pdf"
    )
    axe_everywhere(page)
    page.get_by_role("button", name="Forget what was learned about the column Code").click()
    expect(page.locator("#p-lines .learned")).to_have_count(0)
    third = converted(context, wrong_column_invoice(5, codes="ZZ"), "third.pdf")
    lines = read_review(open_desk(context, third))["data"]["lines"]
    assert [line["unit"] for line in lines] == [f"ZZ-{1001 + n}" for n in range(5)]


def test_many_lines_stand_in_two_screens(context: BrowserContext) -> None:
    page = open_desk(context, converted(context, wrong_column_invoice(), "many.pdf"))
    page.get_by_role("tab", name="Lines").click()
    rows = page.locator("tr.line")
    expect(rows).to_have_count(MANY)
    first, last = rows.first.bounding_box(), rows.last.bounding_box()
    pane = page.locator("#p-lines").bounding_box()
    assert first
    assert last
    assert pane
    assert last["y"] + last["height"] - first["y"] <= 2 * (pane["y"] + pane["height"] - first["y"])


PASTE = """
([name, text]) => {
  const data = new DataTransfer();
  data.setData("text/plain", text);
  const pasted = { clipboardData: data, bubbles: true, cancelable: true };
  const target = document.querySelector(`input[name="${name}"]`);
  target.dispatchEvent(new ClipboardEvent("paste", pasted));
}
"""


def test_cells_are_pasted_from_a_spreadsheet(context: BrowserContext) -> None:
    page = open_desk(context, an_invoice(context))
    cells = "Pensil\t20\t2.500,00\t50.000,00\r\nBuku\t5\t12,000.00\t60,000.00\r\n"
    page.evaluate(PASTE, ["lines[2].description", cells])
    expect(page.locator("tr.line")).to_have_count(4)
    expect(page.locator("#told")).to_contain_text("2 lines pasted")
    lines = read_review(page)["data"]["lines"]
    said = [
        (one["description"], one["quantity"], one["unit_price"], one["amount"]) for one in lines
    ]
    assert said[2:] == [
        ("Pensil", "20", "2500.00", "50000.00"),
        ("Buku", "5", "12000.00", "60000.00"),
    ]
    expect(page.locator('[name="lines[3].amount"]')).to_have_value("60.000,00")
    expect(page.locator("#sum")).to_contain_text("1.090.000,00")
    expect(page.locator("#sum")).to_have_attribute("data-state", "broken")


def test_arrows_and_enter_go_through_the_cells_and_a_line_goes_by_keyboard(
    context: BrowserContext,
) -> None:
    page = open_desk(context, an_invoice(context))

    def focus() -> str:
        return page.evaluate("document.activeElement.name")

    page.locator('[name="lines[0].quantity"]').focus()
    for key, cell in (
        ("ArrowDown", "lines[1].quantity"),
        ("Enter", "lines[2].quantity"),
        ("ArrowUp", "lines[1].quantity"),
        ("ArrowRight", "lines[1].unit_price"),
        ("ArrowLeft", "lines[1].quantity"),
        ("Tab", "lines[1].unit_price"),
    ):
        page.keyboard.press(key)
        assert focus() == cell
    page.keyboard.press("Control+Delete")
    expect(page.locator("tr.line")).to_have_count(2)
    assert focus() == "lines[1].unit_price"
    assert len(read_review(page)["data"]["lines"]) == 2


def test_an_empty_value_is_not_checked_by_enter_and_approving_asks(context: BrowserContext) -> None:
    page = open_desk(context, an_invoice(context))
    count = len(read_review(page)["review"])
    page.keyboard.press("Enter")
    expect(page.locator("#count")).to_have_text(f"{count} to check")
    page.keyboard.press("Control+Enter")
    asking = page.locator("#asking")
    expect(asking).to_contain_text("Invoice number: Not found on the page")
    axe_everywhere(page)
    page.get_by_role("button", name="Check them").click()
    assert page.evaluate("document.activeElement.name") == "invoice_number"
    assert read_review(page)["status"] == "pending"


def test_the_grid_is_in_order_for_everybody(context: BrowserContext) -> None:
    page = open_desk(context, converted(context, wrong_column_invoice(), "many.pdf"))
    for tab in ("Lines", "XML", "History"):
        page.get_by_role("tab", name=tab).click()
        axe_everywhere(page)


def test_what_was_checked_stays_checked_until_it_is_edited(
    context: BrowserContext, new_context: NewContext
) -> None:
    job_id = converted(context, doubtful_invoice(4), "nine.pdf")
    page = open_desk(context, job_id)
    expect(page.locator("#count")).to_have_text("9 to check")
    first = page.evaluate("document.activeElement.name")
    page.keyboard.press("Enter")
    second = page.evaluate("document.activeElement.name")
    page.keyboard.press("Enter")
    expect(page.locator("#count")).to_have_text("7 to check")
    expect(page.locator(f'[data-path="{first}"].done')).to_have_count(1)
    page.wait_for_function("() => Number(document.querySelector('#values').dataset.revision) === 2")
    assert [each["path"] for each in read_review(page)["history"]] == [first, second]
    cookies: Any = context.cookies()
    elsewhere = new_context(viewport={"width": 1280, "height": 800})
    elsewhere.add_cookies(cookies)
    other = open_desk(elsewhere, job_id)
    expect(other.locator("#count")).to_have_text("7 to check")
    expect(other.locator(f'[data-path="{first}"].done')).to_have_count(1)
    other.locator(f'input[name="{first}"]').fill("1")
    expect(other.locator(f'[data-path="{first}"].done')).to_have_count(0)
    other.keyboard.press("Tab")
    expect(other.locator("#saved")).to_have_text("Saved")
    evidence = read_review(other)["data"]["evidence"]
    assert "checked" not in evidence[first]
    assert evidence[second]["checked"]
