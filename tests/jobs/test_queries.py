"""One owner's lists: nothing is missed by asking since, nothing is shown twice by paging."""

import asyncio
import itertools
import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import psycopg
import pytest

from docmill.core.jobs import Job, JobId, Status
from docmill.core.owners import OwnerKey
from docmill.db.pool import Connection, Pool
from docmill.jobs import queries
from docmill.jobs.queries import JobFilter
from docmill.web.params import Cursor
from road import ANN, BOB, add_job, claim_one, finish, the
from waits import PATIENCE

pytestmark = pytest.mark.anyio

ANY = JobFilter()
LONG_AGO = datetime.fromtimestamp(0, UTC)
TOUCH = "UPDATE jobs SET stage = %s WHERE id = %s"


async def changed(conn: Connection, since: datetime, limit: int = 1000) -> list[Job]:
    return await queries.list_changed(conn, ANN, ANY, since=since, limit=limit)


async def pages(conn: Connection, owner: OwnerKey, limit: int) -> list[JobId]:
    """Every job of an owner, page by page."""
    seen: list[JobId] = []
    after: Cursor | None = None
    while page := await queries.list_recent(conn, owner, ANY, after=after, limit=limit):
        seen += [job.id for job in page]
        after = Cursor(page[-1].created_at, page[-1].id)
    return seen


class Reader:
    """Asks again and again with the last time it was told, as a page does."""

    def __init__(self, limit: int) -> None:
        self.seen: dict[JobId, str] = {}
        self.asked: int = 0
        self._since: datetime = LONG_AGO
        self._limit: int = limit

    async def ask(self, conn: Connection) -> int:
        news = await changed(conn, self._since, self._limit)
        await conn.rollback()
        self.asked += 1
        for job in news:
            self.seen[job.id] = job.stage
            self._since = job.updated_at
        return len(news)


async def write(url: str, mine: list[JobId], seed: int, may_end: Callable[[], bool]) -> None:
    """Transactions of one to three changes that stay open for a while, some undone."""
    dice = random.Random(seed)
    async with await psycopg.AsyncConnection.connect(url) as conn:
        for number in itertools.count():
            if number >= 15 and may_end():
                return
            for job_id in sorted(dice.sample(mine, dice.randint(1, 3))):
                await conn.execute(TOUCH, (f"{seed}.{number}", job_id))
                await asyncio.sleep(dice.random() * 0.004)
            await (conn.rollback() if dice.random() < 0.2 else conn.commit())


async def test_who_asks_since_the_last_change_misses_none_of_many_writers(
    pool: Pool, database_url: str
) -> None:
    async with pool.connection() as conn:
        ids = [await add_job(conn) for _ in range(12)]
    groups = [ids[start::4] for start in range(4)]
    reader = Reader(limit=5)
    async with await psycopg.AsyncConnection.connect(database_url) as conn:
        during = 0
        writers = [
            asyncio.create_task(write(database_url, group, seed, lambda: during > 20))
            for seed, group in enumerate(groups)
        ]
        while not all(writer.done() for writer in writers):
            during += await reader.ask(conn)
            await asyncio.sleep(0)
        await asyncio.gather(*writers)
        while await reader.ask(conn):
            pass
        final = {job_id: (await the(conn, job_id)).stage for job_id in ids}
    assert reader.seen == final


async def test_a_change_that_began_first_and_commits_last_is_not_behind_the_reader(
    database_url: str, conn: Connection
) -> None:
    """The owner's lock: the second writer waits, so it cannot show a later time first."""
    first, second = await add_job(conn), await add_job(conn)
    await conn.commit()
    since = (await the(conn, second)).updated_at
    await conn.commit()
    async with (
        await psycopg.AsyncConnection.connect(database_url) as early,
        await psycopg.AsyncConnection.connect(database_url) as late,
    ):
        await early.execute(TOUCH, ("early", first))
        waiting = asyncio.create_task(late.execute(TOUCH, ("late", second)))
        await until_blocked(conn, late.info.backend_pid)
        assert await changed(conn, since) == []
        await conn.rollback()
        await early.commit()
        await waiting
        (news,) = await changed(conn, since)
        await conn.rollback()
        await late.commit()
        rest = await changed(conn, news.updated_at)
    assert (news.id, [job.id for job in rest]) == (first, [second])


UNLOCKED = """
CREATE OR REPLACE FUNCTION jobs_guard() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN NEW.updated_at = clock_timestamp(); RETURN NEW; END $$;
DROP TRIGGER jobs_tell_dependents ON jobs
"""


async def test_without_the_owners_lock_the_reader_would_miss_it(
    database_url: str, conn: Connection
) -> None:
    """The negative control."""
    await conn.execute(UNLOCKED)
    first, second = await add_job(conn), await add_job(conn)
    await conn.commit()
    since = (await the(conn, second)).updated_at
    await conn.rollback()
    async with await psycopg.AsyncConnection.connect(database_url) as early:
        await early.execute(TOUCH, ("early", first))
        await conn.execute(TOUCH, ("late", second))
        await conn.commit()
        (news,) = await changed(conn, since)
        await early.commit()
    assert news.id == second
    assert await changed(conn, news.updated_at) == []


async def until_blocked(conn: Connection, pid: int) -> None:
    """Until another backend waits for a lock."""
    async with asyncio.timeout(PATIENCE):
        while True:
            row = await (await conn.execute("SELECT pg_blocking_pids(%s)", (pid,))).fetchone()
            await conn.rollback()
            if row and row[0]:
                return


async def test_changes_come_oldest_first_and_only_the_owners(conn: Connection) -> None:
    ids = [await add_job(conn) for _ in range(4)]
    await add_job(conn, BOB)
    await conn.execute(TOUCH, ("moved", ids[0]))
    assert [job.id for job in await changed(conn, LONG_AGO)] == [*ids[1:], ids[0]]


async def test_filters_keep_only_what_was_asked_for(conn: Connection) -> None:
    done = await add_job(conn)
    assert await finish(conn, await claim_one(conn))
    trades = await add_job(conn, pipeline="trades")
    for only, expected in (
        (JobFilter((Status.COMPLETE,)), [done]),
        (JobFilter((Status.COMPLETE, Status.QUEUED)), [done, trades]),
        (JobFilter(pipeline="trades"), [trades]),
        (JobFilter((Status.COMPLETE,), "trades"), []),
    ):
        news = await queries.list_changed(conn, ANN, only, since=LONG_AGO, limit=10)
        page = await queries.list_recent(conn, ANN, only, after=None, limit=10)
        assert [job.id for job in news] == expected
        assert {job.id for job in page} == set(expected)


@pytest.mark.parametrize("limit", [1, 3, 7, 100])
async def test_paging_shows_every_job_once_newest_first(conn: Connection, limit: int) -> None:
    """All in one transaction, so that all have the same created_at and only the id decides."""
    ids = [await add_job(conn) for _ in range(10)]
    await add_job(conn, BOB)
    assert await pages(conn, ANN, limit) == sorted(ids, reverse=True)


async def test_paging_shows_every_job_once_while_new_ones_arrive(
    pool: Pool, conn: Connection
) -> None:
    old: list[JobId] = []
    for _ in range(10):
        old.append(await add_job(conn))
        await conn.commit()
    seen: list[JobId] = []
    after: Cursor | None = None
    while page := await queries.list_recent(conn, ANN, ANY, after=after, limit=3):
        await conn.rollback()
        seen += [job.id for job in page]
        after = Cursor(page[-1].created_at, page[-1].id)
        async with pool.connection() as other:
            await add_job(other)
    assert seen == old[::-1]


async def test_active_are_the_jobs_that_have_not_ended(conn: Connection) -> None:
    await add_job(conn, BOB, pipeline="trades")
    assert await queries.count_active(conn, ANN) == 0
    await add_job(conn)
    assert await finish(conn, await claim_one(conn))
    await add_job(conn)
    await claim_one(conn)
    cancelled = await add_job(conn)
    await add_job(conn)
    await add_job(conn, enqueue=False)
    assert await queries.count_active(conn, ANN) == 4
    assert await queries.cancel_job(conn, cancelled)
    assert await queries.count_active(conn, ANN) == 3


async def test_an_owners_clock_is_the_time_of_the_last_change(conn: Connection) -> None:
    job_id = await add_job(conn)
    clocks = await queries.read_clocks(conn, [ANN, BOB])
    assert clocks == {ANN: (await the(conn, job_id)).updated_at}
    assert await changed(conn, clocks[ANN]) == []
    assert await changed(conn, clocks[ANN] - timedelta(microseconds=1)) != []
