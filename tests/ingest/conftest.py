"""A folder that no disk holds up."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

MEMORY = Path("/dev/shm")


@pytest.fixture
def quick_path(tmp_path: Path) -> Iterator[Path]:
    """For tests with thousands of files, each of which is synced: in memory where there is such."""
    folder = Path(tempfile.mkdtemp(prefix="docmill-", dir=MEMORY if MEMORY.is_dir() else tmp_path))
    yield folder
    shutil.rmtree(folder)
