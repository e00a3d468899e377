"""Not tests: each brings a page into a state and takes its picture. Run by `make shots`."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page

from browser import gallery


@pytest.fixture(scope="module", autouse=True)
def index() -> Iterator[None]:
    yield
    gallery.write_index()


def test_docs(page: Page) -> None:
    page.goto("/docs")
    gallery.take(page, "docs")


def test_an_empty_queue(page: Page) -> None:
    page.goto("/queue")
    gallery.take(page, "queue-empty")
