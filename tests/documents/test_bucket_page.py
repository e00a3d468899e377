"""The bucket page: as last counted, counted now, and whose business it is."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import httpx2
import jwt
import pytest

from docmill.core.faults import DocmillError
from docmill.core.owners import desk
from docmill.db.pool import Pool
from docmill.documents import bucket_monitor
from docmill.documents.bucket_monitor import WatchedBucket, WatchedBuckets
from docmill.documents.buckets import BucketCount
from docmill.documents.poller import poll
from docmill.documents.reconcile import reconcile
from docmill.web.config import TokenConfig
from documents.buckets import a_bucket, drop
from sites import Site, running
from waits import until

pytestmark = pytest.mark.anyio

SECRET = "s" * 32


@asynccontextmanager
async def watching(
    pool: Pool, folder: Path, count: Callable[[], Awaitable[list[BucketCount]]], **rules: Any
) -> AsyncGenerator[Site]:
    bucket = WatchedBuckets((WatchedBucket(desk("trading"), count, "the folder"),))
    given: dict[str, Any] = {"auth_mode": "local", **rules}
    async with running(pool, folder / "own", watched=bucket, **given) as site:
        yield site


async def counted(client: httpx2.AsyncClient) -> dict[str, dict[str, Any]]:
    prefixes = (await client.get("/api/bucket")).json()["prefixes"]
    return {each["prefix"]: each for each in prefixes}


async def test_a_bucket_is_counted_when_somebody_asks(pool: Pool, tmp_path: Path) -> None:
    bucket = a_bucket(pool, tmp_path)
    drop(tmp_path, "a.pdf")
    drop(tmp_path, "no.txt", b"hello")
    await poll(bucket)
    async with (
        watching(pool, tmp_path, partial(reconcile, bucket)) as site,
        site.client() as client,
    ):
        assert "Not counted yet" in (await client.get("/bucket")).text
        answer = await client.post("/bucket/count")
        assert (answer.status_code, answer.headers["location"]) == (303, "/bucket")
        told = await counted(client)
        page = (await client.get("/bucket")).text
    assert told["processing"]["waiting"] == told["failed"]["failed"] == 1
    assert "Bucket and database agree" in page
    assert "the folder/incoming" in page


async def test_a_bucket_that_disagrees_says_so(pool: Pool, tmp_path: Path) -> None:
    bucket = a_bucket(pool, tmp_path)
    stray = tmp_path / "bucket" / "archive" / "stray.pdf"
    stray.parent.mkdir(parents=True)
    stray.write_bytes(b"%PDF")
    async with (
        watching(pool, tmp_path, partial(reconcile, bucket)) as site,
        site.client() as client,
    ):
        await client.post("/bucket/count")
        page = (await client.get("/bucket")).text
    assert "Bucket and database disagree: 1 unknown, 0 missing" in page


async def test_a_long_count_goes_on_alone_and_is_made_once(
    pool: Pool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bucket_monitor, "PATIENCE", bucket_monitor.PATIENCE / 1000)
    may_end, begun = asyncio.Event(), 0

    async def slow() -> list[BucketCount]:
        nonlocal begun
        begun += 1
        await may_end.wait()
        return []

    async with watching(pool, tmp_path, slow) as site, site.client() as client:
        for _ in range(2):
            assert (await client.post("/bucket/count")).status_code == 303
        assert "A count is under way" in (await client.get("/bucket")).text
        assert begun == 1
        may_end.set()

        async def is_over() -> bool:
            return "under way" not in (await client.get("/bucket")).text

        await until(is_over)


async def test_a_count_that_failed_says_why(pool: Pool, tmp_path: Path) -> None:
    async def broken() -> list[BucketCount]:
        raise DocmillError("IO_ERROR", "a secret path")

    async with watching(pool, tmp_path, broken) as site, site.client() as client:
        assert (await client.post("/bucket/count")).status_code == 303
        page = (await client.get("/bucket")).text
    assert "could not be counted" in page
    assert "a secret path" not in page


async def test_without_a_bucket_the_page_says_so_and_nothing_is_counted(
    pool: Pool, tmp_path: Path
) -> None:
    async with running(pool, tmp_path, auth_mode="local") as site, site.client() as client:
        assert "No bucket is watched" in (await client.get("/bucket")).text
        assert (await client.post("/bucket/count")).status_code == 404


async def test_with_accounts_a_bucket_is_its_desks(pool: Pool, tmp_path: Path) -> None:
    count = partial(reconcile, a_bucket(pool, tmp_path))
    rules = {"auth_mode": "jwt", "tokens": TokenConfig(secret=SECRET)}

    def bearer(**claims: Any) -> dict[str, str]:
        made = jwt.encode({"sub": "ann", "exp": 1 << 40, **claims}, SECRET, algorithm="HS256")
        return {"authorization": f"Bearer {made}"}

    async with (
        watching(pool, tmp_path, count, **rules) as site,
        site.client() as client,
    ):
        for headers, status in (
            (bearer(), 403),
            (bearer(desks=["bonds"]), 403),
            (bearer(desks=["trading"]), 200),
        ):
            posted = await client.post("/bucket/count", headers=headers)
            assert posted.status_code == (303 if status == 200 else status)
            for path in ("/bucket", "/api/bucket"):
                assert (await client.get(path, headers=headers)).status_code == status


async def test_every_object_is_listed_with_its_state_and_why_it_was_refused(
    pool: Pool, tmp_path: Path
) -> None:
    bucket = a_bucket(pool, tmp_path)
    drop(tmp_path, "good.pdf")
    for number in range(3):
        drop(tmp_path, f"<b>notes</b> {number}\u202e.txt".replace("/", "_"), b"hello")
    await poll(bucket)
    async with (
        watching(pool, tmp_path, partial(reconcile, bucket)) as site,
        site.client() as client,
    ):
        everything = (await client.get("/api/bucket/objects")).json()
        assert everything["next_cursor"] is None
        states = sorted((each["state"], each["code"]) for each in everything["objects"])
        assert states == [("failed", "NOT_PDF")] * 3 + [("queued", None)]
        first = (await client.get("/api/bucket/objects?state=failed&limit=2")).json()
        second = (
            await client.get(
                "/api/bucket/objects",
                params={"state": "failed", "limit": 2, "cursor": first["next_cursor"]},
            )
        ).json()
        found = [*first["objects"], *second["objects"]]
        assert len({each["id"] for each in found}) == 3
        assert {each["reason"] for each in found} == {"Only PDF files are supported"}
        assert all(each["place"].startswith("failed/") for each in found)
        assert all("\u202e" not in each["filename"] + each["key"] for each in found)
        page = (await client.get("/bucket?state=failed")).text
        assert page.count("data-id=") == 3
        assert "Only PDF files are supported" in page
        assert "<b>notes" not in page
        assert (await client.get("/bucket")).text.count("data-id=") == 4
        for bad in ("?state=none", "?cursor=x", "?state=%00"):
            assert (await client.get(f"/bucket{bad}")).status_code == 400
            assert (await client.get(f"/api/bucket/objects{bad}")).status_code == 400


async def test_with_accounts_the_list_is_the_desks(pool: Pool, tmp_path: Path) -> None:
    count = partial(reconcile, a_bucket(pool, tmp_path))
    rules = {"auth_mode": "jwt", "tokens": TokenConfig(secret=SECRET)}
    made = jwt.encode({"sub": "ann", "exp": 1 << 40}, SECRET, algorithm="HS256")
    async with watching(pool, tmp_path, count, **rules) as site, site.client() as client:
        answer = await client.get(
            "/api/bucket/objects", headers={"authorization": f"Bearer {made}"}
        )
    assert answer.status_code == 403
