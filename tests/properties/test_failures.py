"""SPEC section 12: what holds for any way a run can end."""

import itertools
from datetime import timedelta

import pytest
import structlog
from hypothesis import example, given
from hypothesis import strategies as st

from docmill.core.faults import FAULTS, DocmillError
from docmill.core.jobs import (
    MOVES,
    Broke,
    Claimed,
    Ending,
    JobId,
    LeaseLost,
    ReportProgress,
    Retry,
    Status,
    Stopped,
    Usage,
    settle,
)
from docmill.db.pool import Connection, Pool
from docmill.jobs import queries
from docmill.queue import settle as queue_settle
from properties.senders import ANY_TEXT, examples
from properties.shifts import ended, shift
from road import a_result, add_job, claim_one, the

pytestmark = pytest.mark.anyio

RETRIED = sorted(code for code, fault in FAULTS.items() if fault.retried)
FINAL = sorted(FAULTS.keys() - set(RETRIED))


async def written(conn: Connection, job: Claimed, ending: Ending, chance: float = 0.5) -> None:
    move = settle(job, ending, retry=Retry(), chance=chance)
    assert await queue_settle.write_settlements(conn, [queue_settle.Settlement(job, move)]) == {
        job.id
    }


async def states(conn: Connection, job_id: JobId) -> list[tuple[str | None, str]]:
    """Every step of a job's history, from and to."""
    events = await queries.list_events(conn, job_id)
    return [(event.meta["from"], event.meta["to"]) for event in events if "to" in event.meta]


@examples(30)
@given(st.sampled_from(RETRIED), st.integers(1, 2), st.floats(0, 1))
async def test_a_failure_with_attempts_left_counts_logs_and_requeues(
    pool: Pool, code: str, failures: int, chance: float
) -> None:
    """Property 14."""
    async with pool.connection() as conn:
        job_id = await add_job(conn)
        for attempt in range(1, failures + 1):
            await conn.execute("UPDATE jobs SET run_at = NULL WHERE id = %s", (job_id,))
            await written(conn, await claim_one(conn), Broke(code, "it broke"), chance)
            job, tries = await the(conn, job_id), await queries.list_attempts(conn, job_id)
            assert (job.status, job.attempt_count) == (Status.QUEUED, attempt)
            assert (tries[-1].outcome, tries[-1].error_code) == ("retry", code)
            assert (await queries.list_events(conn, job_id))[-1].kind == "retry"
            assert job.run_at is not None
            assert job.queued_at is not None
            waits = (job.run_at - job.queued_at).total_seconds()
            assert waits == pytest.approx(5 * 2**attempt + 5 * chance, abs=1e-5)


@examples(25)
@given(st.timedeltas(timedelta(), timedelta(days=3650)), st.integers(1, 99))
@example(timedelta(microseconds=81), 1)
async def test_any_delay_an_operator_sets_is_waited(
    pool: Pool, delay: timedelta, thousandths: int
) -> None:
    """Property 14, down to a microsecond."""
    retry = Retry(jitter=delay, base=timedelta())
    async with pool.connection() as conn:
        job_id = await add_job(conn)
        claimed = await claim_one(conn)
        move = settle(claimed, Broke("UNKNOWN"), retry=retry, chance=thousandths / 1000)
        assert await queue_settle.write_settlements(
            conn, [queue_settle.Settlement(claimed, move, keep=delay)]
        )
        job = await the(conn, job_id)
        assert job.run_at is not None
        assert job.queued_at is not None
        assert job.run_at - job.queued_at == move.delay
        await queries.delete_job(conn, job_id)


@examples(20)
@given(st.sampled_from(FINAL))
async def test_a_failure_for_good_is_told_with_its_sentence(pool: Pool, code: str) -> None:
    """Property 18, in the database."""
    async with pool.connection() as conn:
        job_id = await add_job(conn)
        await written(conn, await claim_one(conn), Broke(code, "detail", "stack"))
        job = await the(conn, job_id)
    assert (job.status, job.error_code) == (Status.FAILED, code)
    assert job.error_message == FAULTS[code].says


@examples(12)
@given(ANY_TEXT, st.booleans())
@example("a\x00b\ud800c", False)
@example("a\x00b\ud800c", True)
async def test_every_error_is_logged_with_time_job_message_stack_and_attempt(
    pool: Pool, database_url: str, text: str, known: bool
) -> None:
    """Property 15, whatever the error says."""

    async def run(job: Claimed, note: ReportProgress) -> tuple[Ending, Usage | None]:
        raise DocmillError("UNKNOWN", text) if known else ValueError(text)

    async with pool.connection() as conn:
        job_id = await add_job(conn)
    with structlog.testing.capture_logs() as lines:
        async with shift(pool, database_url, run):
            await ended(pool, [job_id])
    async with pool.connection() as conn:
        job, tries = await the(conn, job_id), await queries.list_attempts(conn, job_id)
    assert (job.status, job.error_code) == (Status.FAILED, "UNKNOWN")
    assert [a.attempt for a in tries] == [1, 2, 3]
    assert all(a.ended_at and a.error_code == "UNKNOWN" for a in tries)
    assert known or all(a.error_message and "ValueError" in (a.stack or "") for a in tries)
    told = [line for line in lines if line["event"] == "job.settled"]
    assert [line["attempt"] for line in told] == [1, 2, 3]
    assert all(line["job"] == str(job_id) for line in told)
    assert known or all("ValueError" in line["stack"] and line["detail"] for line in told)


ENDINGS = st.sampled_from([None, Stopped(), LeaseLost(), Broke("UNKNOWN"), Broke("BAD_PDF")])


@examples(25)
@given(st.lists(ENDINGS, max_size=5), st.booleans())
async def test_every_transition_is_logged_with_old_and_new_status(
    pool: Pool, endings: list[Ending | None], cancels: bool
) -> None:
    """Properties 21 and 22."""
    async with pool.connection() as conn:
        job_id = await add_job(conn)
        for ending in endings:
            if (await the(conn, job_id)).status is not Status.QUEUED:
                break
            await conn.execute("UPDATE jobs SET run_at = NULL WHERE id = %s", (job_id,))
            claimed = await claim_one(conn)
            await written(conn, claimed, ending or a_result(claimed))
        if cancels:
            await queries.cancel_job(conn, job_id)
        steps, job = await states(conn, job_id), await the(conn, job_id)
        tries = await queries.list_attempts(conn, job_id)
        await queries.delete_job(conn, job_id)
    assert steps[:2] == [(None, "uploaded"), ("uploaded", "queued")]
    assert all(before[1] == after[0] for before, after in itertools.pairwise(steps))
    assert {(Status(str(old)), Status(new)) for old, new in steps[1:]} <= MOVES
    assert steps[-1][1] == job.status
    assert all(a.duration_ms is not None and a.duration_ms >= 0 for a in tries)
