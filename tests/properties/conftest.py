"""A front door and a site over a database and a folder of the test's own."""

from collections.abc import AsyncGenerator, AsyncIterator
from datetime import timedelta
from pathlib import Path

import httpx2
import pytest

from docmill.core.pipeline import PDF, TEXT
from docmill.db.pool import Pool
from docmill.db.signals import CHANGES, WORK, Bell
from docmill.ingest.checks import Offer
from docmill.ingest.intake import Intake
from docmill.storage import open_store
from properties.senders import LIMIT
from sites import Site, running


@pytest.fixture
async def intake(pool: Pool, tmp_path: Path) -> AsyncIterator[Intake]:
    offer = Offer({"extract": (PDF,), "echo": (TEXT,)}, {})
    work, changes = Bell(pool, WORK), Bell(pool, CHANGES)
    yield Intake(pool, open_store(str(tmp_path / "store")), offer, work, changes, timedelta(days=7))
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
