from pathlib import Path

import pytest

from stories.house import HURRIED, House
from terminal import Terminal


@pytest.fixture
def house(tmp_path: Path, database_url: str) -> House:
    return House(Terminal(tmp_path, {"DATABASE_URL": database_url, **HURRIED}), database_url)
