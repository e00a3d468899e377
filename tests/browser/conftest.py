"""A real site and a real browser: `docmill serve` with its worker, and Debian's Chromium.

A module may set SETTINGS, variables of its site. Playwright's sync API keeps an event loop running
in this thread, so the browser lives no longer than a module, and its tests are plain functions.
"""

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from types import ModuleType
from typing import Any, Final, cast

import psycopg
import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright
from psycopg import sql
from psycopg.conninfo import make_conninfo

from browser.eyes import Watch
from cli.terminal import Served, Terminal

CHROMIUM: Final = shutil.which("chromium")
FLAGS: Final = [
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
SOON_MS: Final = 60_000

NewContext = Callable[..., BrowserContext]


@pytest.fixture(scope="module")
def site_database(server_url: str, template: str) -> Iterator[str]:
    """The database of the module's site, for tests that begin in the middle of a story."""
    name = f"site_{os.getpid()}_{os.urandom(4).hex()}"
    with psycopg.connect(server_url, autocommit=True) as admin:
        copy = sql.SQL("CREATE DATABASE {} TEMPLATE {} STRATEGY FILE_COPY")
        admin.execute(copy.format(sql.Identifier(name), sql.Identifier(template)))
        yield make_conninfo(server_url, dbname=name)
        admin.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


class Grounds:
    """Where a module's site runs; a test may stop it and start it again at the same address."""

    def __init__(self, person: Terminal, folder: Path) -> None:
        self._person: Terminal = person
        self.data: Path = folder / "data"
        self.served: Served = Served(person, self.data)

    @property
    def url(self) -> str:
        return self.served.url

    def stop(self) -> None:
        self.served.stop()

    def start(self) -> None:
        self.served = Served(self._person, self.data, self.served.port)


@pytest.fixture(scope="module")
def grounds(site_database: str, request: pytest.FixtureRequest) -> Iterator[Grounds]:
    if CHROMIUM is None:
        pytest.skip("there is no chromium: sudo apt-get install chromium")
    folder = Path(tempfile.mkdtemp(prefix="docmill-browser-", dir="/tmp"))
    settings: dict[str, str] = vars(cast(ModuleType, request.module)).get("SETTINGS", {})
    given = {
        "DATABASE_URL": site_database,
        "DOCMILL_UPLOADS_PER_MINUTE": "0",
        "DOCMILL_DISK_LIMIT_PERCENT": "100",
        "DOCMILL_GRACE_SECONDS": "1",
        **settings,
    }
    site = Grounds(Terminal(folder, given), folder)
    try:
        yield site
    finally:
        if site.served.process.poll() is None:
            site.stop()
        shutil.rmtree(folder)


@pytest.fixture(scope="module")
def chromium(grounds: Grounds) -> Iterator[Browser]:
    """After the site, whose fixtures need this thread's event loop for themselves."""
    del grounds
    with sync_playwright() as playwright:
        sandbox = os.geteuid() != 0  # root has no sandbox to go into
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM, args=FLAGS, chromium_sandbox=sandbox
        )
        yield browser
        browser.close()


@pytest.fixture
def watch(grounds: Grounds) -> Iterator[Watch]:
    """Zero console errors, zero errors, zero requests to others: looked at after every test."""
    watching = Watch(grounds.url)
    yield watching
    watching.check()


@pytest.fixture
def new_context(chromium: Browser, grounds: Grounds, watch: Watch) -> Iterator[NewContext]:
    """Another person at another computer, who has nothing yet."""
    with ExitStack() as stack:

        def begin(**options: Any) -> BrowserContext:
            context = chromium.new_context(base_url=grounds.url, **options)
            context.set_default_timeout(SOON_MS)
            expect.set_options(timeout=SOON_MS)
            watch.over(context)
            stack.callback(context.close)
            return context

        yield begin


@pytest.fixture
def page(new_context: NewContext) -> Page:
    return new_context().new_page()
