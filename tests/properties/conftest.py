"""A front door and a site over a database and a folder of the test's own."""

from collections.abc import AsyncGenerator, AsyncIterator
from datetime import timedelta
from pathlib import Path

import httpx2
import pytest

from docmill.core.installed import PipelineCatalog
from docmill.core.plugins import PDF, TEXT
from docmill.db.notify import CHANGES, WORK, Notifier
from docmill.db.pool import Pool
from docmill.documents.accept import Acceptor
from docmill.storage import open_store
from properties.senders import LIMIT
from sites import Site, running


@pytest.fixture
async def intake(pool: Pool, tmp_path: Path) -> AsyncIterator[Acceptor]:
    offer = PipelineCatalog({"extract": (PDF,), "echo": (TEXT,)}, {})
    work, changes = Notifier(pool, WORK), Notifier(pool, CHANGES)
    yield Acceptor(
        pool, open_store(str(tmp_path / "store")), offer, work, changes, timedelta(days=7)
    )
    await work.close()
    await changes.close()


@pytest.fixture
async def site(pool: Pool, database_url: str, tmp_path: Path) -> AsyncGenerator[Site]:
    """Takes files of up to LIMIT bytes, so that many can be sent."""
    folder = tmp_path / "site"
    async with running(pool, folder, listen_url=database_url, max_upload_bytes=LIMIT) as opened:
        yield opened


@pytest.fixture
async def client(site: Site) -> AsyncGenerator[httpx2.AsyncClient]:
    async with site.client() as opened:
        yield opened
