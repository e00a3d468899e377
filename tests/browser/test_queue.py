"""The queue page as people use it: with the mouse, with the keyboard, with many files."""

import re

from playwright.sync_api import Download, Page, expect

from browser import people
from browser.conftest import NewContext
from browser.eyes import Watch, axe, axe_everywhere
from browser.people import expect_badge, row
from terminal import wait_for

EMPTY = "No files yet. Drop PDFs here to convert"


def begin(page: Page, pipeline: str = "invoice") -> None:
    page.goto("/queue")
    people.convert_with(page, pipeline)


def text_of(download: Download) -> str:
    return download.path().read_text("utf-8")


def test_an_empty_queue_invites(page: Page) -> None:
    page.goto("/")
    expect(page.get_by_text(EMPTY)).to_be_visible()
    axe_everywhere(page)


def test_five_files_dropped_anywhere_become_ready(page: Page) -> None:
    begin(page)
    people.drop(page, *(people.invoice(number) for number in range(5)))
    for number in range(5):
        expect_badge(page, f"invoice {number}.pdf", "Ready")
    expect(page.get_by_text(EMPTY)).to_be_hidden()
    expect(page.locator("#sending li")).to_have_count(0)
    with page.expect_download() as taken:
        row(page, "invoice 3.pdf").get_by_role("link", name="Download").click()
    assert taken.value.suggested_filename == "invoice 3.xml"
    assert "<BuyerName>CV Maju Makmur</BuyerName>" in text_of(taken.value)
    axe_everywhere(page)


def test_five_files_by_keyboard_alone(page: Page) -> None:
    # Asked for only when the key is pressed, the chooser may open before the browser is told.
    page.on("filechooser", lambda _: None)
    begin(page)
    tab_to(page, "files")
    with page.expect_file_chooser() as chooser:
        page.keyboard.press("Enter")
    chooser.value.set_files([people.invoice(number) for number in range(5, 10)])
    for number in range(5, 10):
        expect_badge(page, f"invoice {number}.pdf", "Ready")
    tab_to(page, "Download the result of invoice 7.pdf")
    with page.expect_download() as taken:
        page.keyboard.press("Enter")
    assert taken.value.suggested_filename == "invoice 7.xml"


FOCUSED = """
() => { const it = document.activeElement;
        return `${it.id} ${it.getAttribute('aria-label')} ${it.dataset.many ?? ''}`; }
"""


def tab_to(page: Page, what: str) -> None:
    """As often as it takes, but no longer than once around."""
    for _ in range(100):
        page.keyboard.press("Tab")
        if what in page.evaluate(FOCUSED):
            return
    raise AssertionError(f"no way to {what} with the Tab key")


def test_a_file_pasted_is_uploaded(page: Page) -> None:
    begin(page)
    pasted = people.transfer(page, [people.invoice(11)])
    page.evaluate(
        "(files) => document.dispatchEvent(new ClipboardEvent('paste', { clipboardData: files }))",
        pasted,
    )
    expect_badge(page, "invoice 11.pdf", "Ready")


def test_a_failing_file_says_why_in_one_sentence(page: Page, watch: Watch) -> None:
    watch.forgive("400 ")
    begin(page)
    people.drop(page, people.locked(), people.a_file("notes.pdf", b"not a pdf at all"))
    expect(row(page, "locked.pdf")).to_contain_text("It is locked with a password.")
    refused = page.locator("#sending li", has_text="notes.pdf")
    expect(refused).to_contain_text("Only PDF files are supported")
    assert not re.search(r"Traceback|File \"|/tmp/|Error:", page.content())
    axe_everywhere(page)
    refused.get_by_role("button", name="Dismiss").click()
    expect(refused).to_have_count(0)
    expect_badge(page, "locked.pdf", "Failed")
    # Another try would go the same way.
    expect(row(page, "locked.pdf").get_by_role("button", name="Retry")).to_have_count(0)
    people.open_job(page, "locked.pdf")
    expect(page.locator(".note.bad").last).to_contain_text("save it again without a password")


def test_a_file_that_is_too_large_is_not_sent(page: Page) -> None:
    begin(page)
    page.evaluate("document.querySelector('#drop').dataset.max = '10'")
    people.choose(page, people.invoice(12))
    expect(page.locator("#sending")).to_contain_text("File exceeds 50 MB limit")
    assert page.evaluate("fetch('/api/jobs').then((a) => a.json()).then((l) => l.jobs)") == []


def test_filters_are_in_the_address(page: Page) -> None:
    begin(page)
    people.choose(page, people.invoice(1), people.invoice(2), people.locked())
    for name in ("invoice 1.pdf", "invoice 2.pdf"):
        expect_badge(page, name, "Ready")
    expect_badge(page, "locked.pdf", "Failed")
    page.get_by_role("link", name=re.compile(r"^Failed \d+$")).click()
    expect(page).to_have_url(re.compile(r"/queue\?status=failed$"))
    expect(page.locator("#jobs tr")).to_have_count(1)
    expect(page.get_by_role("link", name="Failed 1", exact=True)).to_be_focused()
    expect(page.get_by_role("link", name="Ready 2", exact=True)).to_be_visible()
    page.get_by_role("link", name=re.compile(r"^All \d+$")).click()
    page.get_by_label("Part of a file's name").fill("VOICE 2")
    expect(page.locator("#jobs tr")).to_have_count(1)
    expect(page).to_have_url(re.compile("q=VOICE"))
    page.reload()
    expect(row(page, "invoice 2.pdf")).to_be_visible()
    expect(page.locator("#jobs tr")).to_have_count(1)
    # A file that comes while others are filtered out is heard of, and not shown.
    people.choose(page, people.invoice(3))
    expect(page.locator("#sending li")).to_have_count(0)
    page.get_by_label("Pipeline").select_option("extract")
    expect(page.get_by_text("No files match")).to_be_visible()
    axe_everywhere(page)
    page.get_by_role("link", name="Show all files").click()
    expect(page.locator("#jobs tr")).to_have_count(4)
    page.go_back()
    expect(page.get_by_text("No files match")).to_be_visible()


def test_a_job_that_no_longer_fits_the_filter_leaves_the_list(page: Page) -> None:
    page.goto("/queue?status=uploaded,queued,processing")
    people.convert_with(page, "extract")
    people.choose(page, people.long_one(4))
    expect(row(page, "A book.pdf")).to_be_visible()
    expect(page.locator("#jobs tr")).to_have_count(0)
    page.get_by_role("link", name=re.compile(r"^Ready \d+$")).click()
    expect_badge(page, "A book.pdf", "Ready")


def test_what_is_deleted_in_one_tab_is_gone_in_the_other(new_context: NewContext) -> None:
    context = new_context()
    one, other = context.new_page(), context.new_page()
    begin(one)
    other.goto("/queue")
    people.choose(one, *(people.invoice(number) for number in range(3)))
    for number in range(3):
        expect_badge(other, f"invoice {number}.pdf", "Ready")
        expect_badge(one, f"invoice {number}.pdf", "Ready")
    one.get_by_label("Select all on this page").check()
    one.get_by_label("Select invoice 1.pdf").uncheck()
    expect(one.get_by_text("2 selected")).to_be_visible()
    one.get_by_role("group").get_by_role("button", name="Delete").click()
    expect(one.get_by_role("dialog")).to_contain_text("Delete 2 files?")
    axe(one)
    one.get_by_role("dialog").get_by_role("button", name="Delete").click()
    for page in (one, other):
        expect(page.locator("#jobs tr")).to_have_count(1)
        expect(row(page, "invoice 1.pdf")).to_be_visible()


def test_keeping_a_file_after_all_puts_the_focus_back(page: Page) -> None:
    begin(page)
    people.choose(page, people.invoice(1))
    expect_badge(page, "invoice 1.pdf", "Ready")
    button = row(page, "invoice 1.pdf").get_by_role("button", name="Delete")
    button.press("Enter")
    page.get_by_role("button", name="Keep").press("Enter")
    expect(button).to_be_focused()
    expect(row(page, "invoice 1.pdf")).to_be_visible()


def test_selected_invoices_are_exported_as_one_file(page: Page) -> None:
    begin(page)
    people.choose(page, people.invoice(1), people.invoice(2))
    for name in ("invoice 1.pdf", "invoice 2.pdf"):
        expect_badge(page, name, "Ready")
    page.get_by_label("Select all on this page").check()
    expect(page.get_by_role("group").get_by_role("button", name="Retry")).to_be_disabled()
    with page.expect_download() as taken:
        page.get_by_role("button", name="Export").click()
    assert taken.value.suggested_filename == f"{people.INVOICE}-2.xml"
    assert text_of(taken.value).count("<TaxInvoice>") == 2


def test_a_running_job_is_cancelled_and_the_choice_is_remembered(page: Page) -> None:
    begin(page, "extract")
    people.choose(page, people.long_one(900))
    expect(row(page, "A book.pdf")).to_contain_text(re.compile(r"page \d+ of 900"))
    expect(page).to_have_title(re.compile(r"^\(1\) Queue"))
    row(page, "A book.pdf").get_by_role("button", name="Cancel").click()
    expect_badge(page, "A book.pdf", "Cancelled")
    people.convert_with(page, "invoice")
    page.get_by_label("Write as").select_option("ubl_invoice_v1")
    page.reload()
    expect(page.get_by_label("Convert with")).to_have_value("invoice")
    expect(page.get_by_label("Write as")).to_have_value("ubl_invoice_v1")


OBSERVE = """
() => { window.shifts = [];
        new PerformanceObserver((list) => window.shifts.push(...list.getEntries()))
            .observe({ type: 'layout-shift' }); }
"""


def test_nothing_moves_while_rows_change(page: Page) -> None:
    begin(page, "extract")
    people.choose(page, people.long_one(4, "One"), people.long_one(5, "Two"), people.locked())
    for name in ("One.pdf", "Two.pdf", "locked.pdf"):
        expect(row(page, name)).to_be_visible()
    expect(page.locator("#sending li")).to_have_count(0)
    page.evaluate(OBSERVE)
    for name, label in (("One.pdf", "Ready"), ("Two.pdf", "Ready"), ("locked.pdf", "Failed")):
        expect_badge(page, name, label)
    assert page.evaluate("window.shifts.length") == 0
    # The negative control.
    page.evaluate("document.querySelector('#list').before('something else')")
    wait_for(lambda: page.evaluate("window.shifts.length"))


def test_many_changes_are_announced_in_one_sentence(page: Page) -> None:
    page.goto("/queue")
    page.evaluate("""async () => {
        const { announce } = await import('/static/messages.js');
        for (const name of ['a.pdf', 'b.pdf', 'c.pdf']) announce(name, 'Ready');
        announce('d.pdf', 'Failed');
    }""")
    said = page.get_by_role("status")
    expect(said).to_have_text("3 files: Ready. d.pdf: Failed")
    expect(said).to_have_attribute("aria-live", "polite")


def test_rows_show_what_was_read_and_twelve_stand_on_a_screen(new_context: NewContext) -> None:
    page = new_context(viewport={"width": 1280, "height": 800}).new_page()
    begin(page)
    people.choose(page, *(people.invoice(number) for number in range(12)))
    for number in range(12):
        expect_badge(page, f"invoice {number}.pdf", "Ready")
    one = row(page, "invoice 3.pdf")
    for text in ("PT Sinar Jaya", "INV/2025/03/0017", "2025-03-14", "103.000", "to check"):
        expect(one).to_contain_text(text)
    expect(one.locator(".thumb img")).to_have_js_property("complete", value=True)
    expect(page.locator("#chips a").first).to_have_text("All 12")
    expect(page.get_by_role("group", name="With the selected files")).to_be_hidden()
    last = page.locator("#jobs tr").last.bounding_box()
    assert last
    assert last["y"] + last["height"] <= 800
    page.get_by_label("Order").select_option("amount")
    page.wait_for_url("**sort=amount**")
    first = page.locator("#jobs tr .total").first
    expect(first).to_contain_text("111.000")
    first.click(position={"x": 20, "y": 20}, force=True)  # anywhere on the row: its link covers it
    page.wait_for_url("**/jobs/*")
    expect(page.get_by_role("heading", level=1)).to_have_text("PT Sinar Jaya")
