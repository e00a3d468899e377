"""Jobs that ask a service outside: it pauses, fails, comes back, and is not paid for twice."""

import asyncio
import os
import signal
import sys
from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest

from asker import RULES, add, working
from docmill.core.jobs import Job, JobId, Status
from docmill.db.notify import CHANGES, WORK, Notifier
from docmill.db.pool import Pool
from docmill.jobs import queries
from docmill.jobs.retention import sweep
from docmill.queue import leases
from docmill.queue.rescue import Upkeep, rescue_jobs
from docmill.services.breaker import Breaker, BreakerConfig, CircuitState, ServiceGuard
from docmill.storage import open_store
from docmill.storage.contract import Store
from road import the
from speakers import answer, speaking
from waits import until

pytestmark = pytest.mark.anyio

TESTS = Path(__file__).parents[1]
GOOD = answer("200 OK", b'{"data": [{"index": 0, "embedding": [1.0]}]}')
BUSY = answer("429 Slow", retry_after="1")
DOWN = answer("500 Oops")
EMBED = {"does": "ask", "service": "embed", "request": {"texts": ["a"]}}


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return open_store(str(tmp_path))


async def job(pool: Pool, job_id: JobId) -> Job:
    async with pool.connection() as conn:
        return await the(conn, job_id)


async def has(pool: Pool, job_id: JobId, status: Status) -> bool:
    return (await job(pool, job_id)).status is status


async def kept(pool: Pool) -> int:
    async with pool.connection() as conn:
        row = await (await conn.execute("SELECT count(*) FROM answers")).fetchone()
    assert row
    return row[0]


async def outcomes(pool: Pool, job_id: JobId) -> list[tuple[str | None, str | None]]:
    async with pool.connection() as conn:
        return [(one.outcome, one.error_code) for one in await queries.list_attempts(conn, job_id)]


async def test_an_answer_paid_for_by_a_killed_worker_serves_the_next(
    pool: Pool, store: Store, database_url: str, tmp_path: Path
) -> None:
    job_id = await add(pool, store, **EMBED)
    async with speaking(GOOD) as speaker:
        command = [sys.executable, "-m", "asker", database_url, str(tmp_path), speaker.url]
        killed = await asyncio.create_subprocess_exec(
            *command, "answer.kept=kill", env={**os.environ, "PYTHONPATH": str(TESTS)}
        )
        assert await killed.wait() == -signal.SIGKILL
        assert await kept(pool) == 1
        bells = Notifier(pool, WORK), Notifier(pool, CHANGES)
        await rescue_jobs(Upkeep(pool, store, *bells, RULES, leases.identify()))
        async with working(pool, store, speaker.url, ServiceGuard("embed")):
            await until(partial(has, pool, job_id, Status.COMPLETE))
    assert len(speaker.heard) == 1
    assert await outcomes(pool, job_id) == [("lost", "WORKER_LOST"), ("complete", None)]
    assert await kept(pool) == 0


async def test_a_pause_the_service_asks_for_is_the_delay_of_the_retry(
    pool: Pool, store: Store
) -> None:
    job_id = await add(pool, store, **EMBED)
    async with (
        speaking(BUSY, GOOD) as speaker,
        working(pool, store, speaker.url, ServiceGuard("embed")),
    ):
        await until(partial(has, pool, job_id, Status.COMPLETE))
    assert await outcomes(pool, job_id) == [("retry", "SERVICE_BUSY"), ("complete", None)]
    async with pool.connection() as conn:
        first, second = await queries.list_attempts(conn, job_id)
    assert first.ended_at
    assert second.started_at - first.ended_at >= timedelta(seconds=0.9)


async def test_a_long_document_is_not_failed_by_a_service_that_slows_it_down(
    pool: Pool, store: Store
) -> None:
    requests = [{"texts": [text]} for text in "abcde"]
    job_id = await add(pool, store, does="ask each", service="embed", requests=requests)
    again = answer("429 Slow", retry_after="0")
    async with (
        speaking(GOOD, again, GOOD, again, GOOD, again, GOOD, again, again, GOOD) as speaker,
        working(pool, store, speaker.url, ServiceGuard("embed")),
    ):
        await until(partial(has, pool, job_id, Status.COMPLETE))
    slowed = ("stopped", "SERVICE_BUSY")
    assert await outcomes(pool, job_id) == [
        slowed, slowed, slowed, slowed, ("retry", "SERVICE_BUSY"), ("complete", None),
    ]  # fmt: skip
    assert (await job(pool, job_id)).attempt_count == 2
    assert len(speaker.heard) == 10, "each question is answered once"


async def test_while_a_service_is_left_alone_its_jobs_wait_and_keep_their_attempts(
    pool: Pool, store: Store
) -> None:
    now = 0.0
    breaker = Breaker(BreakerConfig(fewest=2, cool_down=timedelta(seconds=2)))
    guard = ServiceGuard("embed", breaker, clock=lambda: now)
    first = await add(pool, store, **EMBED)
    async with speaking(DOWN) as speaker, working(pool, store, speaker.url, guard):
        await until(lambda: _is(guard, CircuitState.OPEN))
        await until(lambda: _has_waited(pool, first))
        assert len(speaker.heard) == 2
        now = 3.0
        speaker.says[:] = [GOOD]
        await until(partial(has, pool, first, Status.COMPLETE))
    told = await outcomes(pool, first)
    assert [code for _, code in told[:2]] == ["SERVICE_FAILED", "SERVICE_FAILED"]
    assert {outcome for outcome, _ in told[2:-1]} == {"stopped"}
    assert (await job(pool, first)).attempt_count == 3


async def _is(guard: ServiceGuard, state: CircuitState) -> bool:
    return guard.state is state


async def _has_waited(pool: Pool, job_id: JobId) -> bool:
    return ("stopped", None) in await outcomes(pool, job_id)


async def test_a_service_that_failed_for_too_long_fails_the_job_and_says_so(
    pool: Pool, store: Store
) -> None:
    now = 0.0
    guard = ServiceGuard(
        "embed", Breaker(BreakerConfig(fewest=1)), patience=timedelta(seconds=40), clock=lambda: now
    )
    async with speaking(DOWN) as speaker, working(pool, store, speaker.url, guard):
        first = await add(pool, store, **EMBED)
        await until(lambda: _is(guard, CircuitState.OPEN))
        now = 29.0
        await until(lambda: _has_waited(pool, first))
        now = 31.0
        second = await add(pool, store, **EMBED)
        await until(lambda: _is(guard, CircuitState.OPEN))
        now = 41.0
        await until(partial(has, pool, second, Status.FAILED))
    assert (await job(pool, second)).error_code == "SERVICE_GONE"


async def test_a_run_cannot_pretend_that_a_service_rests(pool: Pool, store: Store) -> None:
    job_id = await add(pool, store, does="pretend resting")
    async with speaking(GOOD) as speaker, working(pool, store, speaker.url, ServiceGuard("embed")):
        await until(partial(has, pool, job_id, Status.FAILED))
    told = await outcomes(pool, job_id)
    assert told == [("retry", "UNKNOWN"), ("retry", "UNKNOWN"), ("failed", "UNKNOWN")]


async def test_answers_of_cancelled_jobs_go_with_the_sweep(pool: Pool, store: Store) -> None:
    job_id = await add(pool, store, **EMBED)
    async with pool.connection() as conn:
        digest = "decode(repeat('00', 32), 'hex')"
        await conn.execute(
            f"INSERT INTO answers (job_id, question, answer) VALUES (%s, {digest}, '{{}}')",
            (job_id,),
        )
        await conn.execute("UPDATE jobs SET status = 'cancelled', cancelled_at = now()")
    upkeep = Upkeep(
        pool, store, Notifier(pool, WORK), Notifier(pool, CHANGES), RULES, leases.identify()
    )
    await sweep(upkeep)
    assert await kept(pool) == 0
