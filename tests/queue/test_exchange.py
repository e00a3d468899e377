"""Settling what has ended and claiming the next jobs, in one statement."""

from dataclasses import replace
from datetime import datetime
from typing import Any, Final

import pytest
from psycopg.rows import dict_row

from docmill.core.jobs import Claimed, JobId, Retry, Status, Stopped
from docmill.core.jobs import settle as decide
from docmill.db.pool import Connection
from docmill.queue import claim as queue_claim
from docmill.queue import settle
from docmill.queue.claim import Claimer, FreeSlots
from docmill.queue.settle import Settlement
from road import ANN, BOB, LEASE, a_result, add_job, claim, claim_one, finish, the

pytestmark = pytest.mark.anyio

TAKER = Claimer("w1", ["extract"], LEASE)
GATEWAYS: Final = {"extract": "https://gateway.example"}
# What differs from job to job, whoever takes it.
OWN: Final = frozenset({"id", "job_id", "document_id", "dedupe_key", "start_tag", "duration_ms"})


def an_ending(job: Claimed) -> Settlement:
    return Settlement(job, decide(job, a_result(job), retry=Retry(), chance=0))


async def list_events(conn: Connection, job: Claimed) -> list[str]:
    asked = "SELECT kind FROM job_events WHERE job_id = %s ORDER BY id"
    return [row[0] for row in await (await conn.execute(asked, (job.id,))).fetchall()]


async def test_what_ended_is_settled_and_the_next_jobs_are_claimed(conn: Connection) -> None:
    for owner in (ANN, BOB, ANN, BOB, ANN):
        await add_job(conn, owner)
    first = await claim(conn, slots=2)
    moved, taken = await settle.exchange(
        conn, [an_ending(job) for job in first], TAKER, FreeSlots(2, 2)
    )
    assert moved == {job.id for job in first}
    assert len(taken) == 2
    assert not moved & {job.id for job in taken}
    assert {(await the(conn, job.id)).status for job in first} == {Status.COMPLETE}
    assert {(await the(conn, job.id)).status for job in taken} == {Status.PROCESSING}
    assert await list_events(conn, first[0]) == ["created", "queued", "processing", "complete"]
    assert await list_events(conn, taken[0]) == ["created", "queued", "processing"]
    assert await finish(conn, taken[0])


async def test_it_takes_the_jobs_that_a_claim_takes_in_the_same_order(conn: Connection) -> None:
    for owner in (ANN, ANN, ANN, BOB, BOB):
        await add_job(conn, owner)
    await add_job(conn, ANN, priority=5)
    first = await claim_one(conn)
    await conn.commit()
    _, taken = await settle.exchange(conn, [an_ending(first)], TAKER, FreeSlots(4, 4))
    await conn.rollback()
    assert [job.id for job in taken] == [job.id for job in await claim(conn, slots=4)]


async def test_it_makes_of_a_job_what_a_claim_by_itself_makes_of_it(conn: Connection) -> None:
    """A job that waited for its retry has more to lose than a new one."""
    written: list[list[dict[str, Any]]] = []
    for alone in (True, False):
        for _ in range(3):
            await add_job(conn)
        ended, again, _ = await claim(conn, slots=3)
        back = decide(again, Stopped(), retry=Retry(), chance=0)
        await settle.write_settlements(conn, [Settlement(again, back)])
        if alone:
            await settle.write_settlements(conn, [an_ending(ended)])
            taken = await queue_claim.claim(
                conn, "w1", pipelines=GATEWAYS, slots=1, lease=TAKER.lease
            )
        else:
            taker = replace(TAKER, pipelines=GATEWAYS)
            _, taken = await settle.exchange(conn, [an_ending(ended)], taker, FreeSlots(1, 1))
        assert [job.id for job in taken] == [again.id]
        written.append(await read_rows(conn, again.id))
    assert written[0] == written[1]


async def read_rows(conn: Connection, job_id: JobId) -> list[dict[str, Any]]:
    """The job, its attempts and events: of what differs from job to job whether it is there."""
    found: list[dict[str, Any]] = []
    async with conn.cursor(row_factory=dict_row) as cur:
        for query in (
            "SELECT * FROM jobs WHERE id = %s",
            "SELECT * FROM job_attempts WHERE job_id = %s ORDER BY claim",
            "SELECT * FROM job_events WHERE job_id = %s ORDER BY id",
        ):
            found += await (await cur.execute(query, (job_id,))).fetchall()
    for row in found:
        for name, value in row.items():
            if name in OWN or isinstance(value, datetime):
                row[name] = value is not None
    return found


async def test_each_change_of_an_owner_has_a_later_time_of_its_own(conn: Connection) -> None:
    for _ in range(6):
        await add_job(conn)
    first = await claim(conn, slots=3)
    clock = "SELECT changed_at FROM owners WHERE owner = %s"
    row = await (await conn.execute(clock, (ANN,))).fetchone()
    assert row
    await settle.exchange(conn, [an_ending(job) for job in first], TAKER, FreeSlots(3, 3))
    times = "SELECT updated_at FROM jobs WHERE owner = %s"
    changed = [time for (time,) in await (await conn.execute(times, (ANN,))).fetchall()]
    now = await (await conn.execute(clock, (ANN,))).fetchone()
    assert now
    assert len(set(changed)) == 6
    assert row[0] < min(changed)
    assert max(changed) == now[0]


async def test_a_job_that_another_worker_holds_is_not_moved_and_the_claim_goes_on(
    conn: Connection,
) -> None:
    await add_job(conn)
    await add_job(conn)
    held = await claim_one(conn)
    late = replace(held, claim=held.claim - 1)
    moved, taken = await settle.exchange(conn, [an_ending(late)], TAKER, FreeSlots(1, 1))
    assert (moved, len(taken)) == (set(), 1)
    assert (await the(conn, held.id)).status is Status.PROCESSING


async def test_where_nothing_waits_what_ended_is_settled_all_the_same(conn: Connection) -> None:
    await add_job(conn)
    held = await claim_one(conn)
    found = await settle.exchange(conn, [an_ending(held)], TAKER, FreeSlots(3, 3))
    assert found == ({held.id}, [])
