"""A document and a nursery for the tests of confined runs."""

import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from docmill.work.child import Nursery
from work.nurseries import TEXT, a_nursery


@pytest.fixture
async def nursery() -> AsyncIterator[Nursery]:
    async with a_nursery() as opened:
        yield opened


@pytest.fixture
def document(tmp_path: Path) -> Iterator[int]:
    path = tmp_path / "a.txt"
    path.write_text(TEXT, "utf-8")
    fd = os.open(path, os.O_RDONLY)
    yield fd
    os.close(fd)
