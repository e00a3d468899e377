"""One docmill with a worker, for all tests of the client."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.terminal import Served, Terminal


@pytest.fixture(scope="session")
def office() -> Iterator[str]:
    home = Path(tempfile.mkdtemp(prefix="docmill-client-", dir="/tmp"))
    settings = {"DOCMILL_UPLOADS_PER_MINUTE": "0", "DOCMILL_DOCLING": "true"}
    served = Served(Terminal(home, settings), home / "data")
    try:
        yield served.url
    finally:
        served.stop()
        shutil.rmtree(home)
