"""The browser tests can see what they look for."""

import pytest
from playwright.sync_api import Page

from browser.eyes import Watch, axe, axe_everywhere


def test_the_docs_page_is_in_order(page: Page) -> None:
    page.goto("/docs")
    assert page.get_by_role("heading", level=1).is_visible()
    axe_everywhere(page)


def test_what_must_not_happen_is_noticed(page: Page, watch: Watch) -> None:
    """The negative control."""
    page.goto("/docs")
    page.evaluate("document.body.append(document.createElement('img'))")
    with pytest.raises(AssertionError, match="image-alt"):
        axe(page)
    page.evaluate("console.error('oh no')")
    page.evaluate("setTimeout(() => { throw new Error('worse') })")
    page.evaluate("document.querySelector('img').src = 'http://127.0.0.1:9/'")
    page.wait_for_function("document.querySelector('img').complete")
    with pytest.raises(AssertionError):
        watch.check()
    assert any("oh no" in line for line in watch.console)
    assert any("worse" in line for line in watch.errors)
    watch.forgive("oh no", "Content Security Policy")
    watch.errors.clear()
    watch.strangers.clear()
