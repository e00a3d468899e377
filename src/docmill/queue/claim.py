"""The queue as a worker sees it: claim, keep the lease, note progress, settle, rescue."""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from psycopg.rows import class_row

from docmill.core.faults import FAULTS
from docmill.core.jobs import Claimed, JobId, Status
from docmill.core.owners import OwnerKey
from docmill.db.pool import Connection
from docmill.queue.moves import TAKE, run_statement

# Those a worker serves; a mapping names the gateway of each that is run elsewhere.
Pipelines = Sequence[str] | Mapping[str, str | None]

# A job that waited comes back at the head of the queue, not before it.
PROMOTE: Final = """
WITH picked AS MATERIALIZED (
    SELECT id, owner, pipeline, priority, long FROM jobs
     WHERE status = 'queued' AND run_at <= now()
     ORDER BY run_at LIMIT %s FOR UPDATE SKIP LOCKED),
held AS MATERIALIZED (
    SELECT owner FROM owners WHERE owner IN (SELECT owner FROM picked) ORDER BY owner FOR UPDATE)
UPDATE jobs
   SET run_at = NULL,
       start_tag = greatest(start_tag, (
           SELECT head.start_tag FROM jobs head
            WHERE head.status = 'queued' AND head.run_at IS NULL
              AND head.pipeline = picked.pipeline AND head.priority = picked.priority
              AND head.long = picked.long
            ORDER BY head.start_tag LIMIT 1))
  FROM picked
 WHERE jobs.id = picked.id AND (SELECT count(*) FROM held) > 0
"""


async def promote(conn: Connection, limit: int) -> int:
    """Make jobs whose waiting time is over ready to be claimed."""
    return (await conn.execute(PROMOTE, (limit,))).rowcount


# What a prerequisite's end means for the jobs that wait for it: they become due, wait for the rest,
# or fail with it. One that completed counts although it was deleted since.
RELEASE: Final = """
WITH looked AS MATERIALIZED (
    DELETE FROM dependency_checks WHERE id IN (
           SELECT id FROM dependency_checks ORDER BY id LIMIT %(limit)s FOR UPDATE SKIP LOCKED)
    RETURNING job_id, done),
waiting AS MATERIALIZED (
    SELECT id, owner, after FROM jobs
     WHERE id IN (SELECT job_id FROM looked) AND status = 'queued' AND after IS NOT NULL
     ORDER BY id FOR UPDATE),
held AS MATERIALIZED (
    SELECT owner FROM owners WHERE owner IN (SELECT owner FROM waiting) ORDER BY owner FOR UPDATE),
awaited AS MATERIALIZED (
    SELECT waiting.id, named.id AS after_id, coalesce(other.status, 'deleted') AS status
      FROM waiting CROSS JOIN unnest(waiting.after) AS named(id)
      LEFT JOIN jobs other ON other.id = named.id
     WHERE (SELECT count(*) FROM held) > 0 AND other.status IS DISTINCT FROM 'complete'
       AND NOT EXISTS (SELECT FROM looked WHERE job_id = waiting.id AND done = named.id)),
judged AS MATERIALIZED (
    SELECT waiting.id, rest.after, broken.after_id, broken.status AS ended
      FROM waiting
      CROSS JOIN LATERAL (SELECT array_agg(after_id) AS after FROM awaited
                           WHERE awaited.id = waiting.id) AS rest
      LEFT JOIN LATERAL (SELECT after_id, status FROM awaited WHERE awaited.id = waiting.id
                            AND status IN ('failed', 'cancelled', 'deleted')
                          LIMIT 1) AS broken ON true),
moved AS (
    UPDATE jobs
       SET status = CASE WHEN ended IS NULL THEN 'queued' ELSE 'failed' END, after = judged.after,
           run_at = CASE WHEN ended IS NOT NULL THEN NULL
                         WHEN judged.after IS NOT NULL THEN jobs.run_at
                         ELSE greatest(now(), jobs.not_before) END,
           queued_at = CASE WHEN judged.after IS NULL THEN now() ELSE jobs.queued_at END,
           failed_at = CASE WHEN ended IS NOT NULL THEN now() END,
           error_code = CASE WHEN ended IS NOT NULL THEN 'AFTER_FAILED' END,
           error_message = CASE WHEN ended IS NOT NULL THEN %(message)s END,
           reason = CASE WHEN ended IS NOT NULL
                         THEN 'It was to run after job ' || judged.after_id || ', which '
                              || CASE ended WHEN 'failed' THEN '' ELSE 'was ' END || ended || '.'
                    END
      FROM judged
     WHERE jobs.id = judged.id
       AND (ended IS NOT NULL
            OR coalesce(cardinality(judged.after), 0) < cardinality(jobs.after))
    RETURNING jobs.id, jobs.status, jobs.after, jobs.run_at, jobs.error_code, judged.after_id),
told AS (
    INSERT INTO job_events (job_id, kind, meta)
    SELECT id, status, jsonb_strip_nulls(jsonb_build_object(
               'from', 'queued', 'to', status, 'code', error_code, 'after', to_jsonb(after_id),
               'run_at', CASE WHEN error_code IS NULL THEN run_at END))
      FROM moved WHERE status = 'failed' OR after IS NULL)
SELECT id, status FROM moved
"""


async def release(conn: Connection, limit: int) -> dict[JobId, Status]:
    """Look at jobs whose prerequisites have ended; those that changed, and what they are now."""
    args = {"limit": limit, "message": FAULTS["AFTER_FAILED"].says}
    rows = await (await conn.execute(RELEASE, args)).fetchall()
    return {JobId(job_id): Status(status) for job_id, status in rows}


NEXT_DUE: Final = """
SELECT CASE WHEN EXISTS (SELECT FROM dependency_checks) THEN 0
            ELSE extract(epoch FROM min(run_at) - now()) END::float8 FROM jobs
 WHERE status = 'queued' AND run_at IS NOT NULL
"""


async def seconds_until_due(conn: Connection) -> float | None:
    """Seconds until the next waiting job is due, or is to be looked at."""
    row = await (await conn.execute(NEXT_DUE)).fetchone()
    return row[0] if row else None


# One LATERAL branch per pipeline and lane reads the head of one index each; a single ORDER BY over
# `pipeline = ANY(..)` would sort the whole queue, and long jobs that nobody has room for would be
# read past at every claim. MATERIALIZED, or the LIMIT may run twice. What is given is read by
# subqueries, so that a plan made for these pipelines and slots looks no better than one for any:
# PostgreSQL then plans a connection's first claims alone. Through arrays, so that it counts with
# ten jobs and goes by their keys; without them it counts with a tenth of the queue.
NEXT: Final = """
near AS MATERIALIZED (
    SELECT ready.id, ready.owner, ready.priority, ready.start_tag, lane.room,
           row_number() OVER (PARTITION BY lane.long
                                  ORDER BY ready.priority DESC, ready.start_tag) AS place
      FROM free CROSS JOIN unnest((SELECT %(pipelines)s::text[])) AS served(pipeline)
     CROSS JOIN LATERAL (VALUES (false, free.slots), (true, free.long_slots)) AS lane(long, room)
     CROSS JOIN LATERAL (
           SELECT id, owner, priority, start_tag FROM jobs
            WHERE status = 'queued' AND run_at IS NULL AND pipeline = served.pipeline
              AND long = lane.long
            ORDER BY priority DESC, start_tag LIMIT lane.room FOR UPDATE SKIP LOCKED) AS ready),
chosen AS MATERIALIZED (
    SELECT id, owner FROM near WHERE place <= room
     ORDER BY priority DESC, start_tag LIMIT (SELECT %(slots)s::int)),
picked AS MATERIALIZED (
    SELECT one.id, one.owner
      FROM (SELECT array_agg(id) AS ids, array_agg(owner) AS owners FROM chosen) AS all_chosen,
           unnest(all_chosen.ids, all_chosen.owners) AS one(id, owner)),
"""
FREE: Final = """
free AS MATERIALIZED (SELECT %(slots)s::int AS slots, %(long_slots)s::int AS long_slots),
"""
CLAIM: Final = "WITH" + FREE + NEXT + TAKE


@dataclass(frozen=True, slots=True)
class FreeSlots:
    """How many jobs a worker takes now, and how many of them may be known to be long."""

    slots: int
    long_slots: int

    @property
    def args(self) -> dict[str, int]:
        return {"slots": self.slots, "long_slots": min(self.long_slots, self.slots)}


@dataclass(frozen=True, slots=True)
class Claimer:
    """A worker that claims, and for how long it may be silent."""

    worker: str
    pipelines: Pipelines
    lease: timedelta

    @property
    def args(self) -> dict[str, Any]:
        served = self.pipelines
        urls = served if isinstance(served, Mapping) else dict[str, str | None]()
        return {
            "worker": self.worker,
            "pipelines": list(served),
            "lease": self.lease,
            "gateways": json.dumps({name: url for name, url in urls.items() if url}),
        }


async def claim(
    conn: Connection, worker: str, *, pipelines: Pipelines, slots: int | FreeSlots, lease: timedelta
) -> list[Claimed]:
    """Take up to `slots` ready jobs: highest priority first, then the fair order."""
    room = FreeSlots(slots, slots) if isinstance(slots, int) else slots
    args = Claimer(worker, pipelines, lease).args | room.args
    return await run_statement(conn, CLAIM, args, class_row(Claimed))


# Only so many of each pipeline's next jobs are looked at: behind them others may wait, but an
# owner who comes new is put at the head, and who is not there waits behind himself or a priority.
LOOKED_AT: Final = 20
OTHERS: Final = """
WITH others AS MATERIALIZED (
    SELECT near.id, near.priority, near.start_tag
      FROM unnest(%(pipelines)s::text[]) AS served(pipeline)
     CROSS JOIN LATERAL (
           SELECT id, owner, priority, start_tag FROM jobs
            WHERE status = 'queued' AND run_at IS NULL AND pipeline = served.pipeline AND NOT long
            ORDER BY priority DESC, start_tag LIMIT %(looked_at)s) AS near
     WHERE near.owner <> ALL(%(besides)s::text[]))
"""
NEXT_OTHER: Final = """,
picked AS MATERIALIZED (
    SELECT free.id, free.owner
      FROM (SELECT id FROM others ORDER BY priority DESC, start_tag) AS wanted
     CROSS JOIN LATERAL (
           SELECT id, owner FROM jobs
            WHERE jobs.id = wanted.id AND status = 'queued' AND run_at IS NULL
              FOR UPDATE SKIP LOCKED) AS free
     LIMIT 1),
"""
CLAIM_OTHER: Final = OTHERS + NEXT_OTHER + TAKE


async def claim_other(
    conn: Connection, taker: Claimer, besides: Collection[OwnerKey]
) -> Claimed | None:
    """Take the next job of an owner other than these, unless it is known to be long."""
    args = {**taker.args, "besides": list(besides), "looked_at": LOOKED_AT}
    async with conn.cursor(row_factory=class_row(Claimed)) as cur:
        return await (await cur.execute(CLAIM_OTHER, args)).fetchone()


ANY_OTHER: Final = " SELECT id FROM others LIMIT 1"
OTHERS_WAIT: Final = OTHERS + ANY_OTHER


async def others_wait(
    conn: Connection, pipelines: Pipelines, besides: Collection[OwnerKey]
) -> bool:
    """Whether `claim_other` would find a job."""
    args = {"pipelines": list(pipelines), "besides": list(besides), "looked_at": LOOKED_AT}
    return await (await conn.execute(OTHERS_WAIT, args)).fetchone() is not None


MARK_LONG: Final = """
UPDATE jobs SET long = true WHERE id = %(id)s AND claim = %(claim)s AND status = 'processing'
"""


async def mark_long(conn: Connection, job: Claimed) -> None:
    """From now on the job is claimed only where the lane of long documents has room."""
    await conn.execute(MARK_LONG, {"id": job.id, "claim": job.claim})
