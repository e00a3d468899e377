"""Jobs that their workers lost go back to the queue; jobs of a service that is gone fail."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final

import structlog

from docmill.core import failpoints
from docmill.core.faults import FAULTS
from docmill.core.jobs import Claimed, JobId, LeaseLost, Retry, settle
from docmill.core.retention import RetentionRules
from docmill.db.notify import Notifier
from docmill.db.pool import Connection, Pool
from docmill.queue import leases, spool
from docmill.queue import settle as queue_settle
from docmill.queue.leases import Identity, is_dead
from docmill.queue.settle import Settlement
from docmill.queue.worker import WorkerConfig
from docmill.storage.contract import Store

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Upkeep:
    """What the upkeep works with."""

    pool: Pool
    store: Store
    work: Notifier
    changes: Notifier
    rules: WorkerConfig
    identity: Identity
    keep_events: timedelta = timedelta(days=90)
    rescue_every: timedelta = timedelta(seconds=15)
    sweep_every: timedelta | None = timedelta(days=1)
    awaited: Mapping[str, str] = field(default_factory=dict[str, str])  # pipeline: its service
    patience: timedelta = timedelta(minutes=30)
    # None: what is stored goes when its row says, whatever the rules are now.
    retention: RetentionRules | None = None


async def rescue_jobs(upkeep: Upkeep) -> int:
    """Settle the jobs of workers that are silent, dead on this machine, or at it for too long."""
    failpoints.hit("rescue.before")
    settled = await _settle_kept(upkeep) if upkeep.store else 0
    async with upkeep.pool.connection() as conn:
        rescued = await take_back(conn, upkeep.rules, upkeep.identity)
    for item in rescued:
        log.warning("job.rescued", job=str(item.job.id), claim=item.job.claim, to=str(item.move.to))
    if rescued or settled:
        upkeep.work.ring()
        upkeep.changes.ring()
    return len(rescued) + settled


async def _settle_kept(upkeep: Upkeep) -> int:
    """Jobs that had ended when their worker died, and of which the database was not told."""
    async with upkeep.pool.connection() as conn:
        lost = await _find_lost(conn, upkeep.rules, upkeep.identity)
    count = 0
    for job in lost:
        ending = await spool.find_ending(upkeep.store, job)
        if ending is None:
            continue
        async with upkeep.pool.connection() as conn:
            is_ours = await queue_settle.write_kept_ending(conn, job, ending)
        await spool.forget_ending(upkeep.store, job)
        log.warning("job.settled_late", job=str(job.id), claim=job.claim, written=is_ours)
        count += is_ours
    return count


async def _find_lost(conn: Connection, rules: WorkerConfig, me: Identity) -> list[Claimed]:
    """Locked until the end of the transaction."""
    dead = [worker for worker in await leases.find_holders(conn) if is_dead(worker, me)]
    return await leases.find_stale(conn, longest=rules.longest, dead=dead)


async def take_back(conn: Connection, rules: WorkerConfig, me: Identity) -> list[Settlement]:
    """Settled as lost; those that somebody else settled meanwhile are not among them."""
    settlements = [
        Settlement(job, settle(job, LeaseLost(), retry=rules.retry_of(job), chance=0))
        for job in await _find_lost(conn, rules, me)
    ]
    moved = await queue_settle.write_settlements(conn, settlements) if settlements else set[JobId]()
    return [item for item in settlements if item.job.id in moved]


async def clear_lease(conn: Connection, job_id: JobId) -> bool:
    """Take a job from its worker, back into the queue: as a lost one, however often it was tried.

    False where no worker holds it. The worker's later writes find that it is not theirs any more.
    """
    job = await leases.find_claimed(conn, job_id)
    if job is None:
        return False
    once_more = Retry(attempts=job.attempt_count + 1)
    move = settle(job, LeaseLost(), retry=once_more, chance=0)
    return bool(await queue_settle.write_settlements(conn, [Settlement(job, move)]))


async def fail_waiting_jobs(upkeep: Upkeep) -> int:
    """Fail the jobs that have waited too long for a service that keeps failing."""
    refused: list[JobId] = []
    for pipeline, service in upkeep.awaited.items():
        async with upkeep.pool.connection() as conn:
            refused += await fail_waiting(
                conn, pipeline=pipeline, service=service, patience=upkeep.patience
            )
    for job_id in refused:
        log.warning("job.refused", job=str(job_id), code="SERVICE_GONE")
    if refused:
        upkeep.changes.ring()
    return len(refused)


# A service is gone when no living worker that serves the pipeline gets through to it. Jobs that
# came later wait just as long.
FAIL_WAITING: Final = """
WITH gone AS MATERIALIZED (
    SELECT max(b.failing_from) AS since
      FROM breakers b JOIN workers w ON w.id = b.worker
     WHERE b.service = %(service)s AND %(pipeline)s = ANY(w.pipelines)
       AND w.seen_at > now() - interval '2 minutes'
       AND NOT EXISTS (SELECT FROM service_pauses WHERE service = %(service)s)
    HAVING bool_and(b.state <> 'closed')),
picked AS MATERIALIZED (
    SELECT jobs.id, jobs.owner FROM jobs, gone
     WHERE jobs.status = 'queued' AND jobs.pipeline = %(pipeline)s AND jobs.after IS NULL
       AND greatest(jobs.queued_at, jobs.not_before, gone.since) < now() - %(patience)s
     ORDER BY jobs.id LIMIT 100 FOR UPDATE OF jobs SKIP LOCKED),
held AS MATERIALIZED (
    SELECT owner FROM owners WHERE owner IN (SELECT owner FROM picked) ORDER BY owner FOR UPDATE),
refused AS (
    UPDATE jobs SET status = 'failed', failed_at = now(), run_at = NULL,
           error_code = 'SERVICE_GONE', error_message = %(message)s, reason = %(message)s || '.'
      FROM picked WHERE jobs.id = picked.id AND (SELECT count(*) FROM held) > 0
    RETURNING jobs.id)
INSERT INTO job_events (job_id, kind, meta)
SELECT refused.id, 'failed', jsonb_build_object(
           'from', 'queued', 'to', 'failed', 'code', 'SERVICE_GONE',
           'service', %(service)s::text, 'failing_from', gone.since)
  FROM refused, gone
RETURNING job_id
"""


async def fail_waiting(
    conn: Connection, *, pipeline: str, service: str, patience: timedelta
) -> list[JobId]:
    """Fail jobs that have waited too long for a service that keeps failing."""
    args = {
        "pipeline": pipeline,
        "service": service,
        "patience": patience,
        "message": FAULTS["SERVICE_GONE"].says,
    }
    return [row[0] for row in await (await conn.execute(FAIL_WAITING, args)).fetchall()]
