"""SPEC section 12: what is stored is opened by addresses that are signed for a while."""

import time
from collections.abc import AsyncGenerator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from urllib.parse import parse_qs, urlsplit
from uuid import uuid4

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from docmill.documents.accept import Acceptor
from docmill.documents.links import SignedLinks
from docmill.documents.stored import open_stored
from docmill.storage import open_store
from emulators import BUCKET
from properties.senders import LIMIT, a_file, bring, examples
from storage.strict_gcs import Cloud, strict_gcs
from waits import PATIENCE

pytestmark = pytest.mark.anyio


@pytest.fixture
async def abroad(
    intake: Acceptor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncGenerator[tuple[Acceptor, Cloud]]:
    """The same front door with a store that signs, and checks, its own addresses."""
    with strict_gcs(tmp_path) as (cloud, credentials):
        monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(credentials))
        store = open_store(f"gs://{BUCKET}/{uuid4()}?endpoint={cloud.url}")
        yield replace(intake, store=store), cloud
        await store.close()


@examples(100)
# Long enough to differ: the same bytes are one job, and here and abroad share a database.
@given(st.integers(64, LIMIT), st.integers(600, 7 * 24 * 3600), st.booleans())
async def test_every_stored_file_has_a_signed_address_that_says_when_it_ends(
    intake: Acceptor, abroad: tuple[Acceptor, Cloud], size: int, seconds: int, here: bool
) -> None:
    """Property 29: the store's own address, or one of ours where the store has none."""
    door = intake if here else abroad[0]
    data = a_file(size)
    key = (await bring(door, data)).job.upload_key
    assert key is not None
    links = SignedLinks(door.store)
    url = await links.url(key, expires=timedelta(seconds=seconds), base="http://here")
    asked = {name: words[0] for name, words in parse_qs(urlsplit(url).query).items()}
    if here:
        assert 0 < int(asked["until"]) - time.time() <= seconds
        await links.check(f"{key}\n", int(asked["until"]), asked["signature"])
        return
    assert asked["X-Goog-Expires"] == str(seconds)
    async with httpx2.AsyncClient(trust_env=False, timeout=PATIENCE) as stranger:
        assert (await stranger.get(url)).content == data


@examples(100)
@given(st.integers(9, LIMIT))
async def test_a_worker_fetches_a_file_by_a_signed_address_and_by_no_right_of_its_own(
    abroad: tuple[Acceptor, Cloud], size: int
) -> None:
    """Property 30, by the very call with which runs open their documents."""
    door, cloud = abroad
    data = a_file(size)
    key = (await bring(door, data)).job.upload_key
    assert key is not None
    cloud.asked.clear()
    checked = await open_stored(door.pool, door.store, key)
    assert await checked.whole() == data
    paths = [path for method, path in cloud.asked if method == "GET"]
    assert paths
    assert all(path.startswith(f"/{BUCKET}/") for path in paths), paths  # not /storage/v1/...
