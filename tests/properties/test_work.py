"""SPEC section 12: what holds for any work on any job."""

import asyncio
from collections import Counter
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from docmill.core.jobs import Claimed, Ending, JobId, ReportProgress, Retry, Status, Usage, settle
from docmill.db.pool import Connection, Pool
from docmill.documents.accept import Acceptor
from docmill.jobs import queries
from docmill.queue import claim, progress
from docmill.queue import settle as queue_settle
from docmill.queue.progress import ProgressReporter, ReporterLinks
from properties.senders import ANN, ANY_TEXT, RICH, a_file, bring, examples
from properties.shifts import ended, shift
from road import LEASE, a_result, add_job, claim_one, the
from waits import PATIENCE

pytestmark = pytest.mark.anyio


async def written(conn: Connection, job: Claimed, ending: Ending, chance: float = 0.5) -> None:
    move = settle(job, ending, retry=Retry(), chance=chance)
    assert await queue_settle.write_settlements(conn, [queue_settle.Settlement(job, move)]) == {
        job.id
    }


@examples(10)
@given(st.lists(st.booleans(), min_size=1, max_size=6))
async def test_premium_comes_before_standard(intake: Acceptor, premiums: list[bool]) -> None:
    """Property 6."""
    for premium in premiums:
        await bring(intake, a_file(100), RICH if premium else ANN)
    async with intake.pool.connection() as conn:
        claimed = await claim.claim(conn, "w1", pipelines=["extract"], slots=9, lease=LEASE)
    order = [job.owner == RICH.key for job in claimed]
    assert order == sorted(premiums, reverse=True)


@examples(15)
@given(st.lists(st.integers(-100, 100), min_size=1, max_size=8), st.integers(1, 3))
async def test_claims_come_in_the_order_of_priority(
    pool: Pool, priorities: list[int], slots: int
) -> None:
    """Property 8."""
    pipeline, order = uuid4().hex, list[int]()
    async with pool.connection() as conn:
        for priority in priorities:
            await add_job(conn, pipeline=pipeline, priority=priority)
        while claimed := await claim.claim(
            conn, "w1", pipelines=[pipeline], slots=slots, lease=LEASE
        ):
            order += [(await the(conn, job.id)).priority for job in claimed]
    assert order == sorted(priorities, reverse=True)


@examples(4)
@given(st.integers(1, 25), st.integers(2, 4))
async def test_no_job_runs_on_two_workers_at_once(
    pool: Pool, database_url: str, count: int, workers: int
) -> None:
    """Property 9. Every job also runs exactly once, for nothing breaks."""
    running, ran = Counter[JobId](), Counter[JobId]()

    async def run(job: Claimed, note: ReportProgress) -> tuple[Ending, Usage | None]:
        running[job.id] += 1
        assert running[job.id] == 1
        await asyncio.sleep(0)
        running[job.id] -= 1
        ran[job.id] += 1
        return a_result(job), None

    async with pool.connection() as conn:
        ids = [await add_job(conn) for _ in range(count)]
    async with shift(pool, database_url, run, workers):
        await ended(pool, ids)
    async with pool.connection() as conn:
        assert {(await the(conn, job_id)).status for job_id in ids} == {Status.COMPLETE}
    assert ran == Counter(ids)


async def test_processing_is_recorded_before_work_starts(pool: Pool, database_url: str) -> None:
    """Property 10, as another connection sees it at the very start of a run."""
    seen: list[tuple[Any, ...]] = []

    async def run(job: Claimed, note: ReportProgress) -> tuple[Ending, Usage | None]:
        async with pool.connection() as conn:
            row, attempts = await the(conn, job.id), await queries.list_attempts(conn, job.id)
            last = (await queries.list_events(conn, job.id))[-1]
        seen.append((row.status, row.claim, row.leased_by == last.worker, last.kind))
        assert row.leased_by is not None
        assert row.started_at is not None
        assert [(a.attempt, a.ended_at) for a in attempts] == [(1, None)]
        return a_result(job), None

    async with pool.connection() as conn:
        job_id = await add_job(conn)
    async with shift(pool, database_url, run):
        await ended(pool, [job_id])
    assert seen == [(Status.PROCESSING, 1, True, "processing")]


@examples(20)
@given(st.lists(st.integers(0, 100), min_size=1, max_size=12))
@example([100, 0, 50])
async def test_progress_never_goes_back_and_stays_a_percentage(
    pool: Pool, percents: list[int]
) -> None:
    """Property 12."""
    shown: list[int] = []
    async with pool.connection() as conn:
        job_id = await add_job(conn)
        claimed = await claim_one(conn)
        for percent in percents:
            assert await progress.record_progress(
                conn, claimed, progress.Progress(percent, "s", True)
            )
            shown.append((await the(conn, job_id)).progress)
        await written(conn, claimed, a_result(claimed))
    assert shown == [max(percents[: n + 1]) for n in range(len(percents))]
    assert all(0 <= percent <= 100 for percent in shown)


@examples(12)
@given(st.lists(st.integers(-1000, 1000), min_size=1, max_size=20), ANY_TEXT)
async def test_a_run_may_say_any_progress_and_any_stage(
    pool: Pool, percents: list[int], stage: str
) -> None:
    """Property 12, from where a pipeline calls it; only the ending makes it 100."""
    async with pool.connection() as conn:
        job_id = await add_job(conn)
        claimed = await claim_one(conn)
    from_run = await reported(pool, claimed, [(percent, stage) for percent in percents])
    assert from_run == max(0, min(99, max(percents)))
    async with pool.connection() as conn:
        await written(conn, claimed, a_result(claimed))
        assert (await the(conn, job_id)).progress == 100


async def reported(pool: Pool, job: Claimed, words: list[tuple[int, str]]) -> int:
    """What the row says after a run said all this."""
    lost: list[bool] = []
    tasks: list[asyncio.Task[None]] = []
    links = ReporterLinks(
        lambda writing: tasks.append(asyncio.create_task(writing)),
        lambda: lost.append(True),
        lambda: None,
    )
    reporter = ProgressReporter(pool, job, links)
    async with pool.connection() as conn:
        before = (await the(conn, job.id)).updated_at
    for percent, stage in words:
        reporter.note(percent, stage)
    (task,) = tasks
    async with asyncio.timeout(PATIENCE):
        while True:
            async with pool.connection() as conn:
                row = await the(conn, job.id)
            if row.updated_at > before or task.done():
                break
    task.cancel()
    assert not lost
    return row.progress


async def test_result_status_and_hundred_percent_are_saved_together(
    pool: Pool, conn: Connection
) -> None:
    """Property 13. Nobody ever sees one without the others."""
    async with pool.connection() as own:
        job_id = await add_job(own)
    claimed = await claim_one(conn)
    await conn.commit()
    await written(conn, claimed, a_result(claimed))
    async with pool.connection() as other:
        before = await the(other, job_id)
    assert (before.status, before.progress, before.result_key) == (Status.PROCESSING, 0, None)
    await conn.commit()
    async with pool.connection() as other:
        job = await the(other, job_id)
    assert (job.status, job.progress) == (Status.COMPLETE, 100)
    assert job.result_key is not None
    assert job.completed_at is not None
