"""The queue as a worker sees it: claim, keep the lease, note progress, settle, rescue."""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from psycopg.rows import class_row

from docmill.core.jobs import Claimed
from docmill.core.owners import OwnerKey
from docmill.db.pool import Connection

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


NEXT_DUE: Final = """
SELECT extract(epoch FROM min(run_at) - now())::float8 FROM jobs
 WHERE status = 'queued' AND run_at IS NOT NULL
"""


async def seconds_until_due(conn: Connection) -> float | None:
    """Seconds until the next waiting job is due."""
    row = await (await conn.execute(NEXT_DUE)).fetchone()
    return row[0] if row else None


# What follows a choice of jobs, `picked`: they become ours, and their histories say so.
TAKE: Final = """
held AS MATERIALIZED (
    SELECT owner FROM owners WHERE owner IN (SELECT owner FROM picked) ORDER BY owner FOR UPDATE),
taken AS (
    UPDATE jobs
       SET status = 'processing', started_at = now(), leased_by = %(worker)s,
           lease_expires_at = now() + %(lease)s, claim = claim + 1,
           attempt_count = attempt_count + 1
      FROM picked
     WHERE jobs.id = picked.id AND (SELECT count(*) FROM held) > 0
    RETURNING jobs.id, jobs.document_id, jobs.owner, jobs.pipeline, jobs.mapping, jobs.options,
              jobs.duplicate_of, jobs.claim, jobs.attempt_count, jobs.priority, jobs.start_tag,
              jobs.long, jobs.tries_before + jobs.attempt_count AS tries),
tried AS (
    INSERT INTO job_attempts (job_id, claim, attempt, worker)
    SELECT id, claim, tries, %(worker)s FROM taken),
told AS (
    INSERT INTO job_events (job_id, kind, worker, meta)
    SELECT id, 'processing', %(worker)s, jsonb_strip_nulls(jsonb_build_object(
               'from', 'queued', 'to', 'processing', 'attempt', tries, 'claim', claim,
               'gateway', %(gateways)s::jsonb -> pipeline))
      FROM taken)
SELECT t.id, t.document_id, t.owner, t.pipeline, t.mapping, t.options, t.duplicate_of, t.claim,
       t.attempt_count, d.upload_key, d.original_filename, d.content_type, d.bytes, d.sha256,
       t.long, d.source
  FROM taken t JOIN documents d ON d.id = t.document_id
 ORDER BY t.priority DESC, t.start_tag
"""

# One LATERAL branch per pipeline and lane reads the head of one index each; a single ORDER BY over
# `pipeline = ANY(..)` would sort the whole queue, and long jobs that nobody has room for would be
# read past at every claim. MATERIALIZED, or the LIMIT may run twice.
NEXT: Final = """
WITH near AS MATERIALIZED (
    SELECT ready.id, ready.owner, ready.priority, ready.start_tag, lane.room,
           row_number() OVER (PARTITION BY lane.long
                                  ORDER BY ready.priority DESC, ready.start_tag) AS place
      FROM unnest(%(pipelines)s::text[]) AS served(pipeline)
     CROSS JOIN (VALUES (false, %(slots)s::int), (true, %(long_slots)s::int)) AS lane(long, room)
     CROSS JOIN LATERAL (
           SELECT id, owner, priority, start_tag FROM jobs
            WHERE status = 'queued' AND run_at IS NULL AND pipeline = served.pipeline
              AND long = lane.long
            ORDER BY priority DESC, start_tag LIMIT lane.room FOR UPDATE SKIP LOCKED) AS ready),
picked AS MATERIALIZED (
    SELECT id, owner FROM near WHERE place <= room
     ORDER BY priority DESC, start_tag LIMIT %(slots)s),
"""
CLAIM: Final = NEXT + TAKE


@dataclass(frozen=True, slots=True)
class FreeSlots:
    """How many jobs a worker takes now, and how many of them may be known to be long."""

    slots: int
    long_slots: int


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
    args = Claimer(worker, pipelines, lease).args
    args |= {"slots": room.slots, "long_slots": min(room.long_slots, room.slots)}
    async with conn.cursor(row_factory=class_row(Claimed)) as cur:
        return await (await cur.execute(CLAIM, args)).fetchall()


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
