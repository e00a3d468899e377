"""Shares of a worker's slots: long documents keep to a lane, and nobody's small job waits for them.

Runs are made by the test; nothing here depends on how long anything takes.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from uuid import uuid4

import pytest

from docmill.core.jobs import Claimed, DocumentId, Ending, JobId, ReportProgress, Status, Usage
from docmill.core.owners import OwnerKey
from docmill.db.notify import CHANGES, WORK, Notifier
from docmill.db.pool import Pool
from docmill.queue import leases
from docmill.queue.claim import FreeSlots
from docmill.queue.lanes import MOST_GIVEN_BACK, STEADY_SECONDS, Lanes
from docmill.queue.worker import Worker, WorkerConfig, WorkerLinks, make_lanes
from road import ANN, BOB, a_result, add_job, claim, the
from waits import PATIENCE

pytestmark = pytest.mark.anyio

CAT = OwnerKey("session:cat")
MANY = 500
RULES = WorkerConfig(pipelines=["extract"], poll=timedelta(seconds=0.1), grace=timedelta(seconds=5))


def job_of(owner: OwnerKey = ANN, *, claim: int = 1, long: bool = False) -> Claimed:
    return Claimed(
        JobId(uuid4()), DocumentId(uuid4()), owner, "extract", None, {}, None, claim, 1, "key",
        "a.pdf", "application/pdf", 1, "0" * 64, long,
    )  # fmt: skip


class Clock:
    def __init__(self) -> None:
        self.now: float = 100.0

    def __call__(self) -> float:
        return self.now


def test_all_slots_may_be_taken_but_one_is_never_given_to_a_long_document() -> None:
    lanes = Lanes(3)
    assert lanes.room == FreeSlots(3, 2)
    lanes.enter(job_of(long=True))
    assert lanes.room == FreeSlots(2, 1)
    lanes.enter(job_of(long=True))
    assert lanes.room == FreeSlots(1, 0)


def test_a_worker_of_one_slot_reads_long_documents_too() -> None:
    lanes = Lanes(1)
    assert lanes.room == FreeSlots(1, 1)
    lanes.enter(job_of(long=True))
    assert lanes.room == FreeSlots(0, 0)


def test_a_document_that_turns_out_long_goes_back_when_its_lane_is_full() -> None:
    lanes, back = Lanes(3), list[Claimed]()
    lanes.give_back = back.append
    first, second, third, small = job_of(), job_of(), job_of(), job_of(BOB)
    for job in (first, second, third, small):
        lanes.enter(job)
    lanes.note_pages(small, 30)
    for job in (first, second, third):
        lanes.note_pages(job, MANY)
    assert back == [third]
    lanes.leave(third)
    lanes.leave(first)
    assert lanes.room == FreeSlots(1, 1)


def test_the_word_of_an_earlier_claim_counts_for_nothing() -> None:
    lanes, job = Lanes(1), job_of(claim=2)
    lanes.enter(job)
    lanes.note_pages(replace(job, claim=1), MANY)
    lanes.note_pages(job_of(), MANY)
    assert lanes.room.long_slots == 1


def test_the_reserve_opens_when_no_slot_was_filled_for_a_while() -> None:
    clock = Clock()
    lanes = Lanes(1, clock=clock)
    lanes.enter(job_of())
    assert lanes.reserve_opens_in == STEADY_SECONDS
    clock.now += STEADY_SECONDS
    assert lanes.reserve_opens_in == 0
    lanes.enter(job_of(BOB))
    assert lanes.reserve_opens_in is None
    assert lanes.owners == {ANN, BOB}


def test_of_too_many_long_runs_the_one_that_ran_longest_gives_way_but_not_for_ever() -> None:
    clock = Clock()
    lanes = Lanes(1, long_after=timedelta(seconds=10), clock=clock)
    often = job_of(claim=MOST_GIVEN_BACK + 1)
    old, young = job_of(), job_of(BOB)
    lanes.enter(old)
    clock.now += 5
    lanes.enter(young)
    clock.now += 6
    assert lanes.overdue() is None
    clock.now += 5
    assert lanes.overdue() == old
    lanes.leave(old)
    lanes.enter(often)
    clock.now += 11
    assert lanes.overdue() == young
    lanes.leave(young)
    lanes.enter(job_of(claim=MOST_GIVEN_BACK + 1))
    clock.now += 11
    assert lanes.overdue() is None


class Runs:
    """Runs that say how many pages they have and then wait to be let go."""

    def __init__(self, lanes: Lanes, pages: Callable[[Claimed], int]) -> None:
        self.now: set[JobId] = set()
        self._lanes: Lanes = lanes
        self._pages: Callable[[Claimed], int] = pages
        self._open: asyncio.Event = asyncio.Event()

    def let_go(self) -> None:
        self._open.set()

    async def __call__(self, job: Claimed, note: ReportProgress) -> tuple[Ending, Usage | None]:
        self.now.add(job.id)
        try:
            self._lanes.note_pages(job, self._pages(job))
            await self._open.wait()
            return a_result(job), Usage(1, 1, 1)
        finally:
            self.now.discard(job.id)


@asynccontextmanager
async def working(
    pool: Pool, url: str, rules: WorkerConfig, pages: Callable[[Claimed], int] = lambda _: 1
) -> AsyncGenerator[Runs]:
    changes, lanes = Notifier(pool, CHANGES), make_lanes(rules)
    runs = Runs(lanes, pages)
    worker = Worker(WorkerLinks(pool, url, changes), rules, runs, leases.identify(), lanes)
    task = asyncio.create_task(worker.run())
    try:
        yield runs
    finally:
        worker.stop()
        worker.stop()
        await task
        await changes.close()


async def add(pool: Pool, owner: OwnerKey, count: int = 1) -> list[JobId]:
    work = Notifier(pool, WORK)
    async with pool.connection() as conn:
        ids = [await add_job(conn, owner) for _ in range(count)]
    work.ring()
    await work.close()
    return ids


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not holds():
            await asyncio.sleep(0.02)


async def test_an_owner_who_fills_all_slots_does_not_keep_another_from_starting(
    pool: Pool, database_url: str
) -> None:
    anns = await add(pool, ANN, 8)
    async with working(pool, database_url, RULES) as runs:
        await until(lambda: len(runs.now) == 3)
        (bobs,) = await add(pool, BOB)
        await until(lambda: bobs in runs.now)
        assert len(runs.now & {*anns}) == 3
        runs.let_go()
        await until(lambda: not runs.now)


def long_unless_bobs(job: Claimed) -> int:
    return 1 if job.owner == BOB else MANY


async def test_long_documents_of_many_owners_leave_a_slot_and_lose_nothing_by_it(
    pool: Pool, database_url: str
) -> None:
    owners = [OwnerKey(f"session:{n}") for n in range(6)]
    longs = [(await add(pool, owner))[0] for owner in owners]
    async with working(pool, database_url, RULES, long_unless_bobs) as runs:
        await until(lambda: len(runs.now) == 2)
        (bobs,) = await add(pool, BOB)
        await until(lambda: bobs in runs.now)
        assert len(runs.now & {*longs}) == 2
        runs.let_go()
        async with asyncio.timeout(PATIENCE):
            while await open_jobs(pool, [*longs, bobs]):
                await asyncio.sleep(0.05)
    async with pool.connection() as conn:
        ended = [await the(conn, job_id) for job_id in longs]
    assert {job.attempt_count for job in ended} == {1}
    assert max(job.claim for job in ended) == 2


async def open_jobs(pool: Pool, ids: list[JobId]) -> int:
    async with pool.connection() as conn:
        states = [(await the(conn, job_id)).status for job_id in ids]
    return len(states) - states.count(Status.COMPLETE)


async def test_a_worker_of_one_slot_runs_a_small_job_beside_a_long_one(
    pool: Pool, database_url: str
) -> None:
    (anns,) = await add(pool, ANN)
    async with working(pool, database_url, replace(RULES, slots=1), long_unless_bobs) as runs:
        await until(lambda: anns in runs.now)
        (cats,) = await add(pool, CAT)
        (bobs,) = await add(pool, BOB)
        await until(lambda: bobs in runs.now)
        assert runs.now == {anns, bobs}
        async with pool.connection() as conn:
            assert (await the(conn, cats)).status is Status.QUEUED


async def test_when_the_reserve_is_taken_too_the_longest_run_goes_back_for_those_who_wait(
    pool: Pool, database_url: str
) -> None:
    rules = replace(RULES, slots=1, long_after=timedelta())
    (anns,) = await add(pool, ANN)
    async with working(pool, database_url, rules) as runs:
        await until(lambda: anns in runs.now)
        (bobs,) = await add(pool, BOB)
        await until(lambda: bobs in runs.now)
        (cats,) = await add(pool, CAT)
        await until(lambda: cats in runs.now)
        async with pool.connection() as conn:
            job = await the(conn, anns)
    assert (job.status, job.attempt_count) == (Status.QUEUED, 0)


async def test_a_marked_job_is_claimed_only_where_long_ones_have_room(pool: Pool) -> None:
    async with pool.connection() as conn:
        (job_id,) = [await add_job(conn)]
        await conn.execute("UPDATE jobs SET long = true WHERE id = %s", (job_id,))
        other = await add_job(conn, BOB)
        (job,) = await claim(conn, slots=FreeSlots(3, 0))
        assert job.id == other
        (job,) = await claim(conn, slots=FreeSlots(3, 1))
        assert (job.id, job.long) == (job_id, True)
        (held, _) = sorted(await leases.find_held(conn, "w1"), key=lambda job: not job.long)
        assert held == job
