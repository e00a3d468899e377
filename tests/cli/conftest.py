"""A person at a terminal, and a docmill that serves."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.terminal import Served, Terminal


@pytest.fixture
def terminal(tmp_path: Path) -> Terminal:
    return Terminal(tmp_path)


@pytest.fixture(scope="session")
def served() -> Iterator[Served]:
    """One docmill for all tests that only ask it something."""
    home = Path(tempfile.mkdtemp(prefix="docmill-cli-", dir="/tmp"))
    served = Served(
        Terminal(home, {"DOCMILL_UPLOADS_PER_MINUTE": "0", "DOCMILL_DEFAULT_PIPELINE": "extract"}),
        home / "data",
    )
    try:
        yield served
    finally:
        served.stop()
        shutil.rmtree(home)


@pytest.fixture
def desk(terminal: Terminal, served: Served) -> Terminal:
    """A person whose commands go to that docmill, with no job yet."""
    return terminal.with_(DOCMILL_URL=served.url)
