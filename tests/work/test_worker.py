"""The worker's loops over real PostgreSQL, with runs made by the test."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from typing import Any

import psycopg
import pytest
from psycopg_pool import AsyncConnectionPool

from docmill.core.jobs import Claimed, Ending, JobId, Retry, Status, Usage
from docmill.db import history, jobs, queue
from docmill.db.pool import Connection, Pool
from docmill.db.signals import CHANGES, WORK, Bell
from docmill.work import identity
from docmill.work.identity import Identity
from docmill.work.upkeep import Upkeep, rescue
from docmill.work.worker import Links, Note, Rules, Runner, Worker
from road import a_result, add_job, claim_one, the

pytestmark = pytest.mark.anyio

FAST = Rules(
    pipelines=["extract"],
    lease=timedelta(seconds=5),
    heartbeat=timedelta(seconds=0.2),
    poll=timedelta(seconds=0.2),
    grace=timedelta(seconds=5),
    retry=Retry(3, timedelta(), timedelta(seconds=0.01)),
)


CUT_OTHERS = """
SELECT pg_terminate_backend(pid) FROM pg_stat_activity
 WHERE datname = current_database() AND pid <> pg_backend_pid()
"""


LISTENERS = """
SELECT count(*) FROM pg_stat_activity
 WHERE datname = current_database() AND state = 'idle' AND query LIKE 'LISTEN%'
"""


async def until(holds: Callable[[], Awaitable[bool]], seconds: float = 10) -> None:
    async with asyncio.timeout(seconds):
        while not await holds():
            await asyncio.sleep(0.02)


@asynccontextmanager
async def working(
    pool: Pool, url: str | None, runner: Runner, rules: Rules = FAST
) -> AsyncGenerator[Worker]:
    changes = Bell(pool, CHANGES)
    worker = Worker(Links(pool, url, changes), rules, runner, identity.me())
    task = asyncio.create_task(worker.run())
    try:
        yield worker
    finally:
        worker.stop()
        await task
        await changes.close()


async def status(pool: Pool, job_id: JobId) -> Status:
    async with pool.connection() as conn:
        return (await the(conn, job_id)).status


async def add(pool: Pool, count: int = 1, **given: Any) -> list[JobId]:
    async with pool.connection() as conn:
        return [await add_job(conn, **given) for _ in range(count)]


class Gate:
    """A runner that holds every run until it is opened, and writes down who came."""

    def __init__(self) -> None:
        self.came: list[JobId] = []
        self.left: list[JobId] = []
        self._open: asyncio.Event = asyncio.Event()

    def open(self) -> None:
        self._open.set()

    async def __call__(self, job: Claimed, note: Note) -> tuple[Ending, Usage | None]:
        self.came.append(job.id)
        await self._open.wait()
        self.left.append(job.id)
        return a_result(job), Usage(1, 1, 1)


async def test_of_five_jobs_three_run_and_two_wait(pool: Pool, database_url: str) -> None:
    gate = Gate()
    ids = await add(pool, 5)
    async with working(pool, database_url, gate):
        await until(lambda: _true(len(gate.came) == 3))
        states = [await status(pool, job_id) for job_id in ids]
        assert states.count(Status.PROCESSING) == 3
        assert states.count(Status.QUEUED) == 2
        gate.open()
        for job_id in ids:
            await until(lambda job_id=job_id: _is(pool, job_id, Status.COMPLETE))


async def _true(value: bool) -> bool:
    return value


async def _is(pool: Pool, job_id: JobId, wanted: Status) -> bool:
    return await status(pool, job_id) is wanted


async def test_new_work_starts_by_notification_long_before_the_next_poll(
    pool: Pool, database_url: str
) -> None:
    gate = Gate()
    gate.open()
    rules = Rules(pipelines=["extract"], poll=timedelta(hours=1), grace=timedelta(seconds=1))
    bell = Bell(pool, WORK)
    async with working(pool, database_url, gate, rules):
        await until(lambda: _listens(pool))
        (job_id,) = await add(pool)
        bell.ring()
        await until(lambda: _is(pool, job_id, Status.COMPLETE))
    await bell.close()


async def _listens(pool: Pool) -> bool:
    async with pool.connection() as conn:
        row = await (await conn.execute(LISTENERS)).fetchone()
    return row is not None and row[0] > 0


async def test_polling_alone_is_enough(pool: Pool) -> None:
    gate = Gate()
    gate.open()
    async with working(pool, None, gate):
        (job_id,) = await add(pool)
        await until(lambda: _is(pool, job_id, Status.COMPLETE))


async def test_a_run_that_raises_is_tried_three_times_and_every_try_is_kept(
    pool: Pool, database_url: str
) -> None:
    async def explode(job: Claimed, note: Note) -> tuple[Ending, Usage | None]:
        raise ValueError("boom")

    (job_id,) = await add(pool)
    async with working(pool, database_url, explode):
        await until(lambda: _is(pool, job_id, Status.FAILED))
    async with pool.connection() as conn:
        job, attempts = await the(conn, job_id), await history.attempts(conn, job_id)
    assert (job.error_code, job.attempt_count) == ("UNKNOWN", 3)
    assert job.error_message == "Something went wrong"
    assert [a.outcome for a in attempts] == ["retry", "retry", "failed"]
    assert all(a.stack and "boom" in a.stack and a.ended_at for a in attempts)


async def test_stop_finishes_what_runs_and_claims_nothing_more(
    pool: Pool, database_url: str
) -> None:
    gate = Gate()
    ids = await add(pool, 4)
    async with working(pool, database_url, gate) as worker:
        await until(lambda: _true(len(gate.came) == 3))
        worker.stop()
        gate.open()
    states = [await status(pool, job_id) for job_id in ids]
    assert states.count(Status.COMPLETE) == 3
    assert states.count(Status.QUEUED) == 1


async def test_a_second_stop_gives_everything_back_unharmed(pool: Pool, database_url: str) -> None:
    gate = Gate()
    (job_id,) = await add(pool)
    async with working(pool, database_url, gate) as worker:
        await until(lambda: _true(len(gate.came) == 1))
        worker.stop()
    async with pool.connection() as conn:
        job = await the(conn, job_id)
    assert (job.status, job.attempt_count, job.claim) == (Status.QUEUED, 0, 1)


async def test_a_cancelled_job_is_stopped_at_once(pool: Pool, database_url: str) -> None:
    gate = Gate()
    (job_id,) = await add(pool)
    async with working(pool, database_url, gate) as worker:
        await until(lambda: _true(len(gate.came) == 1))
        async with pool.connection() as conn:
            await jobs.cancel(conn, job_id)
            await jobs.tell_cancelled(conn, job_id)
        await until(lambda: _true(worker.idle))
    assert gate.left == []
    assert await status(pool, job_id) is Status.CANCELLED


async def test_a_run_outlives_its_lease_while_its_worker_keeps_beating(
    pool: Pool, database_url: str
) -> None:
    gate = Gate()
    rules = Rules(
        pipelines=["extract"], lease=timedelta(seconds=0.6), heartbeat=timedelta(seconds=0.1)
    )
    (job_id,) = await add(pool)
    async with working(pool, database_url, gate, rules):
        await until(lambda: _true(len(gate.came) == 1))
        first = await lease_end(pool, job_id)
        async with asyncio.timeout(20):
            while await lease_end(pool, job_id) < first + 3 * rules.lease:
                assert await rescue(upkeep(pool)) == 0
        gate.open()
        await until(lambda: _is(pool, job_id, Status.COMPLETE))
    assert gate.came == [job_id]


async def lease_end(pool: Pool, job_id: JobId) -> datetime:
    async with pool.connection() as conn:
        end = (await the(conn, job_id)).lease_expires_at
    assert end is not None
    return end


def upkeep(pool: Pool, **given: Any) -> Upkeep:
    bell = Bell(pool, WORK)
    return Upkeep(pool, None, bell, bell, FAST, given.get("me", identity.me()))  # type: ignore[arg-type]


async def test_the_job_of_a_worker_known_to_be_dead_is_taken_back_at_once(pool: Pool) -> None:
    me = identity.me()
    ghost = Identity(me.host, me.machine, 2**22 - 1, "1", "ffffff")
    (job_id,) = await add(pool)
    async with pool.connection() as conn:
        await claim_one(conn, str(ghost))
    assert await rescue(upkeep(pool, me=me)) == 1
    async with pool.connection() as conn:
        job, (attempt,) = await the(conn, job_id), await history.attempts(conn, job_id)
    assert (job.status, job.attempt_count) == (Status.QUEUED, 1)
    assert (attempt.outcome, attempt.error_code) == ("lost", "WORKER_LOST")


async def test_nobody_on_another_machine_is_declared_dead(pool: Pool) -> None:
    me = identity.me()
    elsewhere = Identity("far", "another", 2**22 - 1, "1", "ffffff")
    await add(pool)
    async with pool.connection() as conn:
        await claim_one(conn, str(elsewhere))
    assert await rescue(upkeep(pool, me=me)) == 0


async def test_a_job_that_kills_its_workers_is_parked_after_three_attempts(pool: Pool) -> None:
    me = identity.me()
    ghost = Identity(me.host, me.machine, 2**22 - 1, "1", "ffffff")
    (job_id,) = await add(pool)
    for _ in range(3):
        async with pool.connection() as conn:
            await claim_one(conn, str(ghost))
        await rescue(upkeep(pool, me=me))
    async with pool.connection() as conn:
        job = await the(conn, job_id)
    assert (job.status, job.error_code) == (Status.FAILED, "WORKER_LOST")


async def test_work_goes_on_after_every_connection_was_cut(
    pool: Pool, database_url: str, conn: Connection
) -> None:
    gate = Gate()
    ids = await add(pool, 6)
    async with working(pool, database_url, gate):
        await until(lambda: _true(len(gate.came) == 3))
        await conn.execute(CUT_OTHERS)
        gate.open()
        async with AsyncConnectionPool(database_url, open=False) as fresh:
            for job_id in ids:
                await until(lambda job_id=job_id: _is(fresh, job_id, Status.COMPLETE))  # type: ignore[arg-type]
    assert sorted(gate.left) == sorted(ids)


async def test_a_claim_whose_answer_was_lost_is_found_again(
    pool: Pool, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, lost = queue.claim, 0

    async def claim_and_break(conn: Connection, *args: Any, **kwargs: Any) -> list[Claimed]:
        nonlocal lost
        claimed = await real(conn, *args, **kwargs)
        if claimed and not lost:
            lost += 1
            await conn.commit()
            raise psycopg.OperationalError("the connection broke just after COMMIT")
        return claimed

    monkeypatch.setattr(queue, "claim", claim_and_break)
    gate = Gate()
    gate.open()
    ids = await add(pool, 2)
    async with working(pool, database_url, gate):
        for job_id in ids:
            await until(lambda job_id=job_id: _is(pool, job_id, Status.COMPLETE))
    assert lost == 1
    assert sorted(gate.left) == sorted(ids)
