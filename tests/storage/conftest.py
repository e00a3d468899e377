"""One store of every kind, each test below a prefix of its own."""

from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack
from pathlib import Path
from uuid import uuid4

import pytest

from docmill.storage import Store, open_store, trying
from emulators import BUCKET, EMULATORS
from storage.strict_gcs import Cloud, strict_gcs

KINDS = ["local", "s3", "azure", "gcs", "gcs_strict"]


@pytest.fixture(scope="session")
def addresses(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """Filled with every kind that was asked for; what runs for it ends with the session."""
    started = Started(tmp_path_factory)
    with started.stack:
        yield started


class Started(dict[str, str]):
    def __init__(self, folders: pytest.TempPathFactory) -> None:
        super().__init__()
        self.stack = ExitStack()
        self._folders = folders

    def __missing__(self, kind: str) -> str:
        emulator = EMULATORS[kind](self._folders.mktemp(kind))
        url, variables = self.stack.enter_context(emulator)
        patch = self.stack.enter_context(pytest.MonkeyPatch.context())
        for name, value in variables.items():
            patch.setenv(name, value)
        self[kind] = url
        return url


@pytest.fixture
def cloud(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cloud]:
    with strict_gcs(tmp_path) as (cloud, credentials):
        monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(credentials))
        yield cloud


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def address(
    kind: str, request: pytest.FixtureRequest, addresses: dict[str, str], tmp_path: Path
) -> str:
    """The URL of an empty store."""
    if kind == "local":
        return (tmp_path / "store").as_uri()
    if kind == "gcs_strict":
        cloud: Cloud = request.getfixturevalue("cloud")
        return f"gs://{BUCKET}/{uuid4()}?endpoint={cloud.url}"
    url, _, options = addresses[kind].partition("?")
    return f"{url}/{uuid4()}?{options}"


@pytest.fixture
async def store(address: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Store]:
    monkeypatch.setattr(trying, "FIRST_WAIT", 0.01)
    opened = open_store(address)
    yield opened
    await opened.close()
