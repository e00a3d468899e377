"""Limits of owners and pipelines, counted in claims and not by the clock."""

import asyncio
from collections import Counter

import pytest

from docmill.core.jobs import Claimed
from docmill.core.owners import OwnerKey
from docmill.db.pool import Connection, Pool
from docmill.queue.claim import Claimer, FreeSlots
from docmill.queue.shares import ShareLimits, claim_within
from road import ANN, BOB, LEASE, add_job, claim_one, finish

pytestmark = pytest.mark.anyio

FREE = FreeSlots(5, 5)
A_FEW, MANY = 10, 400
FILL = """
INSERT INTO jobs (id, document_id, owner, pipeline)
SELECT gen_random_uuid(), document_id, owner, 'extract' FROM jobs, generate_series(1, %s) LIMIT %s
"""
QUEUE = """
UPDATE jobs SET status = 'queued', queued_at = now(),
       start_tag = (SELECT max(start_tag) FROM jobs) + 1 + (random() * 1000000)::bigint
 WHERE status = 'uploaded'
"""


async def take(
    conn: Connection, limits: ShareLimits, worker: str = "w1", **given: object
) -> list[Claimed]:
    pipelines = ["extract", "study"]
    taker = Claimer(worker, pipelines, LEASE)
    return await claim_within(conn, taker, room=FREE, limits=limits, **given)  # type: ignore[arg-type]


async def flood(conn: Connection, owner: OwnerKey, count: int) -> None:
    """So many queued jobs over one document, as if the owner had sent them one by one."""
    await add_job(conn, owner)
    await conn.execute(FILL, (count, count - 1))
    await conn.execute(QUEUE)


async def test_no_owner_and_no_pipeline_has_more_running_than_its_limit(pool: Pool) -> None:
    limits = ShareLimits(owner=2, pipelines={"study": 3})
    async with pool.connection() as conn:
        for number in range(4):
            for _ in range(3):
                await add_job(conn, OwnerKey(f"user:{number}"), pipeline="study")
            await add_job(conn, OwnerKey(f"user:{number}"))

    async def work(worker: str) -> list[Claimed]:
        async with pool.connection() as conn:
            return await take(conn, limits, worker)

    at_once = await asyncio.gather(*(work(f"w{number}") for number in range(6)))
    running = [job for claimed in at_once for job in claimed]
    assert max(Counter(job.owner for job in running).values()) == 2
    assert Counter(job.pipeline for job in running)["study"] == 3
    assert await work("late") == []
    (ended,) = [job for job in running if job.pipeline == "study"][:1]
    async with pool.connection() as conn:
        await finish(conn, ended)
    assert len(await work("late")) == 1


async def test_an_owner_at_the_limit_is_passed_over_however_many_wait(conn: Connection) -> None:
    await flood(conn, ANN, MANY)
    limits = ShareLimits(owner=3)
    assert [job.owner for job in await take(conn, limits)] == [ANN] * 3
    assert await take(conn, limits) == []
    late = await add_job(conn, BOB)
    assert [job.id for job in await take(conn, limits)] == [late]


async def test_the_reserve_is_not_filled_with_who_runs_already(conn: Connection) -> None:
    await add_job(conn, ANN)
    bobs = await add_job(conn, BOB)
    found = await take(conn, ShareLimits(owner=9), besides=[ANN])
    assert [job.id for job in found] == [bobs]


async def test_many_jobs_of_one_owner_do_not_delay_a_few_of_another(conn: Connection) -> None:
    """Whoever comes late starts at the head: a few claims later all of theirs run."""
    await flood(conn, ANN, MANY)
    for _ in range(A_FEW):
        await finish(conn, await claim_one(conn))
    bobs = {await add_job(conn, BOB) for _ in range(A_FEW)}
    claims = 0
    while bobs:
        job = await claim_one(conn)
        claims += 1
        bobs.discard(job.id)
        await finish(conn, job)
    assert claims <= 3 * A_FEW
