"""The whole service on an object store: upload, result, signed address, retention."""

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from uuid import uuid4

import httpx2
import pytest

from docmill.db.pool import Pool
from docmill.documents.links import SignedLinks
from docmill.documents.poller import poll
from docmill.documents.reconcile import reconcile
from docmill.storage import open_store
from docmill.storage.contract import Store
from documents.buckets import a_bucket
from sites import a_pdf, running, upload
from waits import PATIENCE, until
from workers import swept, working

pytestmark = pytest.mark.anyio


@pytest.fixture(params=["local", "s3", "azure", "gcs"])
async def store(
    request: pytest.FixtureRequest, addresses: dict[str, str], tmp_path: Path
) -> AsyncIterator[Store]:
    if request.param == "local":
        url, options = (tmp_path / "store").as_uri(), ""
    else:
        url, _, options = addresses[request.param].partition("?")
    opened = open_store(f"{url}/{uuid4()}?{options}")
    yield opened
    await opened.close()


async def keys(store: Store) -> list[str]:
    return await listed(store, "uploads") + await listed(store, "results")


async def test_a_document_goes_its_whole_way_on_any_store(
    pool: Pool, store: Store, tmp_path: Path
) -> None:
    document = a_pdf("Invoice number: 4711")
    async with (
        running(pool, tmp_path, store=store) as site,
        site.client() as client,
        working(pool, store, ["extract"]),
    ):
        job_id = await upload(client, document)
        job = f"/api/jobs/{job_id}"

        async def is_complete() -> bool:
            return (await client.get(job)).json()["status"] == "complete"

        await until(is_complete)
        assert "4711" in (await client.get(f"{job}/download")).text
        key = (await client.get(job)).json()["upload_location"]
        url = await SignedLinks(store).url(key, expires=timedelta(hours=1), base=site.url)
        async with httpx2.AsyncClient(trust_env=False, timeout=PATIENCE) as stranger:
            assert (await stranger.get(url)).content == document
            assert len(await keys(store)) == 2
            await everything_is_old(pool)
            await swept(pool, store)
            assert await keys(store) == []
            assert (await stranger.get(url)).status_code == 404
        answer = await client.get(f"{job}/download")
        assert (answer.status_code, answer.json()["code"]) == (404, "EXPIRED")


async def test_an_object_goes_its_whole_way_through_any_bucket(
    pool: Pool, store: Store, tmp_path: Path
) -> None:
    bucket = a_bucket(pool, tmp_path, store)
    sent = {"sender_email": "broker@example.com"}
    await store.put("incoming/Trade 1.PDF", a_pdf("Buy 100 ACME"), metadata=sent)
    await store.put("incoming/notes.txt", b"not a PDF", metadata=sent)
    async with working(pool, bucket.acceptor.store, ["extract"]):

        async def is_filed() -> bool:
            await poll(bucket)
            return len(await listed(store, "archive")) == len(await listed(store, "failed")) == 1

        await until(is_filed)
    assert await listed(store, "incoming") + await listed(store, "processing") == []
    counts = await reconcile(bucket)
    assert [(each.objects, each.done, each.failed) for each in counts] == [
        (0, 0, 0), (0, 0, 0), (1, 1, 0), (1, 0, 1),
    ]  # fmt: skip
    (key,) = await listed(store, "failed")
    found = await store.head(key)
    assert found is not None
    assert (found.metadata or {})["sender_email"] == "broker@example.com"
    if not (found.metadata or {}).get("error_code"):
        assert "gs://" in store.name  # whose emulator adds no metadata; the strict one does
    else:
        assert (found.metadata or {})["error_code"] == "NOT_PDF"


async def listed(store: Store, prefix: str) -> list[str]:
    return [found.key async for page in store.pages(prefix) for found in page]


async def everything_is_old(pool: Pool) -> None:
    async with pool.connection() as conn:
        await conn.execute("UPDATE documents SET expires_at = now() - interval '1 minute'")
        await conn.execute("UPDATE jobs SET expires_at = now() - interval '1 minute'")
