"""What every test may ask for: real PostgreSQL, one server per worker, one database per test."""

import asyncio
import gc
import itertools
import os
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx2
import psycopg
import pytest
from hypothesis import settings
from psycopg import sql
from psycopg.conninfo import make_conninfo

import kept
from docmill.core.installed import find_rooms
from docmill.db import embedded, migrate
from docmill.db.pool import Connection, Pool, open_pool
from emulators import Started
from folders import quick, quick_folder
from order import deal
from sites import Site, Start, running
from terminal import Served, Terminal
from warm_sandboxes import WARM

# pytest rewrites every assertion anew, and each process compiles all that it imports, where the
# surroundings keep Python from writing what it has compiled.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# Before pytest makes the first of its folders: most tests write and sync many files.
os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(quick()))

# One thread each, as in a worker's children: two that wait for each other on busy cores spin.
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

# No test is timed: a busy machine is slow, not wrong.
settings.register_profile("docmill", deadline=None)
settings.load_profile("docmill")

if find_rooms().broken or not find_rooms().rooms:
    pytest.exit(
        "docmill is installed with the entry points of another commit: run "
        f"`.venv/bin/python -m pip install --no-deps -e .` {find_rooms().broken}"
    )

kept.keep()

# 660,000 objects are made before the first test, and stay: looking for garbage among them again
# and again took two fifths of the time.
gc.disable()

TESTS = Path(__file__).parent
TEMPLATE = "template_docmill"
NUMBERS = itertools.count(1)
WAIT = timedelta(minutes=1)
LOCK = timedelta(seconds=20)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    if workers > 1:
        folders = [item.path.relative_to(TESTS).parts[0] for item in items]
        items[:] = [items[at] for at in deal(folders, workers)]


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop() -> None:
    gc.collect()
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def addresses(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """Object stores on this machine by kind, started when one is asked for."""
    started = Started(tmp_path_factory)
    with started.stack:
        yield started


@pytest.fixture(scope="session")
def server_url() -> Iterator[str]:
    """One PostgreSQL per xdist worker; its data may be lost with the machine, so it never syncs."""
    unsafe = {"fsync": "off", "full_page_writes": "off", "max_connections": "200"}
    with quick_folder("tests") as folder:
        server = embedded.start(folder, options=unsafe)
        try:
            yield server.url
        finally:
            server.stop()


@pytest.fixture(scope="session")
def template(server_url: str) -> str:
    """The name of a database with all migrations in it."""
    with psycopg.connect(server_url, autocommit=True) as conn:
        conn.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(TEMPLATE)))
    asyncio.run(migrate.migrate(make_conninfo(server_url, dbname=TEMPLATE)))
    return TEMPLATE


@pytest.fixture
def database_url(server_url: str, template: str) -> Iterator[str]:
    """A fresh, migrated database, dropped afterwards together with whoever is still connected."""
    name = f"test_{next(NUMBERS)}"
    copy = sql.SQL("CREATE DATABASE {} TEMPLATE {} STRATEGY FILE_COPY")
    drop = sql.SQL("DROP DATABASE {} WITH (FORCE)")
    with psycopg.connect(server_url, autocommit=True) as admin:
        admin.execute(copy.format(sql.Identifier(name), sql.Identifier(template)))
        yield make_conninfo(server_url, dbname=name)
        admin.execute(drop.format(sql.Identifier(name)))


@pytest.fixture
async def pool(database_url: str) -> AsyncIterator[Pool]:
    # Patient: on a busy machine a hundred requests at once wait long for each other.
    async with open_pool(database_url, wait=WAIT, lock=LOCK) as opened:
        yield opened


@pytest.fixture
async def conn(database_url: str) -> AsyncIterator[Connection]:
    async with await psycopg.AsyncConnection.connect(database_url) as connection:
        yield connection


@pytest.fixture
def terminal(tmp_path: Path) -> Terminal:
    return Terminal(tmp_path)


@pytest.fixture(scope="session")
def served() -> Iterator[Served]:
    """One docmill for all tests that only ask it something."""
    settings = {
        "AUTH_MODE": "session",  # every test is another person
        "DOCMILL_UPLOADS_PER_MINUTE": "0",
        "DOCMILL_DEFAULT_PIPELINE": "extract",
        "DOCMILL_WEBHOOK_ALLOW": "127.0.0.0/8",
        "DOCMILL_FETCH_ALLOW": "127.0.0.0/8",
        **WARM,
    }
    with quick_folder("cli") as home:
        served = Served(Terminal(home, settings), home / "data")
        try:
            yield served
        finally:
            served.stop()


@pytest.fixture
def desk(terminal: Terminal, served: Served) -> Terminal:
    """A person whose commands go to that docmill, with no job yet."""
    return terminal.with_(DOCMILL_URL=served.url)


@pytest.fixture
def start(pool: Pool, database_url: str, tmp_path: Path) -> Start:
    def begin(**rules: Any) -> AbstractAsyncContextManager[Site]:
        given: dict[str, Any] = {"listen_url": database_url, **rules}
        return running(pool, tmp_path / "store", **given)

    return begin


@pytest.fixture
async def site(start: Start) -> AsyncGenerator[Site]:
    async with start() as running_site:
        yield running_site


@pytest.fixture
async def client(site: Site) -> AsyncGenerator[httpx2.AsyncClient]:
    async with site.client() as opened:
        yield opened
