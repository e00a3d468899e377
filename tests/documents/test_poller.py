"""Files dropped into a bucket become jobs, once per generation, and are filed when they ended."""

import asyncio
import hashlib
import os
import re
from pathlib import Path
from uuid import UUID

import pytest

from docmill.core.faults import DocmillError
from docmill.core.jobs import Broke, DocumentId, Job, Retry, Status, settle
from docmill.db.pool import Pool
from docmill.documents import poller, queries, reprocess
from docmill.documents.poller import Bucket, poll
from docmill.documents.reconcile import reconcile, sweep
from docmill.jobs import queries as jobs_queries
from docmill.queue import settle as queue_settle
from documents.buckets import DESK, a_bucket, confirmation, drop, objects
from road import a_result, claim, the

pytestmark = pytest.mark.anyio

FILED = re.compile(r"(archive|failed)/\d{4}/\d{2}/[0-9a-f-]{36}\.pdf")


@pytest.fixture
def bucket(pool: Pool, tmp_path: Path) -> Bucket:
    return a_bucket(pool, tmp_path)


async def all_jobs(pool: Pool) -> list[Job]:
    async with pool.connection() as conn:
        rows = await (await conn.execute("SELECT id FROM jobs ORDER BY created_at, id")).fetchall()
        return [await the(conn, row[0]) for row in rows]


async def settle_all(pool: Pool, *codes: str | None) -> None:
    """End the waiting jobs: complete, or with these faults."""
    async with pool.connection() as conn:
        claimed = await claim(conn, slots=100)
        wanted = codes or (None,) * len(claimed)
        for job, code in zip(claimed, wanted, strict=True):
            ending = Broke(code) if code else a_result(job)
            move = settle(job, ending, retry=Retry(attempts=1), chance=0)
            assert await queue_settle.write_settlements(conn, [queue_settle.Settlement(job, move)])


async def counted(bucket: Bucket) -> dict[str, tuple[int, ...]]:
    """By prefix: objects, done, failed, waiting, unknown, missing."""
    return {
        each.prefix: (
            each.objects,
            each.done,
            each.failed,
            each.waiting,
            each.unknown,
            each.missing,
        )
        for each in await reconcile(bucket)
    }


async def test_a_dropped_pdf_becomes_a_job_of_the_desk_and_is_archived_when_complete(
    bucket: Bucket, pool: Pool, tmp_path: Path
) -> None:
    data = confirmation("Buy 100 ACME")
    drop(tmp_path, "Trade 1.PDF", data, sender_email="broker@example.com")
    assert await poll(bucket) == 1
    (job,) = await all_jobs(pool)
    assert objects(tmp_path) == [f"processing/{job.document_id}.pdf"]
    assert (job.owner, job.source, job.pipeline) == (DESK.key, "bucket", "extract")
    assert (job.original_filename, job.sha256) == ("Trade 1.PDF", hashlib.sha256(data).hexdigest())
    async with pool.connection() as conn:
        document = await queries.find_document(conn, job.document_id)
    assert document is not None
    assert document.meta["sender_email"] == "broker@example.com"
    assert document.expires_at is None  # what came by a bucket is kept
    assert await poll(bucket) == 0
    await settle_all(pool)
    await poll(bucket)
    (key,) = objects(tmp_path)
    assert FILED.fullmatch(key)
    assert key.startswith("archive/")
    assert str(job.document_id) in key
    found = await bucket.store.head(key)
    assert found is not None
    assert (found.metadata or {})["sender_email"] == "broker@example.com"


async def test_a_failed_job_files_its_object_with_the_reason_and_a_retry_brings_it_back(
    bucket: Bucket, pool: Pool, tmp_path: Path
) -> None:
    drop(tmp_path, "a.pdf", sender_email="broker@example.com")
    await poll(bucket)
    await settle_all(pool, "BAD_PDF")
    await poll(bucket)
    (key,) = objects(tmp_path)
    assert FILED.fullmatch(key)
    assert key.startswith("failed/")
    found = await bucket.store.head(key)
    assert found is not None
    metadata = found.metadata or {}
    assert (metadata["error_code"], metadata["sender_email"]) == ("BAD_PDF", "broker@example.com")
    assert metadata["error_message"] == "This PDF is damaged, locked or empty"
    (job,) = await all_jobs(pool)
    async with pool.connection() as conn:
        assert await reprocess.retry(conn, job.document_id) == job.id  # as an operator does
    await poll(bucket)
    assert objects(tmp_path) == [key]
    await settle_all(pool)
    await poll(bucket)
    (archived,) = objects(tmp_path)
    assert archived.startswith("archive/")
    cleared = await bucket.store.head(archived)
    assert cleared is not None
    assert not {"error_code", "error_message"} & (cleared.metadata or {}).keys()
    assert (cleared.metadata or {})["sender_email"] == "broker@example.com"
    assert (await counted(bucket))["archive"] == (1, 1, 0, 0, 0, 0)


@pytest.mark.parametrize(
    ("name", "data", "code", "ending"),
    [
        ("notes.txt", b"hello", "NOT_PDF", ".txt"),
        ("no ending", b"%PDF-1.7", "NOT_PDF", ""),
        ("text.pdf", b"this is no PDF", "NOT_PDF", ".pdf"),
        ("empty.pdf", b"", "EMPTY_FILE", ".pdf"),
        ("large.pdf", b"%PDF-1.7" + b"x" * 5000, "TOO_LARGE", ".pdf"),
        ("trick.p/../df.exe?", b"MZ", "NOT_PDF", ""),
    ],
)
async def test_what_is_no_pdf_is_rejected_with_a_reason_and_no_job(
    pool: Pool, tmp_path: Path, name: str, data: bytes, code: str, ending: str
) -> None:
    bucket = a_bucket(pool, tmp_path, max_bytes=5000)
    drop(tmp_path, name.replace("/../", "_"), data)
    await poll(bucket)
    assert await all_jobs(pool) == []
    (key,) = objects(tmp_path)
    assert key.startswith("failed/")
    assert Path(key).suffix == ending
    found = await bucket.store.head(key)
    assert found is not None
    assert (found.metadata or {})["error_code"] == code
    assert (found.metadata or {})["error_message"]
    assert not [path for path in (tmp_path / "store").rglob("*") if path.is_file()]


async def test_the_same_bytes_dropped_twice_are_two_documents(
    bucket: Bucket, pool: Pool, tmp_path: Path
) -> None:
    drop(tmp_path, "a.pdf", confirmation("same"))
    drop(tmp_path, "b.pdf", confirmation("same"))
    await poll(bucket)
    assert len({job.document_id for job in await all_jobs(pool)}) == 2


async def test_an_overwritten_file_is_processed_again_and_a_seen_generation_is_not(
    bucket: Bucket, pool: Pool, tmp_path: Path
) -> None:
    drop(tmp_path, "a.pdf", confirmation("first"))
    await poll(bucket)
    drop(tmp_path, "a.pdf", confirmation("second"))
    await poll(bucket)
    first, second = await all_jobs(pool)
    assert first.sha256 != second.sha256
    await settle_all(pool)
    await poll(bucket)
    # Somebody moves an archived file back: the same generation under the same name.
    archived = tmp_path / "bucket" / objects(tmp_path)[0]
    archived.rename(tmp_path / "bucket" / "incoming" / "a.pdf")
    assert await poll(bucket) == 0
    assert len(await all_jobs(pool)) == 2


async def test_a_file_that_is_still_written_waits(
    bucket: Bucket, pool: Pool, tmp_path: Path
) -> None:
    path = drop(tmp_path, "a.pdf")
    with path.open("ab"):
        assert await poll(bucket) == 0
    assert objects(tmp_path) == ["incoming/a.pdf"]
    assert await poll(bucket) == 1
    assert len(await all_jobs(pool)) == 1


async def test_hidden_files_are_left_where_they_are(
    bucket: Bucket, pool: Pool, tmp_path: Path
) -> None:
    drop(tmp_path, ".DS_Store", b"x")
    assert await poll(bucket) == 0
    assert (tmp_path / "bucket" / "incoming" / ".DS_Store").exists()
    assert (await counted(bucket))["incoming"] == (0, 0, 0, 0, 0, 0)


async def test_many_pollers_at_once_process_each_object_once(pool: Pool, tmp_path: Path) -> None:
    for number in range(40):
        drop(tmp_path, f"{number}.pdf")
    pollers = [a_bucket(pool, tmp_path, batch=7) for _ in range(4)]
    await asyncio.gather(*(poll(each) for each in pollers))
    assert len(await all_jobs(pool)) == 40
    assert len(objects(tmp_path)) == 40
    assert all(key.startswith("processing/") for key in objects(tmp_path))


async def test_a_cancelled_job_files_its_object_as_failed(
    bucket: Bucket, pool: Pool, tmp_path: Path
) -> None:
    drop(tmp_path, "a.pdf")
    await poll(bucket)
    (job,) = await all_jobs(pool)
    async with pool.connection() as conn:
        assert await jobs_queries.cancel_job(conn, job.id)
    await poll(bucket)
    (key,) = objects(tmp_path)
    found = await bucket.store.head(key)
    assert found is not None
    assert (found.metadata or {})["error_code"] == "CANCELLED"
    assert (await the_job(pool, job)).status is Status.CANCELLED


async def the_job(pool: Pool, job: Job) -> Job:
    async with pool.connection() as conn:
        return await the(conn, job.id)


async def test_a_failing_store_costs_time_and_nothing_else(
    bucket: Bucket, pool: Pool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a.pdf", "b.pdf"):
        drop(tmp_path, name)
    broken = "The disk is on fire"

    async def refuse(*_: object, **__: object) -> None:
        raise DocmillError("IO_ERROR", broken)

    with monkeypatch.context() as patch:
        patch.setattr(poller.accept, "accept", refuse)
        assert await poll(bucket) == 0
    assert await poll(bucket) == 0  # let go for some seconds
    await everything_is_stuck(pool)
    assert await poll(bucket) == 2
    assert len(await all_jobs(pool)) == 2


async def everything_is_stuck(pool: Pool) -> None:
    """As it is some minutes later."""
    async with pool.connection() as conn:
        await conn.execute("UPDATE bucket_objects SET held_until = 'epoch'")


async def test_a_file_taken_away_before_it_was_moved_is_noted_as_gone(
    bucket: Bucket, pool: Pool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = drop(tmp_path, "a.pdf")
    real = bucket.store.move

    async def too_late(*args: object, **given: object) -> bool:
        path.unlink(missing_ok=True)
        return await real(*args, **given)  # pyright: ignore[reportArgumentType]

    monkeypatch.setattr(bucket.store, "move", too_late)
    await poll(bucket)
    assert (await all_jobs(pool), objects(tmp_path)) == ([], [])
    async with pool.connection() as conn:
        row = await (await conn.execute("SELECT state FROM bucket_objects")).fetchone()
    assert row == ("gone",)


async def test_the_count_adds_up_per_prefix(bucket: Bucket, pool: Pool, tmp_path: Path) -> None:
    for name in ("a.pdf", "b.pdf", "c.pdf", "no.txt"):
        drop(tmp_path, name)
    await poll(bucket)
    async with pool.connection() as conn:
        taken = await claim(conn, slots=2)
        for job, ending in zip(taken, (a_result(taken[0]), Broke("BAD_PDF")), strict=True):
            move = settle(job, ending, retry=Retry(attempts=1), chance=0)
            await queue_settle.write_settlements(conn, [queue_settle.Settlement(job, move)])
    await poll(bucket)
    drop(tmp_path, "new.pdf")
    assert await counted(bucket) == {
        "incoming": (1, 0, 0, 1, 0, 0),
        "processing": (1, 0, 0, 1, 0, 0),
        "archive": (1, 1, 0, 0, 0, 0),
        "failed": (2, 0, 2, 0, 0, 0),
    }
    (tmp_path / "bucket" / "archive" / "stranger.pdf").write_bytes(b"x")
    next(one for one in (tmp_path / "bucket" / "failed").rglob("*.txt")).unlink()
    after = await counted(bucket)
    assert after["archive"] == (2, 1, 0, 0, 1, 0)
    assert after["failed"] == (1, 0, 1, 0, 0, 1)


async def test_the_sweep_takes_in_what_nobody_knows_and_removes_late_copies(
    bucket: Bucket, pool: Pool, tmp_path: Path
) -> None:
    drop(tmp_path, "a.pdf")
    await poll(bucket)
    await settle_all(pool)
    await poll(bucket)
    (key,) = objects(tmp_path)
    copy = tmp_path / "bucket" / "processing" / Path(key).name
    copy.write_bytes((tmp_path / "bucket" / key).read_bytes())  # by a poller that woke up late
    lost = copy.with_name(f"{UUID(int=7)}.pdf")
    lost.write_bytes(confirmation("from before the database was restored"))
    os.utime(lost, (1, 1))
    assert await sweep(bucket) == 2
    assert objects(tmp_path) == [key, f"incoming/{lost.name}"]
    await poll(bucket)
    assert len(await all_jobs(pool)) == 2
    assert await sweep(bucket) == 0


async def test_a_job_that_was_deleted_leaves_its_object_filed(
    bucket: Bucket, pool: Pool, tmp_path: Path
) -> None:
    drop(tmp_path, "a.pdf")
    await poll(bucket)
    (job,) = await all_jobs(pool)
    async with pool.connection() as conn:
        await jobs_queries.delete_job(conn, job.id)
        await queries.drop_orphan_document(conn, DocumentId(job.document_id))
    await poll(bucket)
    (key,) = objects(tmp_path)
    assert key.startswith("failed/")


async def test_a_hundred_thousand_known_objects_cost_a_listing_and_no_more(
    pool: Pool, quick_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bucket = a_bucket(pool, quick_path)
    folder = quick_path / "bucket" / "incoming"
    for part in ("a", "b"):  # a file system has a limit of names for one file
        first = drop(quick_path, f"{part}/000000.pdf")
        for number in range(1, 50_000):
            os.link(first, folder / part / f"{number:06}.pdf")
    async for page in bucket.store.pages("incoming"):
        assert len(page) == 1000
        async with pool.connection() as conn:
            await conn.execute(
                "INSERT INTO bucket_objects (bucket, key, generation, bytes, place, state)"
                " SELECT %s, key, generation, 1, key, 'gone'"
                " FROM unnest(%s::text[], %s::text[]) AS f(key, generation)",
                (bucket.name, [one.key for one in page], [one.generation for one in page]),
            )

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a request for a known generation")

    for call in ("head", "move", "chunks", "is_complete", "put", "delete"):
        monkeypatch.setattr(bucket.store, call, refuse)
    assert await poll(bucket) == 0
