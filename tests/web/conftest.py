"""A real application on a real socket, over real PostgreSQL and a folder of its own."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx2
import pytest

from docmill.core.pipeline import DOCX, PDF, TEXT
from docmill.db.pool import Pool
from docmill.db.signals import CHANGES, WORK, Bell
from docmill.ingest.checks import Offer
from docmill.ingest.intake import Intake
from docmill.storage import open_store
from docmill.web import server
from docmill.web.app import create
from docmill.web.rules import Rules
from docmill.wiring import Services

OFFER = Offer({"extract": (PDF,), "study": (PDF, DOCX, TEXT)}, {"study": ("plain_v1",)})


@dataclass(frozen=True, slots=True)
class Site:
    """A running site as a test sees it."""

    url: str
    port: int
    services: Services
    root: Path

    def client(self, **options: Any) -> httpx2.AsyncClient:
        """Each client has its own cookies: another browser."""
        return httpx2.AsyncClient(base_url=self.url, timeout=30, trust_env=False, **options)

    def stored(self) -> list[str]:
        """Everything in the store, half-written files included."""
        return [
            path.relative_to(self.root).as_posix()
            for path in sorted(self.root.rglob("*"))
            if path.is_file()
        ]


Start = Callable[..., AbstractAsyncContextManager[Site]]


@asynccontextmanager
async def running(
    pool: Pool, root: Path, *, listen_url: str | None = None, **rules: Any
) -> AsyncGenerator[Site]:
    store = open_store(str(root))
    work, changes = Bell(pool, WORK), Bell(pool, CHANGES)
    intake = Intake(pool, store, OFFER, work, changes, timedelta(days=7))
    services = Services(pool, listen_url, store, OFFER, work, changes, intake)
    given: dict[str, Any] = {"uploads_per_minute": 0, "disk_limit": 1.0, **rules}
    app = create(services, Rules(**given))
    port: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    task = asyncio.create_task(server.serve(app, "127.0.0.1", 0, ready=port.set_result))
    await asyncio.wait({task, port}, return_when=asyncio.FIRST_COMPLETED)
    try:
        bound = await port
        yield Site(f"http://127.0.0.1:{bound}", bound, services, root)
    finally:
        task.cancel()
        await asyncio.wait({task})
        await work.close()
        await changes.close()


@pytest.fixture
def start(pool: Pool, database_url: str, tmp_path: Path) -> Start:
    def begin(**rules: Any) -> AbstractAsyncContextManager[Site]:
        return running(pool, tmp_path / "store", **{"listen_url": database_url, **rules})

    return begin


@pytest.fixture
async def site(start: Start) -> AsyncGenerator[Site]:
    async with start() as running_site:
        yield running_site


@pytest.fixture
async def client(site: Site) -> AsyncGenerator[httpx2.AsyncClient]:
    async with site.client() as opened:
        yield opened
