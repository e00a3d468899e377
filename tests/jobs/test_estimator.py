"""How long a job will take, from what is in the database."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest

from docmill.core.jobs import Job, JobId, Status
from docmill.db.pool import Pool
from docmill.documents.queries import note_pages
from docmill.jobs.estimator import (
    ActiveJob,
    Estimator,
    QueuePace,
    build_line,
    list_active,
    list_past_runs,
)
from docmill.jobs.pace import GUESS, DocumentSize, History, PastRun
from docmill.queue import enqueue
from docmill.queue.progress import Progress, record_progress
from road import add_job, claim_one, finish

pytestmark = pytest.mark.anyio

SLOW = History([PastRun(DocumentSize(10**6, 1, 1), 20.0)])
QUICK = History([PastRun(DocumentSize(10**4, 1), 2.0)])


async def test_the_wait_is_what_lies_before_it_each_as_long_as_its_like() -> None:
    """Two slots, one taken for 2 s more; before us wait a scan of 20 s and two texts of 2 s."""
    runs = _make_active("invoice", elapsed=0.0)
    scan = replace(_make_active("extract"), bytes=10**6, scans=1)
    texts = [_make_active("invoice"), _make_active("invoice")]
    line = build_line([runs, scan, *texts], {"extract": SLOW, "invoice": QUICK}, 2)
    begins = [line.begin_of(one.id, 0.0) for one in (scan, *texts)]
    assert begins == pytest.approx([0.0, 2.0, 4.0])
    assert line.begin_of(JobId(uuid4()), 0.0) == pytest.approx(6.0)


def _make_active(pipeline: str, *, elapsed: float | None = None) -> ActiveJob:
    return ActiveJob(JobId(uuid4()), pipeline, 10**4, 1, 0, 0, elapsed, elapsed)


async def test_past_runs_come_with_their_pages_and_what_they_told(pool: Pool) -> None:
    async with pool.connection() as conn:
        await add_job(conn)
        claimed = await claim_one(conn)
    async with pool.connection() as conn:
        await note_pages(conn, claimed.document_id, 7)
        assert await record_progress(conn, claimed, Progress(60, "page 1 of 1", milestone=True))
        assert await list_past_runs(conn, "extract") == [], "it has not ended"
    async with pool.connection() as conn:
        assert await finish(conn, claimed)
    async with pool.connection() as conn:
        (found,) = await list_past_runs(conn, "extract")
        assert await list_past_runs(conn, "trades") == []
    assert found.size == DocumentSize(claimed.bytes, 7, 0)
    assert list(found.progress) == [60]
    (told_after,) = found.told_after
    assert 0 < told_after < found.seconds


async def test_what_runs_is_known_by_what_it_told_last(pool: Pool) -> None:
    async with pool.connection() as conn:
        await add_job(conn)
        claimed = await claim_one(conn)
    async with pool.connection() as conn:
        assert await record_progress(conn, claimed, Progress(60, "page 1 of 1", milestone=True))
    async with pool.connection() as conn:
        (found,) = await list_active(conn)
    assert found.state.progress == 60
    assert 0 < found.state.told_after <= found.state.elapsed


async def test_each_job_of_a_burst_waits_for_those_before_it(pool: Pool) -> None:
    """Nothing has run: each is a guess. They are told within a moment, in one look at the queue."""
    estimator = Estimator(pool)
    jobs = [await _add(pool) for _ in range(3)]
    told = [await estimator.seconds_left(job) for job in jobs]
    assert told == pytest.approx([GUESS, 2 * GUESS, 3 * GUESS], abs=0.5)
    later = await _add(pool)
    assert await estimator.seconds_left(later) == pytest.approx(4 * GUESS, abs=0.5)


async def _add(pool: Pool) -> Job:
    async with pool.connection() as conn:
        added = await add_job(conn)
        found = await enqueue.find_job(conn, added)
    assert found is not None
    return found


async def test_a_job_with_a_time_of_its_own_waits_for_that(pool: Pool) -> None:
    job = await _add(pool)
    later = replace(job, run_at=datetime.now(UTC) + timedelta(seconds=60))
    assert QueuePace().seconds_left(later) == pytest.approx(60 + GUESS, abs=1)
    assert QueuePace().seconds_left(replace(job, status=Status.COMPLETE)) is None
