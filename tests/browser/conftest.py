"""A real site and a real browser: `docmill serve` with its worker, and Debian's Chromium.

All modules share them; each test is another person at another computer. A module that sets
SETTINGS, variables of its site, has a site of its own. Playwright's sync API keeps an event loop
running in this thread, so the browser lives no longer than this package, and its tests are plain.
"""

import os
import shutil
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any, Final, cast

import psycopg
import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright
from psycopg import sql
from psycopg.conninfo import make_conninfo

from bench.surroundings import find_port
from browser.eyes import Watch
from folders import quick_folder
from terminal import Served, Terminal
from waits import PATIENCE
from warm_sandboxes import WARM

CHROMIUM: Final = shutil.which("chromium")
FLAGS: Final = [
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
SOON_MS: Final = PATIENCE * 1000

NewContext = Callable[..., BrowserContext]


class Grounds:
    """Where a module's site runs; a test may stop it and start it again at the same address."""

    def __init__(self, person: Terminal, folder: Path) -> None:
        self._person: Terminal = person
        self.database: str = person.variables["DATABASE_URL"]
        self.data: Path = folder / "data"
        self.served: Served = Served(person, self.data, find_port())

    @property
    def url(self) -> str:
        return self.served.url

    def stop(self) -> None:
        self.served.stop()

    def start(self) -> None:
        self.served = Served(self._person, self.data, self.served.port)


@contextmanager
def database(server_url: str, template: str) -> Generator[str]:
    name = f"site_{os.getpid()}_{os.urandom(4).hex()}"
    with psycopg.connect(server_url, autocommit=True) as admin:
        copy = sql.SQL("CREATE DATABASE {} TEMPLATE {} STRATEGY FILE_COPY")
        admin.execute(copy.format(sql.Identifier(name), sql.Identifier(template)))
        yield make_conninfo(server_url, dbname=name)
        admin.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


@contextmanager
def running_grounds(url: str, settings: Mapping[str, str]) -> Generator[Grounds]:
    if CHROMIUM is None:
        pytest.skip("there is no chromium: sudo apt-get install chromium")
    given = {
        "DATABASE_URL": url,
        "AUTH_MODE": "session",  # every context is another person
        "DOCMILL_UPLOADS_PER_MINUTE": "0",
        "DOCMILL_DISK_LIMIT_PERCENT": "100",
        "DOCMILL_GRACE_SECONDS": "1",
        **WARM,
        **settings,
    }
    with quick_folder("browser") as folder:
        site = Grounds(Terminal(folder, given), folder)
        try:
            yield site
        finally:
            if site.served.process.poll() is None:
                site.stop()


@pytest.fixture(scope="package")
def common_grounds(server_url: str, template: str) -> Iterator[Grounds]:
    """The site of all modules that need none of their own."""
    with database(server_url, template) as url, running_grounds(url, {}) as site:
        yield site


@pytest.fixture(scope="module")
def grounds(server_url: str, template: str, request: pytest.FixtureRequest) -> Iterator[Grounds]:
    settings: dict[str, str] | None = vars(cast(ModuleType, request.module)).get("SETTINGS")
    if settings is None:
        yield request.getfixturevalue("common_grounds")
        return
    with database(server_url, template) as url, running_grounds(url, settings) as site:
        yield site


@pytest.fixture(scope="module")
def site_database(grounds: Grounds) -> str:
    """The database of the module's site, for tests that begin in the middle of a story."""
    return grounds.database


@pytest.fixture(scope="package")
def chromium(template: str) -> Iterator[Browser]:
    """After the template, which needs this thread's event loop for itself."""
    del template
    with sync_playwright() as playwright:
        sandbox = os.geteuid() != 0  # root has no sandbox to go into
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM, args=FLAGS, chromium_sandbox=sandbox, timeout=SOON_MS
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
def new_context(grounds: Grounds, chromium: Browser, watch: Watch) -> Iterator[NewContext]:
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
