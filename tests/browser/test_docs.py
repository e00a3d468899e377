"""The API page: found, tried, and readable in every look."""

import re

from playwright.sync_api import Page, expect

from browser.eyes import Watch, axe, axe_everywhere
from browser.people import invoice

# Two hundred sections are drawn by the same lines: all of them are looked at once, and in every
# look one of each kind.
KINDS = "#post--api-upload, #get--api-jobs--job-id, #patch--api-settings, [id^=schema-JobA]"


def leave_one_of_each_kind(page: Page) -> None:
    page.evaluate(
        """kinds => document.querySelectorAll("section.route, [data-route]").forEach(each => {
            const section = each.dataset.route ? each.querySelector("a").hash : "#" + each.id;
            if (!document.querySelector(section)?.matches(kinds)) each.remove();
        })""",
        KINDS,
    )


def test_the_page_is_in_order_and_nothing_scrolls_sideways(page: Page) -> None:
    page.goto("/docs")
    assert page.get_by_role("heading", level=1).is_visible()
    axe(page)
    page.set_viewport_size({"width": 320, "height": 700})
    assert page.evaluate("document.documentElement.scrollWidth") <= 320
    leave_one_of_each_kind(page)
    axe_everywhere(page)


def test_a_route_is_found_by_its_words(page: Page) -> None:
    page.goto("/docs")
    page.get_by_label("Find a route").fill("read-as")
    found = page.get_by_role("navigation", name="API").locator("[data-route]:visible")
    expect(found).to_have_count(1)
    found.get_by_role("link").press("Enter")
    expect(page).to_have_url(re.compile("#post--api-jobs--job-id--read-as$"))


def test_routes_are_tried_with_files_parameters_and_json(page: Page) -> None:
    page.goto("/docs")
    upload = page.locator("#post--api-upload")
    upload.get_by_text("Try it").press("Enter")
    upload.get_by_label("file", exact=True).set_input_files([invoice(1)])
    upload.get_by_label("pipeline", exact=True).fill("extract")
    upload.get_by_role("button", name="Send").click()
    expect(upload.get_by_role("status")).to_contain_text("200 OK · POST /api/upload")
    expect(upload.get_by_role("status")).to_contain_text('"pipeline": "extract"')

    listed = page.locator("#get--api-jobs")
    listed.get_by_text("Try it").click()
    listed.get_by_label("limit", exact=True).fill("1")
    listed.get_by_role("button", name="Send").click()
    expect(listed.get_by_role("status")).to_contain_text("GET /api/jobs?limit=1")
    expect(listed.get_by_role("status")).to_contain_text('"invoice 1.pdf"')

    changed = page.locator("#patch--api-settings")
    changed.get_by_text("Try it").click()
    changed.get_by_label("Body (JSON)").fill('{"country": "ID"}')
    changed.get_by_role("button", name="Send").click()
    expect(changed.get_by_role("status")).to_contain_text('"country": "ID"')


def test_a_refusal_is_shown_as_it_is(page: Page, watch: Watch) -> None:
    watch.forgive("404")
    page.goto("/docs")
    one = page.locator("#get--api-jobs--job-id")
    one.get_by_text("Try it").click()
    one.get_by_label("job_id (needed)").fill("00000000-0000-4000-8000-000000000000")
    one.get_by_role("button", name="Send").click()
    expect(one.get_by_role("status")).to_contain_text("JOB_NOT_FOUND")
    leave_one_of_each_kind(page)
    expect(one.get_by_role("status")).to_be_visible()
    axe_everywhere(page)
