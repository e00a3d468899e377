"""SPEC section 12: from the stored bytes to what stays for good."""

import gzip
import json
from pathlib import Path

import httpx2
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from docmill.core.jobs import Claimed, Ending, JobId, ReportProgress, Status, Usage
from docmill.db.notify import WORK, Notifier
from docmill.db.pool import Pool
from docmill.documents.accept import Acceptor, JobRequest
from docmill.jobs import queries, results
from docmill.jobs.retention import sweep
from docmill.jobs.runner import JobRunner
from docmill.queue import leases
from docmill.queue.rescue import Upkeep
from properties.senders import ANN, LIMIT, bring, examples
from properties.shifts import RULES, ended, shift
from road import a_result, the
from sandbox.pools import make_pool
from sites import Site, complete, fail, rows, upload

pytestmark = pytest.mark.anyio

# What passes as text/plain: no control characters but tab, newline, form feed, return, escape.
TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=("Cc",)), min_size=1, max_size=500)


@examples(12)
@given(text=TEXTS, filename=TEXTS)
@example(text="\r\n\t", filename="a.txt")
async def test_a_worker_reads_exactly_the_stored_bytes(
    intake: Acceptor, database_url: str, text: str, filename: str
) -> None:
    """Property 11, from the front door to a confined child and back."""
    wanted = JobRequest(ANN, "echo")
    job = (await bring(intake, text.encode()[:LIMIT], wanted, filename=filename)).job
    await run_one(intake, database_url, job.id)
    async with intake.pool.connection() as conn:
        result, job = await results.find_result(conn, job.id), await the(conn, job.id)
    assert job.status is Status.COMPLETE, job
    assert result is not None
    assert (await unpacked(intake, result.key))["text"] == text


async def run_one(intake: Acceptor, url: str, job_id: JobId) -> None:
    async with make_pool() as sandbox:
        runner = JobRunner(intake.pool, intake.store, sandbox)
        async with shift(intake.pool, url, runner):
            await ended(intake.pool, [job_id])


async def unpacked(intake: Acceptor, key: str) -> dict[str, object]:
    packed = b"".join([chunk async for chunk in intake.store.chunks(key)])
    return json.loads(gzip.decompress(packed))


async def test_bytes_that_changed_in_the_store_are_not_worked_on(
    intake: Acceptor, database_url: str, tmp_path: Path
) -> None:
    """Property 11, the other way: same size, one byte flipped, and another size."""
    for changed in (b"hellO", b"hello!"):
        wanted = JobRequest(ANN, "echo", options={"try": changed.decode()})
        job = (await bring(intake, b"hello", wanted, filename="a.txt")).job
        (tmp_path / "store" / str(job.upload_key)).write_bytes(changed)
        await run_one(intake, database_url, job.id)
        async with intake.pool.connection() as conn:
            job = await the(conn, job.id)
        assert (job.status, job.error_code) == (Status.FAILED, "DAMAGED")


async def test_finished_jobs_stay_when_everything_around_them_was_removed(
    site: Site, client: httpx2.AsyncClient, pool: Pool
) -> None:
    """Property 25."""
    done = await upload(client)
    await complete(site, done)
    failed = await upload(client, b"%PDF-1.7 other")
    await fail(site, failed)
    async with pool.connection() as conn:
        await conn.execute("UPDATE jobs SET expires_at = now() - interval '1 day'")
        await conn.execute("UPDATE documents SET expires_at = now() - interval '1 day'")
    work = Notifier(pool, WORK)
    await sweep(Upkeep(pool, site.services.store, work, work, RULES, leases.identify()))
    assert site.stored() == []
    assert await rows(pool, "jobs") == 2
    for job_id, word, code in ((done, "completed", "EXPIRED"), (failed, "failed", "BAD_PDF")):
        answer = (await client.get(f"/api/job-status/{job_id}")).json()
        assert (answer["status"], answer["code"]) == (word, code)
        assert answer["processingTime"] is not None


async def test_uploads_work_with_all_workers_down_and_run_when_one_comes(
    site: Site, client: httpx2.AsyncClient, pool: Pool, database_url: str
) -> None:
    """Property 32."""
    job_id = await upload(client)
    assert await rows(pool, "workers") == 0
    answer = (await client.get(f"/api/job-status/{job_id}")).json()
    assert (answer["status"], answer["progress"]) == ("queued", 0)

    async def run(job: Claimed, note: ReportProgress) -> tuple[Ending, Usage | None]:
        return a_result(job), None

    async with pool.connection() as conn:
        row = await (await conn.execute("SELECT id FROM jobs")).fetchone()
    assert row is not None
    async with shift(pool, database_url, run):
        await ended(pool, [row[0]])
    async with pool.connection() as conn:
        assert (await queries.list_events(conn, row[0]))[-1].kind == "complete"
