"""Signing in with a real browser at a provider of its own, and out again."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import FilePayload, Page, expect

from browser.conftest import Grounds, database, running_grounds
from browser.eyes import Watch, axe_everywhere
from oidc_double import CLIENT_ID, CLIENT_SECRET, Provider, provider
from sites import PDF_FILE


@pytest.fixture(scope="module")
def issuer() -> Iterator[Provider]:
    with provider() as known:
        yield known


@pytest.fixture(scope="module")
def grounds(server_url: str, template: str, issuer: Provider) -> Iterator[Grounds]:
    settings = {
        "AUTH_MODE": "both",
        "DOCMILL_OIDC_ISSUER": issuer.url,
        "DOCMILL_OIDC_CLIENT_ID": CLIENT_ID,
        "DOCMILL_OIDC_CLIENT_SECRET": CLIENT_SECRET,
    }
    with database(server_url, template) as url, running_grounds(url, settings) as site:
        yield site


def test_a_guest_signs_in_keeps_what_they_sent_makes_a_key_and_signs_out(
    page: Page, watch: Watch, issuer: Provider
) -> None:
    page.goto("/queue")
    sent = FilePayload(name="letter.pdf", mimeType="application/pdf", buffer=PDF_FILE)
    page.locator("input[type=file]").first.set_input_files(sent)
    expect(page.get_by_text("letter.pdf").first).to_be_visible()
    page.get_by_role("link", name="Sign in").click()
    expect(page.get_by_role("heading", name="Who are you?")).to_be_visible()
    page.get_by_label("User").fill("ann")
    page.get_by_role("button", name="Continue").click()
    expect(page.get_by_role("button", name="Sign out")).to_be_visible()
    expect(page.get_by_text("Ann", exact=True)).to_be_visible()
    expect(page.get_by_text("letter.pdf").first).to_be_visible()
    axe_everywhere(page)

    page.goto("/settings#keys")
    page.get_by_label("What it is for").fill("night")
    page.get_by_role("button", name="Create key").click()
    assert len(page.get_by_label("Key", exact=True).input_value()) == 46
    axe_everywhere(page)
    page.get_by_role("link", name="Done").click()
    axe_everywhere(page)
    page.get_by_role("button", name="Revoke night").click()
    expect(page.get_by_text("No key yet.")).to_be_visible()

    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("heading", name="You are signed out")).to_be_visible()
    axe_everywhere(page)
    page.goto("/queue")
    expect(page.get_by_role("link", name="Sign in")).to_be_visible()
    expect(page.get_by_text("letter.pdf")).to_have_count(0)
    assert issuer.refusals == []
    # The provider is another host, and the only one.
    assert all(url.startswith(issuer.url) for url in watch.strangers)
    watch.strangers.clear()
    watch.forgive("favicon", "events")
