"""A folder that no disk holds up."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from folders import quick_folder


@pytest.fixture
def quick_path() -> Iterator[Path]:
    """For tests with thousands of files, each of which is synced: in memory where there is such."""
    with quick_folder("ingest") as folder:
        yield folder
