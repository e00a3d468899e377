"""One docmill with a worker, for all tests of the client."""

from collections.abc import Iterator

import pytest

from folders import quick_folder
from terminal import Served, Terminal
from warm_sandboxes import WARM


@pytest.fixture(scope="session")
def office() -> Iterator[str]:
    settings = {"DOCMILL_UPLOADS_PER_MINUTE": "0", "DOCMILL_DOCLING": "true", **WARM}
    settings["AUTH_MODE"] = "session"  # every test is another person
    with quick_folder("client") as home:
        served = Served(Terminal(home, settings), home / "data")
        try:
            yield served.url
        finally:
            served.stop()
