"""A document and a fork server for the tests of confined runs."""

import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from docmill.sandbox.pool import SandboxPool
from sandbox.pools import TEXT, make_pool


@pytest.fixture
async def sandbox() -> AsyncIterator[SandboxPool]:
    async with make_pool() as opened:
        yield opened


@pytest.fixture
def document(tmp_path: Path) -> Iterator[int]:
    path = tmp_path / "a.txt"
    path.write_text(TEXT, "utf-8")
    fd = os.open(path, os.O_RDONLY)
    yield fd
    os.close(fd)
