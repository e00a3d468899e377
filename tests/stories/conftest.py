from pathlib import Path

import pytest

from cli.terminal import Terminal
from stories.house import HURRIED, House


@pytest.fixture
def house(tmp_path: Path, database_url: str) -> House:
    return House(Terminal(tmp_path, {"DATABASE_URL": database_url, **HURRIED}), database_url)
