"""A page that stays right: reloads, restarts of the server, streams that are cut."""

import re
from typing import Any

from playwright.sync_api import Page, Request, expect

from browser import people
from browser.conftest import Grounds, NewContext
from browser.eyes import Watch
from browser.people import expect_badge, row

OFFLINE = r"ERR_(CONNECTION|EMPTY|INCOMPLETE|SOCKET|FAILED|NETWORK|ABORTED)"

# It is stopped and started here, so it is nobody else's.
SETTINGS: dict[str, str] = {}


class Line:
    """The way from a page to the server."""

    def __init__(self, page: Page) -> None:
        self._session: Any = page.context.new_cdp_session(page)
        self._session.send("Network.enable")

    def carry(self, *, bytes_a_second: int) -> None:
        """-1 is as fast as it goes."""
        conditions = {"offline": False, "latency": 0, "downloadThroughput": -1}
        conditions["uploadThroughput"] = bytes_a_second
        self._session.send("Network.emulateNetworkConditions", conditions)


def test_a_reload_in_mid_upload_loses_no_file(page: Page, watch: Watch) -> None:
    watch.forgive(OFFLINE)
    page.goto("/queue")
    people.convert_with(page, "extract")
    line = Line(page)
    line.carry(bytes_a_second=50_000)
    people.choose(page, *(people.heavy(f"Part {number}") for number in range(4)))
    expect(page.locator("#sending progress").first).not_to_have_js_property("value", 0)
    expect(page.locator("#sending li", has_text="waiting")).to_have_count(1)
    page.reload()
    expect(page.locator("#sending li")).to_have_count(4)
    line.carry(bytes_a_second=-1)
    for number in range(4):
        expect_badge(page, f"Part {number}.pdf", "Ready")
    expect(page.locator("#sending li")).to_have_count(0)
    expect(page.locator("#jobs tr")).to_have_count(4)
    page.reload()
    expect(page.locator("#jobs tr")).to_have_count(4)
    expect(page.locator("#sending li")).to_have_count(0)


def test_an_upload_is_cancelled(page: Page, watch: Watch) -> None:
    watch.forgive(OFFLINE)
    page.goto("/queue")
    Line(page).carry(bytes_a_second=50_000)
    people.choose(page, people.heavy("Never"))
    expect(page.locator("#sending progress")).not_to_have_js_property("value", 0)
    page.get_by_role("button", name="Cancel Never.pdf").click()
    expect(page.locator("#sending li")).to_have_count(0)
    page.reload()
    expect(page.locator("#sending li")).to_have_count(0)
    expect(page.locator("#jobs tr")).to_have_count(0)


def test_the_server_is_restarted_while_the_page_is_open(
    page: Page, grounds: Grounds, watch: Watch
) -> None:
    watch.forgive(OFFLINE)
    page.goto("/queue")
    people.convert_with(page, "extract")
    people.choose(page, people.invoice(1))
    expect_badge(page, "invoice 1.pdf", "Ready")
    grounds.stop()
    expect(page.get_by_text("The connection is lost")).to_be_visible()
    people.choose(page, people.invoice(2))
    expect(page.locator("#sending li")).to_contain_text("Trying again")
    grounds.start()
    expect(page.get_by_text("The connection is lost")).to_be_hidden()
    expect_badge(page, "invoice 2.pdf", "Ready")
    expect(page.locator("#jobs tr")).to_have_count(2)


def test_where_the_stream_is_cut_the_page_asks_and_then_stops(
    page: Page, grounds: Grounds, watch: Watch
) -> None:
    watch.forgive(OFFLINE)
    asked: list[str] = []

    def note(request: Request) -> None:
        if "/queue/" in request.url:
            asked.append(request.url.removeprefix(grounds.url))

    page.on("request", note)
    page.route("**/queue/events?*", lambda route: route.abort())
    page.clock.install()
    page.goto("/queue")
    people.convert_with(page, "extract")
    people.choose(page, people.long_one(4))
    expect_badge(page, "A book.pdf", "Ready")
    assert any(address.startswith("/queue/changes") for address in asked)
    page.clock.fast_forward("01:00")  # the last attempts that were already planned
    settled = -1
    while settled != len(asked):
        settled = len(asked)
        page.clock.fast_forward("01:00")
        page.evaluate("fetch('/api/healthz').then((answer) => answer.text())")
        assert len(asked) < 100
    # It was not asleep: another file wakes it.
    people.choose(page, people.invoice(1))
    expect_badge(page, "invoice 1.pdf", "Ready")
    assert len(asked) > settled


def test_a_stream_that_is_refused_for_a_while_comes_back(new_context: NewContext) -> None:
    context = new_context()
    page, other = context.new_page(), context.new_page()
    page.route("**/queue/events?*", lambda route: route.fulfill(status=204, body=""))
    page.goto("/queue")
    people.convert_with(page, "extract")
    people.choose(page, people.invoice(1))
    expect_badge(page, "invoice 1.pdf", "Ready")
    page.unroute("**/queue/events?*")
    other.goto("/queue")
    people.choose(page, people.invoice(2))
    expect_badge(page, "invoice 2.pdf", "Ready")
    row(other, "invoice 1.pdf").get_by_role("button", name="Delete").click()
    other.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(page.locator("#jobs tr")).to_have_count(1)
    assert re.search("Queue", page.title())
