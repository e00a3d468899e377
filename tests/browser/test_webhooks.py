"""Webhooks with the keyboard, and how the page tells of one that is off."""

from collections.abc import Mapping

import psycopg
from playwright.sync_api import Page, expect

from browser.conftest import Grounds
from browser.eyes import Watch, axe_everywhere

SETTINGS: Mapping[str, str] = {"DOCMILL_WEBHOOK_ALLOW": "127.0.0.0/8"}
NOWHERE = "http://127.0.0.1:9/hook"
TELL = """
SELECT webhooks_tell(source, 'job.complete', '{"job_id": "0b0e7c5e-6f0a-4d53-9e0e-3c6d5b9a1f11"}')
  FROM webhooks
"""
TURN_OFF = "UPDATE webhooks SET disabled_at = now(), disabled_because = 'failing'"


def test_a_webhook_is_added_with_the_keyboard_and_one_that_is_off_is_told_of(
    page: Page, watch: Watch, grounds: Grounds
) -> None:
    watch.forgive("400")
    page.goto("/webhooks")
    axe_everywhere(page)
    page.get_by_label("Address").fill("http://10.0.0.1/hook")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("DOCMILL_WEBHOOK_ALLOW")
    expect(page.get_by_label("Address")).to_have_value("http://10.0.0.1/hook")
    axe_everywhere(page)

    page.get_by_label("Address").fill(NOWHERE)
    page.keyboard.press("Enter")
    expect(page.get_by_role("status")).to_contain_text("whsec_")
    axe_everywhere(page)
    with psycopg.connect(grounds.database) as conn:
        conn.execute(TELL)
    page.get_by_role("link", name=NOWHERE).click()
    tries = page.locator("summary")
    while not tries.count():
        page.reload()
    tries.click()
    expect(page.get_by_text("the connection failed")).to_be_visible()
    axe_everywhere(page)

    with psycopg.connect(grounds.database) as conn:
        conn.execute(TURN_OFF)
    page.goto("/webhooks")
    expect(page.get_by_role("alert")).to_contain_text("nothing got through for three days")
    axe_everywhere(page)
    page.get_by_role("link", name=NOWHERE).first.click()
    page.get_by_role("button", name="Turn on").click()
    expect(page.get_by_role("status")).to_contain_text("to be delivered again")
    page.get_by_role("button", name="Delete").click()
    expect(page.get_by_text("No webhook yet.")).to_be_visible()
