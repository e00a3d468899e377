"""The browser tests can see what they look for."""

import pytest
from playwright.sync_api import Page, expect

from browser.eyes import COLOUR_RULES, Watch, axe


def test_what_must_not_happen_is_noticed(page: Page, watch: Watch) -> None:
    """The negative control."""
    page.goto("/search")
    page.evaluate("document.body.append(document.createElement('img'))")
    with pytest.raises(AssertionError, match="image-alt"):
        axe(page)
    page.evaluate("document.querySelector('h1').style = 'color: #eee; background: #fff'")
    with pytest.raises(AssertionError, match="color-contrast"):
        axe(page, COLOUR_RULES)
    page.evaluate("console.error('oh no')")
    page.evaluate("setTimeout(() => { throw new Error('worse') })")
    page.evaluate("document.querySelector('img').src = 'http://127.0.0.1:9/'")
    expect(page.locator("img")).to_have_js_property("complete", True)
    with pytest.raises(AssertionError):
        watch.check()
    assert any("oh no" in line for line in watch.console)
    assert any("worse" in line for line in watch.errors)
    watch.forgive("oh no", "Content Security Policy")
    watch.errors.clear()
    watch.strangers.clear()
