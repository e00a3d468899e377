"""The worker's loops over real PostgreSQL, with runs made by the test."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import psycopg
import pytest
import structlog
from psycopg_pool import AsyncConnectionPool

from docmill.core.jobs import Claimed, Ending, JobId, ReportProgress, Retry, Status, Usage
from docmill.core.jobs import settle as decide
from docmill.db.notify import CHANGES, WORK, Notifier
from docmill.db.pool import Connection, Pool
from docmill.jobs import queries
from docmill.queue import claim, leases, settle
from docmill.queue.claim import Claimer, FreeSlots
from docmill.queue.leases import Identity
from docmill.queue.rescue import Upkeep, rescue_jobs
from docmill.queue.settle import Settlement
from docmill.queue.worker import Runner, Worker, WorkerConfig, WorkerLinks
from road import LEASE, a_result, add_job, claim_one, the
from waits import PATIENCE, until

pytestmark = pytest.mark.anyio

FAST = WorkerConfig(
    pipelines=["extract"],
    lease=timedelta(seconds=PATIENCE),
    heartbeat=timedelta(seconds=0.2),
    poll=timedelta(seconds=0.2),
    grace=timedelta(minutes=1),
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


DECIDED: dict[str, Any] = {"retry": Retry(), "chance": 0}
WRITERS = "SELECT count(DISTINCT xmin::text) FROM jobs"


@asynccontextmanager
async def working(
    pool: Pool, url: str | None, runner: Runner, rules: WorkerConfig = FAST
) -> AsyncGenerator[Worker]:
    changes = Notifier(pool, CHANGES)
    worker = Worker(WorkerLinks(pool, url, changes), rules, runner, leases.identify())
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

    async def __call__(self, job: Claimed, note: ReportProgress) -> tuple[Ending, Usage | None]:
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


async def claim_two(conn: Connection) -> list[Claimed]:
    return [await claim_one(conn), await claim_one(conn)]


async def _true(value: bool) -> bool:
    return value


async def _is(pool: Pool, job_id: JobId, wanted: Status) -> bool:
    return await status(pool, job_id) is wanted


async def test_new_work_starts_by_notification_long_before_the_next_poll(
    pool: Pool, database_url: str
) -> None:
    gate = Gate()
    gate.open()
    rules = WorkerConfig(pipelines=["extract"], poll=timedelta(hours=1), grace=timedelta(minutes=1))
    bell = Notifier(pool, WORK)
    async with working(pool, database_url, gate, rules):
        await until(lambda: _listens(pool))
        (job_id,) = await add(pool)
        bell.ring()
        await until(lambda: _is(pool, job_id, Status.COMPLETE))
    await bell.close()


async def test_a_run_begins_before_the_worker_asks_the_database_again(
    pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []
    statements = pool.statements

    def note_statements() -> AbstractAsyncContextManager[Connection]:
        seen.append("asks")
        return statements()

    async def note_run(job: Claimed, _note: ReportProgress) -> tuple[Ending, Usage | None]:
        seen.append("runs")
        return a_result(job), Usage(1, 1, 1)

    (job_id,) = await add(pool)
    monkeypatch.setattr(pool, "statements", note_statements)
    async with working(pool, None, note_run):
        await until(lambda: _is(pool, job_id, Status.COMPLETE))
    assert seen[:3] == ["asks", "runs", "asks"]


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
    async def explode(job: Claimed, note: ReportProgress) -> tuple[Ending, Usage | None]:
        raise ValueError("boom")

    (job_id,) = await add(pool)
    async with working(pool, database_url, explode):
        await until(lambda: _is(pool, job_id, Status.FAILED))
    async with pool.connection() as conn:
        job, attempts = await the(conn, job_id), await queries.list_attempts(conn, job_id)
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
            await queries.cancel_job(conn, job_id)
            await queries.notify_cancelled(conn, job_id)
        await until(lambda: _true(worker.idle))
    assert gate.left == []
    assert await status(pool, job_id) is Status.CANCELLED


async def test_a_run_outlives_its_lease_while_its_worker_keeps_beating(
    pool: Pool, database_url: str
) -> None:
    """As if half of the lease were over, again and again: more than the whole in the end."""
    gate = Gate()
    (job_id,) = await add(pool)
    async with working(pool, database_url, gate):
        await until(lambda: _true(len(gate.came) == 1))
        for _ in range(3):
            left = await half_a_lease_later(pool, job_id)
            await until(lambda left=left: _is_longer(pool, job_id, left))
            assert await rescue_jobs(upkeep(pool)) == 0
        gate.open()
        await until(lambda: _is(pool, job_id, Status.COMPLETE))
    assert gate.came == [job_id]


async def half_a_lease_later(pool: Pool, job_id: JobId) -> datetime:
    async with pool.connection() as conn:
        await conn.execute("UPDATE jobs SET lease_expires_at = now() + %s", (FAST.lease / 2,))
    return await lease_end(pool, job_id)


async def _is_longer(pool: Pool, job_id: JobId, left: datetime) -> bool:
    return await lease_end(pool, job_id) >= left + FAST.lease / 4


async def lease_end(pool: Pool, job_id: JobId) -> datetime:
    async with pool.connection() as conn:
        end = (await the(conn, job_id)).lease_expires_at
    assert end is not None
    return end


def upkeep(pool: Pool, **given: Any) -> Upkeep:
    bell = Notifier(pool, WORK)
    return Upkeep(pool, None, bell, bell, FAST, given.get("me", leases.identify()))  # type: ignore[arg-type]


async def test_the_job_of_a_worker_known_to_be_dead_is_taken_back_at_once(pool: Pool) -> None:
    me = leases.identify()
    ghost = Identity(me.host, me.machine, 2**22 - 1, "1", "ffffff")
    (job_id,) = await add(pool)
    async with pool.connection() as conn:
        await claim_one(conn, str(ghost))
    assert await rescue_jobs(upkeep(pool, me=me)) == 1
    async with pool.connection() as conn:
        job, (attempt,) = await the(conn, job_id), await queries.list_attempts(conn, job_id)
    assert (job.status, job.attempt_count) == (Status.QUEUED, 1)
    assert (attempt.outcome, attempt.error_code) == ("lost", "WORKER_LOST")


async def test_nobody_on_another_machine_is_declared_dead(pool: Pool) -> None:
    me = leases.identify()
    elsewhere = Identity("far", "another", 2**22 - 1, "1", "ffffff")
    await add(pool)
    async with pool.connection() as conn:
        await claim_one(conn, str(elsewhere))
    assert await rescue_jobs(upkeep(pool, me=me)) == 0


async def test_a_job_that_kills_its_workers_is_parked_after_three_attempts(pool: Pool) -> None:
    me = leases.identify()
    ghost = Identity(me.host, me.machine, 2**22 - 1, "1", "ffffff")
    (job_id,) = await add(pool)
    for _ in range(3):
        async with pool.connection() as conn:
            await claim_one(conn, str(ghost))
        await rescue_jobs(upkeep(pool, me=me))
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
    real, lost = claim.claim, 0

    async def claim_and_break(conn: Connection, *args: Any, **kwargs: Any) -> list[Claimed]:
        nonlocal lost
        claimed = await real(conn, *args, **kwargs)
        if claimed and not lost:
            lost += 1
            await conn.commit()
            raise psycopg.OperationalError("the connection broke just after COMMIT")
        return claimed

    monkeypatch.setattr(claim, "claim", claim_and_break)
    gate = Gate()
    gate.open()
    ids = await add(pool, 2)
    async with working(pool, database_url, gate):
        for job_id in ids:
            await until(lambda job_id=job_id: _is(pool, job_id, Status.COMPLETE))
    assert lost == 1
    assert sorted(gate.left) == sorted(ids)


@pytest.mark.parametrize("number", ["25006", "53100", "57014", "42P01", "XX000", "22012"])
async def test_claims_heartbeats_and_endings_outlive_any_error_of_the_database(
    pool: Pool, database_url: str, monkeypatch: pytest.MonkeyPatch, number: str
) -> None:
    """A mistake of ours in a statement among them; only an ending that is refused is told."""
    sick = True
    names = {"claim": claim, "extend_leases": leases, "promote": claim}

    def spoil(real: Any) -> Any:
        async def spoiled(conn: Connection, *args: Any, **kwargs: Any) -> Any:
            if sick:
                raise psycopg.errors.lookup(number)("it is sick")
            return await real(conn, *args, **kwargs)

        return spoiled

    for name, module in names.items():
        monkeypatch.setattr(module, name, spoil(getattr(module, name)))
    gate = Gate()
    gate.open()
    with structlog.testing.capture_logs() as lines:
        async with working(pool, database_url, gate):
            ids = await add(pool, 2)
            waits = {"claim.waits", "beat.waits"}
            await until(lambda: _true(waits <= {line["event"] for line in lines}), 60)
            sick = False
            for job_id in ids:
                await until(lambda job_id=job_id: _is(pool, job_id, Status.COMPLETE), 60)
            over = {"claim.goes_on", "beat.goes_on"}
            await until(lambda: _true(over <= {line["event"] for line in lines}), 60)
    said = [line["event"] for line in lines]
    assert (said.count("claim.waits"), said.count("claim.goes_on")) == (1, 1)
    assert (said.count("beat.waits"), said.count("beat.goes_on")) == (1, 1)


@pytest.mark.parametrize("number", ["25006", "53100", "XX000"])
async def test_an_ending_is_written_when_the_sick_database_is_well_again(
    pool: Pool, database_url: str, monkeypatch: pytest.MonkeyPatch, number: str
) -> None:
    refused = 0

    def spoil(real: Any) -> Any:
        async def write_later(*args: Any) -> Any:
            nonlocal refused
            if refused < 3:
                refused += 1
                raise psycopg.errors.lookup(number)("it is sick")
            return await real(*args)

        return write_later

    for name in ("write_settlements", "exchange"):
        monkeypatch.setattr(settle, name, spoil(getattr(settle, name)))
    gate = Gate()
    gate.open()
    ids = await add(pool, 3)
    async with working(pool, database_url, gate):
        for job_id in ids:
            await until(lambda job_id=job_id: _is(pool, job_id, Status.COMPLETE), 60)
    assert refused == 3
    assert sorted(gate.left) == sorted(ids)


async def test_the_next_job_is_claimed_in_the_transaction_that_settles_the_last(
    pool: Pool, database_url: str
) -> None:
    """Row versions name the transaction that wrote them."""
    ids = await add(pool, 2)
    started: list[JobId] = []
    may_end = asyncio.Event()

    async def hold_the_second(job: Claimed, _: ReportProgress) -> tuple[Ending, Usage | None]:
        started.append(job.id)
        if len(started) > 1:
            await may_end.wait()
        return a_result(job), Usage(1, 1, 1)

    # No heartbeat, which would write the row again.
    rules = replace(FAST, slots=1, heartbeat=timedelta(hours=1))
    async with working(pool, database_url, hold_the_second, rules):
        await until(lambda: _true(len(started) == 2))
        async with pool.connection() as conn:
            row = await (await conn.execute(WRITERS)).fetchone()
        may_end.set()
        for job_id in ids:
            await until(lambda job_id=job_id: _is(pool, job_id, Status.COMPLETE))
    assert row == (1,)


async def test_endings_with_rows_are_settled_without_a_claim(
    pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever is claimed for would wait until another owner's rows are written."""
    asked: list[bool] = []
    wrote: list[JobId] = []

    async def write(_: Connection, job: Claimed, __: Any) -> None:
        wrote.append(job.id)

    monkeypatch.setattr(settle.rows, "write_rows", write)
    following = settle.NextClaim(lambda: asked.append(True), lambda _: None, lambda: None)
    settler = settle.Settler(pool, None, following)
    await add(pool, 2)
    async with pool.connection() as conn:
        plain, with_rows = await claim_two(conn)
    move = decide(with_rows, replace(a_result(with_rows), rows={"trades": b"[]"}), **DECIDED)
    assert await settler.settle(settle.Settlement(with_rows, move))
    assert (asked, wrote) == ([], [with_rows.id])
    move = decide(plain, a_result(plain), **DECIDED)
    assert await settler.settle(settle.Settlement(plain, move))
    assert (asked, wrote) == ([True], [with_rows.id])


async def test_where_many_end_at_once_two_statements_share_endings_and_slots(
    pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, rooms, both = settle.exchange, list[tuple[int, FreeSlots]](), asyncio.Event()

    async def exchange_together(
        conn: Connection, endings: Sequence[Settlement], taker: Claimer, room: FreeSlots
    ) -> Any:
        rooms.append((len(endings), room))
        if len(rooms) == 2:
            both.set()
        async with asyncio.timeout(30):
            await both.wait()
        return await real(conn, endings, taker, room)

    monkeypatch.setattr(settle, "exchange", exchange_together)
    begun: list[Claimed] = []
    taker = Claimer("w1", ["extract"], LEASE)
    following = settle.NextClaim(lambda: (taker, FreeSlots(12, 7)), begun.extend, lambda: None)
    settler = settle.Settler(pool, None, following)
    await add(pool, 30)
    async with pool.connection() as conn:
        ended = await claim.claim(conn, "w1", pipelines=["extract"], slots=12, lease=LEASE)
    moves = [Settlement(job, decide(job, a_result(job), **DECIDED)) for job in ended]
    assert all(await asyncio.gather(*(settler.settle(move) for move in moves)))
    assert rooms == [(6, FreeSlots(6, 7)), (6, FreeSlots(6, 1))]
    assert len({job.id for job in begun}) == len(begun) == 12


async def test_an_exchange_whose_answer_was_lost_is_found_again(
    pool: Pool, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, lost = settle.exchange, 0

    async def exchange_and_break(conn: Connection, *args: Any) -> Any:
        nonlocal lost
        moved, claimed = await real(conn, *args)
        if claimed and not lost:
            lost += 1
            raise psycopg.OperationalError("the connection broke just after COMMIT")
        return moved, claimed

    monkeypatch.setattr(settle, "exchange", exchange_and_break)
    gate = Gate()
    gate.open()
    ids = await add(pool, 8)
    async with working(pool, database_url, gate):
        for job_id in ids:
            await until(lambda job_id=job_id: _is(pool, job_id, Status.COMPLETE))
    assert lost == 1
    assert sorted(gate.left) == sorted(ids)


async def test_a_worker_whose_loop_breaks_says_so_and_the_next_of_its_name_has_its_jobs(
    pool: Pool, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    me, changes, gate = leases.identify(), Notifier(pool, CHANGES), Gate()
    (job_id,) = await add(pool)

    async def broken(*_: Any, **__: Any) -> set[JobId]:
        if gate.came:
            raise KeyError("a mistake of ours")
        return set()

    with monkeypatch.context() as patch:
        patch.setattr(leases, "extend_leases", broken)
        first = Worker(WorkerLinks(pool, database_url, changes), FAST, gate, me)
        with pytest.raises(KeyError):
            await asyncio.wait_for(first.run(), PATIENCE)
    gate.open()
    second = Worker(WorkerLinks(pool, database_url, changes), FAST, gate, me)
    task = asyncio.create_task(second.run())
    await until(lambda: _is(pool, job_id, Status.COMPLETE), 60)
    second.stop()
    await task
    await changes.close()
