"""The worker's statements on real PostgreSQL."""

from datetime import timedelta

import psycopg
import pytest

from docmill.core import jobs
from docmill.core.jobs import Broke, LeaseLost, Retry, Status, Stopped, Usage, settle
from docmill.db.pool import Connection
from docmill.jobs import queries
from docmill.queue import claim as queue_claim
from docmill.queue import leases, progress
from docmill.queue import settle as queue_settle
from road import ANN, BOB, a_result, add_job, claim, claim_one, finish, the

pytestmark = pytest.mark.anyio


async def settled(conn: Connection, job: jobs.Claimed, ending: object) -> bool:
    move = settle(job, ending, retry=Retry(), chance=0.5)  # type: ignore[arg-type]
    return job.id in await queue_settle.write_settlements(
        conn, [queue_settle.Settlement(job, move, Usage(5, 4, 3))]
    )


async def test_a_claimed_job_is_processing_under_a_lease_before_anybody_works_on_it(
    conn: Connection,
) -> None:
    job_id = await add_job(conn)
    (claimed,) = await claim(conn, "w1")
    job = await the(conn, job_id)
    assert (job.status, job.leased_by, job.claim, job.attempt_count) == ("processing", "w1", 1, 1)
    assert job.started_at is not None
    assert job.lease_expires_at == job.started_at + timedelta(minutes=5)
    assert claimed.id == job_id
    assert claimed.upload_key is not None


async def test_a_job_is_claimed_once(conn: Connection) -> None:
    await add_job(conn)
    assert len(await claim(conn)) == 1
    assert await claim(conn, "w2") == []


async def test_premium_jobs_come_before_older_standard_ones_in_every_pipeline(
    conn: Connection,
) -> None:
    first = await add_job(conn, pipeline="extract")
    second = await add_job(conn, pipeline="trades")
    premium = await add_job(conn, BOB, pipeline="trades", priority=10)
    order = [job.id for job in await claim(conn, pipelines=["extract", "trades"], slots=3)]
    assert order == [premium, first, second]


async def test_many_jobs_at_once_have_times_of_their_own_up_to_the_owners_clock(
    conn: Connection,
) -> None:
    ids = [await add_job(conn, owner) for owner in (ANN, ANN, ANN, BOB)]
    clocks = "SELECT owner, changed_at FROM owners"
    seen = [(await the(conn, job_id)).updated_at for job_id in ids]
    for _ in range(2):
        claimed = await claim(conn, slots=4)
        for move in (None, Broke("UNKNOWN", "again")):
            if move:
                decided = [settle(job, move, retry=Retry(), chance=0.5) for job in claimed]
                given = map(queue_settle.Settlement, claimed, decided)
                assert len(await queue_settle.write_settlements(conn, [*given])) == 4
            jobs_ = [await the(conn, job_id) for job_id in ids]
            times = [job.updated_at for job in jobs_]
            assert len({*times[:3]}) == 3
            assert all(new > old for new, old in zip(times, seen, strict=True))
            latest = {
                owner: max(j.updated_at for j in jobs_ if j.owner == owner) for owner in (ANN, BOB)
            }
            assert dict(await (await conn.execute(clocks)).fetchall()) == latest
            seen = times
        await conn.execute("UPDATE jobs SET run_at = NULL")
        seen = [(await the(conn, job_id)).updated_at for job_id in ids]


async def test_one_owner_is_served_oldest_first(conn: Connection) -> None:
    ids = [await add_job(conn) for _ in range(5)]
    assert [(await claim_one(conn)).id for _ in ids] == ids


async def test_an_owner_with_many_jobs_does_not_keep_another_waiting(conn: Connection) -> None:
    flood = [await add_job(conn, ANN) for _ in range(50)]
    await claim(conn, slots=10)
    late = [await add_job(conn, BOB) for _ in range(3)]
    order = [job.id for job in await claim(conn, slots=8)]
    assert set(late) <= set(order)
    assert order[0] in {flood[10], late[0]}


async def test_settling_completes_the_job_and_keeps_result_attempt_and_event_together(
    conn: Connection,
) -> None:
    job_id = await add_job(conn)
    claimed = await claim_one(conn)
    assert await settled(conn, claimed, a_result(claimed))
    job = await the(conn, job_id)
    assert (job.status, job.progress, job.leased_by) == (Status.COMPLETE, 100, None)
    assert job.result_key == f"results/{job_id}.1.gz"
    (attempt,) = await queries.list_attempts(conn, job_id)
    assert (attempt.outcome, attempt.duration_ms, attempt.memory_bytes) == ("complete", 5, 3)
    kinds = [event.kind for event in await queries.list_events(conn, job_id)]
    assert kinds == ["created", "queued", "processing", "complete"]


async def test_a_transient_failure_waits_and_a_permanent_one_fails(conn: Connection) -> None:
    job_id = await add_job(conn)
    await settled(conn, await claim_one(conn), Broke("UNKNOWN", "boom", "stack"))
    job = await the(conn, job_id)
    assert job.status is Status.QUEUED
    assert job.run_at is not None
    assert job.queued_at is not None
    assert job.run_at - job.queued_at == timedelta(seconds=12.5)
    assert await claim(conn) == []
    (attempt,) = await queries.list_attempts(conn, job_id)
    assert (attempt.error_message, attempt.stack) == ("boom", "stack")

    other = await add_job(conn)
    await settled(conn, await claim_one(conn), Broke("BAD_PDF", "locked"))
    job = await the(conn, other)
    assert (job.status, job.error_code) == (Status.FAILED, "BAD_PDF")
    assert job.error_message == "This PDF is damaged, locked or empty"


async def test_a_waiting_job_becomes_ready_when_its_time_comes(conn: Connection) -> None:
    job_id = await add_job(conn)
    await settled(conn, await claim_one(conn), Broke("UNKNOWN"))
    assert await queue_claim.promote(conn, 10) == 0
    assert 0 < (await queue_claim.seconds_until_due(conn) or 0) <= 15
    await conn.execute("UPDATE jobs SET run_at = now() - interval '1 second'")
    assert await queue_claim.promote(conn, 10) == 1
    assert (await claim_one(conn)).id == job_id


async def test_a_shutdown_costs_no_attempt_but_moves_the_fence(conn: Connection) -> None:
    job_id = await add_job(conn)
    await settled(conn, await claim_one(conn), Stopped())
    job = await the(conn, job_id)
    assert (job.status, job.attempt_count, job.claim) == (Status.QUEUED, 0, 1)
    again = await claim_one(conn)
    assert (again.claim, again.attempt_count) == (2, 1)


async def test_a_worker_that_lost_its_lease_changes_nothing(conn: Connection) -> None:
    job_id = await add_job(conn)
    stale = await claim_one(conn, "slow")
    await settled(conn, stale, LeaseLost())
    before = await the(conn, job_id)
    assert not await finish(conn, stale)
    assert not await progress.record_progress(conn, stale, progress.Progress(50, "late", True))
    assert not await leases.extend_leases(conn, [stale], lease=timedelta(minutes=5))
    assert await the(conn, job_id) == before

    fresh = await claim_one(conn, "quick")
    assert not await finish(conn, stale)
    assert await finish(conn, fresh)
    assert (await the(conn, job_id)).result_key == f"results/{job_id}.2.gz"


async def test_a_cancelled_job_accepts_nothing_from_its_worker(conn: Connection) -> None:
    job_id = await add_job(conn)
    claimed = await claim_one(conn)
    assert await queries.cancel_job(conn, job_id)
    assert not await queries.cancel_job(conn, job_id)
    assert not await finish(conn, claimed)
    job = await the(conn, job_id)
    assert (job.status, job.leased_by) == (Status.CANCELLED, None)
    assert (await queries.list_attempts(conn, job_id))[0].outcome == "cancelled"


async def test_stale_jobs_are_those_silent_too_long_or_held_by_the_dead(conn: Connection) -> None:
    await add_job(conn)
    await add_job(conn)
    silent, held = await claim(conn, slots=2)
    longest = timedelta(hours=2)
    assert await leases.find_stale(conn, longest=longest, dead=[]) == []
    assert len(await leases.find_stale(conn, longest=longest, dead=["w1"])) == 2
    await conn.execute(
        "UPDATE jobs SET lease_expires_at = now() - interval '1 s' WHERE id = %s", (silent.id,)
    )
    assert [j.id for j in await leases.find_stale(conn, longest=longest, dead=[])] == [silent.id]
    await conn.execute(
        "UPDATE jobs SET started_at = now() - interval '3 h' WHERE id = %s", (held.id,)
    )
    assert len(await leases.find_stale(conn, longest=longest, dead=[])) == 2


async def test_progress_never_goes_back(conn: Connection) -> None:
    job_id = await add_job(conn)
    claimed = await claim_one(conn)
    await progress.record_progress(conn, claimed, progress.Progress(40, "page 4 of 10", True))
    await progress.record_progress(conn, claimed, progress.Progress(20, "page 2 of 10", False))
    job = await the(conn, job_id)
    assert (job.progress, job.stage) == (40, "page 2 of 10")
    with pytest.raises(psycopg.errors.CheckViolation):
        await conn.execute("UPDATE jobs SET progress = 10")


async def test_a_connection_plans_its_first_claims_alone(conn: Connection) -> None:
    """PostgreSQL plans five times at least; a claim whose plan hung on its slots, every time."""
    counts = (
        "SELECT generic_plans, custom_plans FROM pg_prepared_statements WHERE statement LIKE %s"
    )
    for _ in range(8):
        await add_job(conn)
        await claim(conn)
    row = await (await conn.execute(counts, ("%near AS MATERIALIZED%",))).fetchone()
    assert row == (3, 5)
