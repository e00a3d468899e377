"""A running site and a client of it, for every test of the web."""

from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from docmill.db.pool import Pool
from sites import Site, running

Start = Callable[..., AbstractAsyncContextManager[Site]]


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
