"""The page of one document, while its job runs and when that has ended."""

import re

from playwright.sync_api import Page, expect

from browser import people
from browser.eyes import Watch, axe_everywhere
from browser.people import expect_badge, row

EXPIRED = "File was removed by retention. Re-upload to regenerate"


def begin(page: Page, pipeline: str) -> None:
    page.goto("/queue")
    people.convert_with(page, pipeline)


def test_a_finished_job_shows_what_happened_and_what_came_out(page: Page) -> None:
    begin(page, "invoice")
    people.choose(page, people.invoice(1))
    expect_badge(page, "invoice 1.pdf", "Ready")
    people.open_job(page, "invoice 1.pdf")
    expect(page.get_by_role("heading", level=1)).to_have_text("PT Sinar Jaya")
    number = page.locator("dd", has_text="INV/2025/03/0017")
    number.focus()
    expect(page.locator(".sheet rect")).to_be_in_viewport()
    expect(page.get_by_role("region", name="Lines, 1")).to_contain_text("Kertas A4 no. 1")
    axe_everywhere(page)
    page.set_viewport_size({"width": 1280, "height": 720})
    page.get_by_text("How it was made").click()
    steps = page.locator(".line li")
    expect(steps.first).to_contain_text("Received and stored")
    expect(steps.last).to_contain_text(re.compile(r"Finished.* later", re.DOTALL))
    expect(page.get_by_role("region", name="Table of attempts")).to_contain_text("complete")
    page.get_by_text("XML Coretax e-Faktur (Indonesia)").click()
    expect(page.locator(".xml")).to_contain_text("<BuyerName>CV Maju Makmur</BuyerName>")
    page.get_by_text("Data JSON").click()
    expect(page.locator(".tree")).to_contain_text("INV/2025/03/0017")
    page.get_by_text("Raw events").click()
    expect(page.get_by_role("region", name="Raw events")).to_contain_text('"kind": "created"')
    axe_everywhere(page)
    with page.expect_download() as taken:
        page.get_by_role("link", name="Original").click()
    assert taken.value.path().read_bytes() == people.invoice(1)["buffer"]
    view = page.get_by_role("link", name="View PDF")
    assert view.get_attribute("target") == "_blank"
    opened = page.request.get(view.get_attribute("href") or "")
    assert opened.body() == people.invoice(1)["buffer"]
    assert opened.headers["content-disposition"].startswith("inline")
    assert opened.headers["content-type"] == "application/pdf"
    assert opened.headers["x-content-type-options"] == "nosniff"


def test_a_running_job_is_followed_to_its_end(page: Page, watch: Watch) -> None:
    # Words of pages that are still on their way when the job is deleted.
    watch.forgive(r"/pages/\d+\.json")
    begin(page, "extract")
    people.choose(page, people.long_one(80))  # long enough to be seen under way
    people.open_job(page, "A book.pdf")
    expect(page.locator("#job")).to_contain_text(re.compile(r"(?:page|passage) \d+ of \d+"))
    axe_everywhere(page)
    expect(page.locator("#badge")).to_have_text("Ready")
    expect(page.locator(".passage").first).to_be_visible()
    page.get_by_role("button", name="Delete").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    page.wait_for_url("**/queue")
    expect(page.get_by_text("No files yet")).to_be_visible()


def test_a_failed_job_says_what_to_do(page: Page) -> None:
    begin(page, "extract")
    people.choose(page, people.locked())
    expect_badge(page, "locked.pdf", "Failed")
    people.open_job(page, "locked.pdf")
    expect(page.locator(".note.bad").last).to_contain_text("save it again without a password")
    assert not re.search(r"Traceback|File \"|/tmp/", page.content())
    axe_everywhere(page)


def test_a_result_that_retention_removed(page: Page, site_database: str) -> None:
    begin(page, "invoice")
    people.choose(page, people.invoice(2))
    expect_badge(page, "invoice 2.pdf", "Ready")
    people.expire(page, "invoice 2.pdf", site_database)
    expect(row(page, "invoice 2.pdf")).to_contain_text(EXPIRED)
    expect(row(page, "invoice 2.pdf").get_by_role("link", name="Download")).to_have_count(0)
    people.open_job(page, "invoice 2.pdf")
    expect(page.locator("#job")).to_contain_text(EXPIRED)
    expect(page.locator(".line")).to_contain_text("Removed by retention")


def test_an_address_that_leads_nowhere_is_a_page(page: Page, watch: Watch) -> None:
    watch.forgive("404 ")
    answer = page.goto("/jobs/00000000-0000-4000-8000-000000000000")
    assert answer
    assert answer.status == 404
    expect(page.get_by_role("heading", name="There is no such job")).to_be_visible()
    axe_everywhere(page)
    page.get_by_role("link", name="Go to the queue").click()
    expect(page.get_by_text("No files yet")).to_be_visible()
