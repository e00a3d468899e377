"""Breakers in the database: told by workers, shown to people, and jobs refused for them."""

from datetime import timedelta

import pytest

from docmill.core.jobs import JobId, Status
from docmill.db.pool import Connection
from docmill.jobs import queries
from docmill.queue import leases, rescue
from docmill.services import breaker
from docmill.services.breaker import BreakerReport, CircuitState
from road import add_job, the

pytestmark = pytest.mark.anyio

NEVER = timedelta()
HOUR = timedelta(hours=1)
PATIENCE = timedelta(minutes=30)


async def introduce(conn: Connection, name: str, *pipelines: str) -> None:
    await leases.record_worker(
        conn, leases.WorkerRow(name, "h", "m", 1, 3, pipelines or ["invoice"], "0")
    )


async def tell(conn: Connection, worker: str, state: CircuitState, failing: timedelta) -> None:
    assert await breaker.save_states(conn, worker, [BreakerReport("gateway", state, failing)])


async def refuse(conn: Connection) -> list[JobId]:
    return await rescue.fail_waiting(conn, pipeline="invoice", service="gateway", patience=PATIENCE)


async def waited(conn: Connection, pipeline: str) -> str:
    """The status of a job that was queued an hour ago, after the upkeep looked."""
    job_id = await add_job(conn, pipeline=pipeline)
    await conn.execute("UPDATE jobs SET queued_at = now() - interval '1 hour'")
    await refuse(conn)
    return (await the(conn, job_id)).status


async def test_a_worker_nobody_has_seen_has_no_breakers(conn: Connection) -> None:
    assert not await breaker.save_states(
        conn, "w1", [BreakerReport("gateway", CircuitState.OPEN, HOUR)]
    )
    assert await breaker.read_states(conn) == []


async def test_the_worst_of_the_living_workers_is_shown(conn: Connection) -> None:
    for name, state, failing in (
        ("w1", CircuitState.CLOSED, NEVER),
        ("w2", CircuitState.HALF_OPEN, HOUR),
        ("w3", CircuitState.OPEN, PATIENCE),
    ):
        await introduce(conn, name)
        await tell(conn, name, state, failing)
    (shown,) = await breaker.read_states(conn)
    assert (shown.service, shown.level) == ("gateway", 2)
    await tell(conn, "w3", CircuitState.CLOSED, NEVER)
    assert (await breaker.read_states(conn))[0].level == 1
    await conn.execute("UPDATE workers SET seen_at = now() - interval '1 hour' WHERE id = 'w2'")
    (shown,) = await breaker.read_states(conn)
    assert (shown.level, shown.failing_from) == (0, None)
    await leases.delete_worker(conn, "w1")
    await leases.delete_worker(conn, "w3")
    assert await breaker.read_states(conn) == []


async def test_a_job_that_waited_too_long_for_a_failing_service_fails_and_says_why(
    conn: Connection,
) -> None:
    await introduce(conn, "w1")
    await tell(conn, "w1", CircuitState.HALF_OPEN, HOUR)
    job_id = await add_job(conn, pipeline="invoice")
    other = await add_job(conn, pipeline="extract")
    await conn.execute("UPDATE jobs SET queued_at = now() - interval '1 hour'")
    assert await refuse(conn) == [job_id]
    job = await the(conn, job_id)
    assert (job.status, job.error_code, job.attempt_count) == (Status.FAILED, "SERVICE_GONE", 0)
    last = (await queries.list_events(conn, job_id))[-1]
    told = {name: last.meta[name] for name in ("from", "to", "code", "service")}
    assert told == {"from": "queued", "to": "failed", "code": "SERVICE_GONE", "service": "gateway"}
    assert (await the(conn, other)).status is Status.QUEUED
    assert await refuse(conn) == []


async def test_a_job_waits_its_own_time_and_as_long_as_one_worker_gets_through(
    conn: Connection,
) -> None:
    await introduce(conn, "w1")
    await tell(conn, "w1", CircuitState.OPEN, timedelta(minutes=20))
    assert await waited(conn, pipeline="invoice") == Status.QUEUED
    await tell(conn, "w1", CircuitState.OPEN, HOUR)
    fresh = await add_job(conn, pipeline="invoice")
    await refuse(conn)
    assert (await the(conn, fresh)).status is Status.QUEUED
    await introduce(conn, "w2")
    await tell(conn, "w2", CircuitState.CLOSED, NEVER)
    assert await waited(conn, pipeline="invoice") == Status.QUEUED
    await leases.delete_worker(conn, "w2")
    await introduce(conn, "w3", "extract")
    await tell(conn, "w3", CircuitState.CLOSED, NEVER)
    assert await waited(conn, pipeline="invoice") == Status.FAILED
