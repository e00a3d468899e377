"""The whole service on an object store: upload, result, signed address, retention."""

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from uuid import uuid4

import httpx2
import pytest

from docmill.db.pool import Pool
from docmill.storage import Store, open_store
from docmill.web.links import Links
from sites import a_pdf, running, upload
from workers import swept, until, working

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
    return [
        found.key
        for prefix in ("uploads", "results")
        async for page in store.pages(prefix)
        for found in page
    ]


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
        url = await Links(store).url(key, expires=timedelta(hours=1), base=site.url)
        async with httpx2.AsyncClient(trust_env=False) as stranger:
            assert (await stranger.get(url)).content == document
            assert len(await keys(store)) == 2
            await everything_is_old(pool)
            await swept(pool, store)
            assert await keys(store) == []
            assert (await stranger.get(url)).status_code == 404
        answer = await client.get(f"{job}/download")
        assert (answer.status_code, answer.json()["code"]) == (404, "EXPIRED")


async def everything_is_old(pool: Pool) -> None:
    async with pool.connection() as conn:
        await conn.execute("UPDATE documents SET expires_at = now() - interval '1 minute'")
        await conn.execute("UPDATE jobs SET expires_at = now() - interval '1 minute'")
