"""Documents have a state; sources have a pause; a bucket's PDF is read from where it lies."""

from functools import partial
from pathlib import Path

import pytest

from docmill.core.jobs import Broke, Retry, settle
from docmill.core.owners import desk
from docmill.db.pool import Pool
from docmill.documents import poller
from docmill.documents.bucket_monitor import WatchedBucket, WatchedBuckets
from docmill.documents.poller import poll
from docmill.documents.reconcile import reconcile
from docmill.queue import settle as queue_settle
from documents.buckets import a_bucket, confirmation, drop, objects
from road import a_result, claim
from sites import running

pytestmark = pytest.mark.anyio


async def end_next(pool: Pool, code: str | None = None) -> None:
    async with pool.connection() as conn:
        (job,) = await claim(conn, slots=1)
        ending = Broke(code) if code else a_result(job)
        move = settle(job, ending, retry=Retry(attempts=1), chance=0)
        assert await queue_settle.write_settlements(conn, [queue_settle.Settlement(job, move)])


async def test_every_document_has_a_state_and_its_pdf_is_served_from_the_bucket(
    pool: Pool, tmp_path: Path
) -> None:
    bucket = a_bucket(pool, tmp_path)
    watched = WatchedBucket(desk("trading"), partial(reconcile, bucket), "the folder")
    note = confirmation("good")
    for name, data in (("1.pdf", note), ("2.pdf", None), ("3.pdf", None), ("no.txt", b"hello")):
        drop(tmp_path, name, data)
        await poll(bucket)
    await end_next(pool)
    await end_next(pool, "BAD_PDF")
    async with (
        running(
            pool,
            tmp_path / "own",
            store=bucket.acceptor.store,
            watched=WatchedBuckets((watched,)),
            auth_mode="local",
        ) as site,
        site.client() as client,
    ):
        found = (await client.get("/api/documents")).json()["documents"]
        states = {one["original_filename"]: one["state"] for one in found}
        assert states == {
            "1.pdf": "parsed", "2.pdf": "failed", "3.pdf": "pending", "no.txt": "rejected",
        }  # fmt: skip
        by_name = {one["original_filename"]: one for one in found}
        assert by_name["2.pdf"]["reason"]
        assert by_name["2.pdf"]["attempts"] == 1
        assert by_name["no.txt"]["error_code"] == "NOT_PDF"
        counts = (await client.get("/api/documents/counts")).json()
        assert (counts["total"], counts["states"]["failed"]) == (4, 1)
        (rejected,) = (await client.get("/api/documents?status=rejected")).json()["documents"]
        page = (await client.get("/documents?state=rejected")).text
        assert rejected["document_id"] in page
        assert by_name["1.pdf"]["document_id"] not in page
        refused = await client.get(f"/api/documents/{rejected['document_id']}/pdf")
        assert refused.json()["code"] == "DOCUMENT_NOT_FOUND"
        # The poller has not filed it yet, then it has: the same document, the same bytes.
        path = f"/api/documents/{by_name['1.pdf']['document_id']}/pdf"
        before = (await client.get(path)).json()["pdf_url"]
        assert (await client.get(before)).content == note
        await poll(bucket)
        assert any(key.startswith("archive/") for key in objects(tmp_path))
        assert (await client.get(before)).content == note
        async with pool.connection() as conn:  # as a trade note in which nothing was found
            await conn.execute("UPDATE jobs SET pipeline = 'trades' WHERE status = 'complete'")
        (silent,) = (await client.get("/api/documents?status=no_trades")).json()["documents"]
        assert silent["original_filename"] == "1.pdf"
    stored = [path for path in (tmp_path / "store").rglob("*") if path.is_file()]
    assert [path.parent.name for path in stored] == ["links"]  # the secret of links alone


async def test_a_paused_source_takes_nothing_new_and_goes_on_with_the_rest(
    pool: Pool, tmp_path: Path
) -> None:
    bucket = a_bucket(pool, tmp_path, source="prime")
    await poller.begin(bucket)
    drop(tmp_path, "a.pdf")
    await poll(bucket)
    async with running(pool, tmp_path / "own", auth_mode="local") as site, site.client() as client:
        paused = (await client.post("/api/sources/prime/pause")).json()
        assert (paused["paused"], paused["paused_by"]) == (True, "local:me")
        await end_next(pool)
        drop(tmp_path, "b.pdf")
        await poll(bucket)
        assert [key.partition("/")[0] for key in objects(tmp_path)] == ["archive", "incoming"]
        (shown,) = (await client.get("/api/sources")).json()["sources"]
        assert shown["paused"]
        assert shown["looked_at"]
        assert (await client.post("/api/sources/other/pause")).status_code == 404
        assert not (await client.post("/api/sources/prime/resume")).json()["paused"]
        await poll(bucket)
        assert [key.partition("/")[0] for key in objects(tmp_path)] == ["archive", "processing"]
