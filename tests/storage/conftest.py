"""One store of every kind, each test below a prefix of its own."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from docmill.storage import open_store, retry
from docmill.storage.contract import Store
from docmill.storage.paired import PairedStore
from emulators import BUCKET
from storage.strict_gcs import Cloud, strict_gcs

KINDS = ["local", "s3", "azure", "gcs", "gcs_strict", "paired"]


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
    if kind in {"local", "paired"}:
        return (tmp_path / "store").as_uri()
    if kind == "gcs_strict":
        cloud: Cloud = request.getfixturevalue("cloud")
        return f"gs://{BUCKET}/{uuid4()}?endpoint={cloud.url}"
    url, _, options = addresses[kind].partition("?")
    return f"{url}/{uuid4()}?{options}"


@pytest.fixture
async def store(
    kind: str, address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Store]:
    monkeypatch.setattr(retry, "FIRST_WAIT", 0.01)
    opened = open_store(address)
    if kind == "paired":
        opened = PairedStore(opened, open_store(str(tmp_path / "also")))
    yield opened
    await opened.close()
