"""What every test may ask for: real PostgreSQL, one server per worker, one database per test."""

import asyncio
import itertools
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import psycopg
import pytest
from hypothesis import settings
from psycopg import sql
from psycopg.conninfo import make_conninfo

from docmill.db import embedded, migrate
from docmill.db.pool import Connection, Pool, open_pool
from emulators import Started

# No test is timed: a busy machine is slow, not wrong.
settings.register_profile("docmill", deadline=None)
settings.load_profile("docmill")

TEMPLATE = "template_docmill"
NUMBERS = itertools.count(1)


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
    # pytest's own temporary folders are too deep for a socket's path.
    folder = Path(tempfile.mkdtemp(prefix="docmill-tests-", dir="/tmp"))
    unsafe = {"fsync": "off", "full_page_writes": "off", "max_connections": "200"}
    server = embedded.start(folder, options=unsafe)
    try:
        yield server.url
    finally:
        server.stop()
        shutil.rmtree(folder)


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
    async with open_pool(database_url) as opened:
        yield opened


@pytest.fixture
async def conn(database_url: str) -> AsyncIterator[Connection]:
    async with await psycopg.AsyncConnection.connect(database_url) as connection:
        yield connection
