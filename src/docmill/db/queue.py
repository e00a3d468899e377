"""The queue as a worker sees it: claim, keep the lease, note progress, settle, rescue."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from psycopg.rows import class_row

from docmill.core.documents import storable
from docmill.core.jobs import Claimed, JobId, Move, StoredResult, Usage
from docmill.db.pool import Connection

# Those a worker serves; a mapping names the gateway of each that is run elsewhere.
Pipelines = Sequence[str] | Mapping[str, str | None]

# A job that waited comes back at the head of the queue, not before it.
PROMOTE: Final = """
WITH picked AS MATERIALIZED (
    SELECT id, owner, pipeline, priority FROM jobs WHERE status = 'queued' AND run_at <= now()
     ORDER BY run_at LIMIT %s FOR UPDATE SKIP LOCKED),
held AS MATERIALIZED (
    SELECT owner FROM owners WHERE owner IN (SELECT owner FROM picked) ORDER BY owner FOR UPDATE)
UPDATE jobs
   SET run_at = NULL,
       start_tag = greatest(start_tag, (
           SELECT head.start_tag FROM jobs head
            WHERE head.status = 'queued' AND head.run_at IS NULL
              AND head.pipeline = picked.pipeline AND head.priority = picked.priority
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


async def next_due(conn: Connection) -> float | None:
    """Seconds until the next waiting job is due."""
    row = await (await conn.execute(NEXT_DUE)).fetchone()
    return row[0] if row else None


# One LATERAL branch per pipeline reads the head of one index each; a single ORDER BY over
# `pipeline = ANY(..)` would sort the whole queue. MATERIALIZED, or the LIMIT may run twice.
CLAIM: Final = """
WITH picked AS MATERIALIZED (
    SELECT ready.id, ready.owner
      FROM unnest(%(pipelines)s::text[]) AS served(pipeline)
     CROSS JOIN LATERAL (
           SELECT id, owner, priority, start_tag FROM jobs
            WHERE status = 'queued' AND run_at IS NULL AND pipeline = served.pipeline
            ORDER BY priority DESC, start_tag LIMIT %(slots)s FOR UPDATE SKIP LOCKED) AS ready
     ORDER BY ready.priority DESC, ready.start_tag LIMIT %(slots)s),
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
              jobs.duplicate_of, jobs.claim, jobs.attempt_count, jobs.priority, jobs.start_tag),
tried AS (
    INSERT INTO job_attempts (job_id, claim, attempt, worker)
    SELECT id, claim, attempt_count, %(worker)s FROM taken),
told AS (
    INSERT INTO job_events (job_id, kind, worker, meta)
    SELECT id, 'processing', %(worker)s, jsonb_strip_nulls(jsonb_build_object(
               'from', 'queued', 'to', 'processing', 'attempt', attempt_count, 'claim', claim,
               'gateway', %(gateways)s::jsonb -> pipeline))
      FROM taken)
SELECT t.id, t.document_id, t.owner, t.pipeline, t.mapping, t.options, t.duplicate_of, t.claim,
       t.attempt_count, d.upload_key, d.original_filename, d.content_type, d.bytes, d.sha256
  FROM taken t JOIN documents d ON d.id = t.document_id
 ORDER BY t.priority DESC, t.start_tag
"""


async def claim(
    conn: Connection, worker: str, *, pipelines: Pipelines, slots: int, lease: timedelta
) -> list[Claimed]:
    """Take up to `slots` ready jobs: highest priority first, then the fair order."""
    gateways = (
        {name: url for name, url in pipelines.items() if url}
        if isinstance(pipelines, Mapping)
        else {}
    )
    args = {
        "worker": worker,
        "pipelines": list(pipelines),
        "slots": slots,
        "lease": lease,
        "gateways": json.dumps(gateways),
    }
    async with conn.cursor(row_factory=class_row(Claimed)) as cur:
        return await (await cur.execute(CLAIM, args)).fetchall()


PROGRESS: Final = """
WITH noted AS (
    UPDATE jobs SET progress = greatest(progress, %(progress)s), stage = %(stage)s
     WHERE id = %(id)s AND claim = %(claim)s AND status = 'processing'
    RETURNING id, leased_by, progress),
told AS (
    INSERT INTO job_events (job_id, kind, worker, meta)
    SELECT id, 'progress', leased_by,
           jsonb_build_object('progress', progress, 'stage', %(stage)s::text)
      FROM noted WHERE %(milestone)s)
SELECT id FROM noted
"""


@dataclass(frozen=True, slots=True)
class Progress:
    percent: int
    stage: str
    milestone: bool


async def note_progress(conn: Connection, job: Claimed, progress: Progress) -> bool:
    """Show how far a run is; False when the job is no longer ours."""
    await conn.execute("SET LOCAL synchronous_commit = off")
    args = {
        "id": job.id,
        "claim": job.claim,
        "progress": progress.percent,
        "stage": progress.stage,
        "milestone": progress.milestone,
    }
    return await (await conn.execute(PROGRESS, args)).fetchone() is not None


# The fence: a row moves only while it is processing under the claim we hold. The status is looked
# at after the row is locked, and in the CTE, so that the planner goes by primary key.
SETTLE: Final = """
WITH given AS MATERIALIZED (
    SELECT * FROM jsonb_to_recordset(%(moves)s::jsonb) AS g(
        id uuid, claim int, goes text, outcome text, code text, message text, detail text,
        stack text, delay interval, refund boolean, keep interval, result_key text,
        results jsonb, duration_ms int, cpu_ms int, memory_bytes bigint, call jsonb)),
locked AS MATERIALIZED (
    SELECT jobs.id, jobs.claim, jobs.owner, jobs.status, jobs.leased_by
      FROM jobs JOIN given ON jobs.id = given.id ORDER BY jobs.id FOR UPDATE OF jobs),
held AS MATERIALIZED (
    SELECT owner FROM owners WHERE owner IN (SELECT owner FROM locked) ORDER BY owner FOR UPDATE),
mine AS MATERIALIZED (
    SELECT given.*, locked.leased_by FROM given JOIN locked USING (id, claim)
     WHERE locked.status = 'processing' AND (SELECT count(*) FROM held) > 0),
moved AS (
    UPDATE jobs
       SET status = mine.goes, leased_by = NULL, lease_expires_at = NULL,
           attempt_count = jobs.attempt_count - mine.refund::int,
           run_at = CASE WHEN mine.goes = 'queued' THEN now() + mine.delay END,
           queued_at = CASE WHEN mine.goes = 'queued' AND NOT mine.refund THEN now()
                            ELSE jobs.queued_at END,
           progress = CASE WHEN mine.goes = 'complete' THEN 100 ELSE jobs.progress END,
           stage = '',
           result_key = mine.result_key,
           expires_at = CASE WHEN mine.goes = 'complete' THEN now() + mine.keep END,
           completed_at = CASE WHEN mine.goes = 'complete' THEN now() END,
           failed_at = CASE WHEN mine.goes = 'failed' THEN now() END,
           error_code = CASE WHEN mine.goes = 'failed' THEN mine.code END,
           error_message = CASE WHEN mine.goes = 'failed' THEN mine.message END
      FROM mine WHERE jobs.id = mine.id
    RETURNING jobs.id, jobs.run_at, jobs.attempt_count, mine.claim, mine.goes, mine.outcome,
              mine.code, mine.refund, mine.duration_ms, mine.leased_by, mine.call),
saved AS (
    INSERT INTO results (job_id, claim, form, key, content_type, bytes, stored_bytes, sha256,
                         version)
    SELECT mine.id, mine.claim, r.form, r.key, r.content_type, r.bytes, r.stored_bytes, r.sha256,
           r.version
      FROM mine CROSS JOIN LATERAL jsonb_to_recordset(mine.results) AS r(
           form text, key text, content_type text, bytes bigint, stored_bytes bigint, sha256 text,
           version text)),
ended AS (
    UPDATE job_attempts a
       SET ended_at = now(), outcome = mine.outcome, error_code = mine.code,
           error_message = mine.detail, stack = mine.stack, cpu_ms = mine.cpu_ms,
           memory_bytes = mine.memory_bytes,
           duration_ms = coalesce(mine.duration_ms,
                                  extract(epoch FROM clock_timestamp() - a.started_at) * 1000)
      FROM mine WHERE a.job_id = mine.id AND a.claim = mine.claim),
forgotten AS (
    DELETE FROM answers USING mine WHERE answers.job_id = mine.id AND mine.goes <> 'queued'),
done AS (
    DELETE FROM steps USING mine WHERE steps.job_id = mine.id AND mine.goes = 'complete'),
told AS (
    INSERT INTO job_events (job_id, kind, worker, meta)
    SELECT id,
           CASE WHEN goes <> 'queued' THEN goes WHEN refund THEN 'queued' ELSE 'retry' END,
           leased_by,
           jsonb_strip_nulls(jsonb_build_object(
               'from', 'processing', 'to', goes, 'outcome', outcome, 'claim', claim,
               'attempt', attempt_count, 'code', code, 'run_at', run_at,
               'duration_ms', duration_ms) || coalesce(call, '{}'))
      FROM moved)
SELECT id FROM moved
"""


@dataclass(frozen=True, slots=True)
class Settlement:
    """A decision on one claimed job, ready to be written."""

    job: Claimed
    move: Move
    usage: Usage | None = None
    keep: timedelta | None = None


async def settle(conn: Connection, settlements: Sequence[Settlement]) -> set[JobId]:
    """Write what was decided; the jobs that moved. The others belong to somebody else by now."""
    moves = json.dumps([_as_row(settlement) for settlement in settlements])
    rows = await (await conn.execute(SETTLE, {"moves": moves})).fetchall()
    return {row[0] for row in rows}


def _as_row(given: Settlement) -> dict[str, Any]:
    move = given.move
    row: dict[str, Any] = {
        "id": str(given.job.id),
        "claim": given.job.claim,
        "goes": move.to,
        "outcome": move.outcome,
        "code": move.code,
        "message": move.message,
        "detail": storable(move.detail) or None,
        "stack": storable(move.stack) or None,
        "delay": _seconds(move.delay),
        "refund": move.refund,
        "keep": _seconds(given.keep),
    }
    if usage := given.usage:
        row |= {
            "duration_ms": usage.duration_ms,
            "cpu_ms": usage.cpu_ms,
            "memory_bytes": usage.memory_bytes,
            "call": dict(usage.call),
        }
    if move.result:
        row["result_key"] = (move.document or move.result).key
        row["results"] = [_result_row("data", move.result)]
    if move.document:
        row["results"].append(_result_row("document", move.document))
    return row


def _result_row(form: str, result: StoredResult) -> dict[str, Any]:
    return {
        "form": form,
        "key": result.key,
        "content_type": result.content_type,
        "bytes": result.bytes,
        "stored_bytes": result.stored_bytes,
        "sha256": result.sha256,
        "version": result.version,
    }


def _seconds(span: timedelta | None) -> str | None:
    return None if span is None else f"{span.total_seconds():.6f} seconds"
