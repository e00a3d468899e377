"""Everybody's work in figures. Each statement looks at a bounded part of what there is.

Whoever asks must have passed `check_admin`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from psycopg.rows import class_row

from docmill.core.jobs import Job, JobId
from docmill.db.pool import Connection
from docmill.queue.enqueue import SHOWN, as_job
from docmill.web.params import Instant

# Owners with most work are told of, the others are in the sums.
OWNERS_SHOWN: Final = 10


@dataclass(frozen=True, slots=True)
class QueueLine:
    """How much of a pipeline or of an owner waits and runs; `oldest` is the age of the first."""

    name: str
    waiting: int
    later: int
    running: int
    oldest: float


QUEUE_LINES: Final = """
WITH counted AS MATERIALIZED (
    SELECT pipeline, owner,
           count(*) FILTER (WHERE status <> 'processing' AND run_at IS NULL) AS waiting,
           count(*) FILTER (WHERE run_at IS NOT NULL) AS later,
           count(*) FILTER (WHERE status = 'processing') AS running,
           min(coalesce(queued_at, created_at)) FILTER (
               WHERE status <> 'processing' AND run_at IS NULL) AS first
      FROM jobs WHERE status IN ('uploaded', 'queued', 'processing') GROUP BY pipeline, owner),
lines AS (
    SELECT CASE WHEN grouping(pipeline) = 0 THEN 'pipeline' ELSE 'owner' END AS kind,
           coalesce(pipeline, owner) AS name, sum(waiting)::bigint AS waiting,
           sum(later)::bigint AS later, sum(running)::bigint AS running,
           coalesce(extract(epoch FROM now() - min(first)), 0)::float8 AS oldest
      FROM counted GROUP BY GROUPING SETS ((pipeline), (owner))),
placed AS (
    SELECT lines.*, row_number() OVER (
               PARTITION BY kind ORDER BY waiting + running DESC, name) AS place FROM lines)
SELECT kind, name, waiting, later, running, oldest FROM placed
 WHERE kind = 'pipeline' OR place <= %s ORDER BY kind, place
"""


async def count_queue(conn: Connection) -> tuple[list[QueueLine], list[QueueLine]]:
    """By pipeline, and of the owners with most work."""
    rows = await (await conn.execute(QUEUE_LINES, (OWNERS_SHOWN,))).fetchall()
    return (
        [QueueLine(*row[1:]) for row in rows if row[0] == "pipeline"],
        [QueueLine(*row[1:]) for row in rows if row[0] == "owner"],
    )


@dataclass(frozen=True, slots=True)
class EndedMinute:
    """Jobs that ended in one minute, and how long complete ones took from queue to end."""

    at: Instant
    complete: int
    failed: int
    p50: float | None
    p95: float | None


# One index alone tells how many ended; how long they took is looked up for some of each minute.
ENDED: Final = """
WITH minutes AS MATERIALIZED (
    SELECT at FROM generate_series(date_trunc('minute', now()) - interval '59 minutes',
                                   date_trunc('minute', now()), interval '1 minute') AS m(at)),
done AS (
    SELECT date_trunc('minute', done.at) AS minute, count(*) AS jobs
      FROM unnest(%(pipelines)s::text[]) AS p(pipeline) CROSS JOIN LATERAL (
        SELECT completed_at AS at FROM jobs WHERE status = 'complete' AND pipeline = p.pipeline
           AND completed_at >= date_trunc('minute', now()) - interval '59 minutes'
         ORDER BY completed_at DESC LIMIT %(most)s) AS done
     GROUP BY minute),
failed AS (
    SELECT date_trunc('minute', failed_at) AS minute, count(*) AS jobs FROM jobs
     WHERE status = 'failed' AND failed_at >= date_trunc('minute', now()) - interval '59 minutes'
     GROUP BY minute),
timed AS (
    SELECT m.at, percentile_cont(ARRAY[0.5, 0.95]) WITHIN GROUP (ORDER BY few.seconds) AS spans
      FROM minutes m CROSS JOIN unnest(%(pipelines)s::text[]) AS p(pipeline) CROSS JOIN LATERAL (
        SELECT extract(epoch FROM completed_at - queued_at)::float8 AS seconds
          FROM jobs WHERE status = 'complete' AND pipeline = p.pipeline
           AND completed_at >= m.at AND completed_at < m.at + interval '1 minute'
         ORDER BY completed_at DESC LIMIT %(timed)s) AS few
     GROUP BY m.at)
SELECT m.at, coalesce(done.jobs, 0) AS complete, coalesce(failed.jobs, 0) AS failed,
       timed.spans[1] AS p50, timed.spans[2] AS p95
  FROM minutes m LEFT JOIN done ON done.minute = m.at LEFT JOIN failed ON failed.minute = m.at
  LEFT JOIN timed ON timed.at = m.at ORDER BY m.at
"""
MOST_ENDED: Final = 50_000
# Of each minute and pipeline, so many of the last.
MOST_TIMED: Final = 100


async def count_ended(conn: Connection, pipelines: Sequence[str]) -> list[EndedMinute]:
    """The last hour, minute by minute, the oldest first."""
    args = {"pipelines": list(pipelines), "most": MOST_ENDED, "timed": MOST_TIMED}
    async with conn.cursor(row_factory=class_row(EndedMinute)) as cur:
        return await (await cur.execute(ENDED, args)).fetchall()


@dataclass(frozen=True, slots=True)
class WorkerLine:
    id: str
    host: str
    pid: int
    slots: int
    version: str
    pipelines: list[str]
    seen_at: Instant
    silent: bool
    jobs: list[str]


WORKERS: Final = """
SELECT w.id, w.host, w.pid, w.slots, w.version, w.pipelines, w.seen_at,
       w.seen_at < now() - interval '2 minutes' AS silent,
       coalesce(held.jobs, '{}') AS jobs
  FROM workers w LEFT JOIN (
       SELECT leased_by, array_agg(id::text ORDER BY started_at) AS jobs
         FROM jobs WHERE status = 'processing' GROUP BY leased_by) AS held ON held.leased_by = w.id
 ORDER BY w.seen_at DESC LIMIT 100
"""


async def list_workers(conn: Connection) -> list[WorkerLine]:
    async with conn.cursor(row_factory=class_row(WorkerLine)) as cur:
        return await (await cur.execute(WORKERS)).fetchall()


@dataclass(frozen=True, slots=True)
class FailureLine:
    """The failed jobs of one code and pipeline, with the newest of them."""

    code: str
    pipeline: str
    jobs: int
    newest_at: Instant
    newest_job: str
    reason: str


FAILURES: Final = """
WITH newest AS MATERIALIZED (
    SELECT id, error_code, pipeline, failed_at, coalesce(reason, error_message) AS reason
      FROM jobs WHERE status = 'failed' ORDER BY failed_at DESC LIMIT %s)
SELECT error_code AS code, pipeline, count(*) AS jobs, max(failed_at) AS newest_at,
       (array_agg(id::text ORDER BY failed_at DESC))[1] AS newest_job,
       (array_agg(reason ORDER BY failed_at DESC))[1] AS reason
  FROM newest GROUP BY error_code, pipeline ORDER BY jobs DESC, code, pipeline LIMIT 50
"""
# So many of the newest are looked at.
FAILURES_SEEN: Final = 5_000


async def count_failures(conn: Connection) -> list[FailureLine]:
    async with conn.cursor(row_factory=class_row(FailureLine)) as cur:
        return await (await cur.execute(FAILURES, (FAILURES_SEEN,))).fetchall()


@dataclass(frozen=True, slots=True)
class RecentError:
    """The job is named; what is in it, and its file's name, is its owner's."""

    job_id: str
    owner: str
    pipeline: str
    code: str
    reason: str
    at: Instant


ERRORS: Final = """
SELECT id::text AS job_id, owner, pipeline, error_code AS code,
       coalesce(reason, error_message) AS reason, failed_at AS at
  FROM jobs WHERE status = 'failed' ORDER BY failed_at DESC LIMIT %s
"""


async def list_errors(conn: Connection, limit: int) -> list[RecentError]:
    async with conn.cursor(row_factory=class_row(RecentError)) as cur:
        return await (await cur.execute(ERRORS, (limit,))).fetchall()


@dataclass(frozen=True, slots=True)
class UnfinishedJob:
    id: str
    owner: str
    pipeline: str
    status: str
    priority: int
    waited: float


# What runs, then what is next.
ACTIVE: Final = """
(SELECT id::text, owner, pipeline, status, priority,
        greatest(extract(epoch FROM now() - started_at), 0)::float8 AS waited
   FROM jobs WHERE status = 'processing' ORDER BY started_at LIMIT %(limit)s)
UNION ALL
(SELECT j.id::text, j.owner, j.pipeline, j.status, j.priority,
        greatest(extract(epoch FROM now() - j.queued_at), 0)::float8
   FROM unnest(%(pipelines)s::text[]) AS p(pipeline) CROSS JOIN LATERAL (
        SELECT id, owner, pipeline, status, priority, queued_at, start_tag FROM jobs
         WHERE status = 'queued' AND run_at IS NULL AND pipeline = p.pipeline AND NOT long
         ORDER BY priority DESC, start_tag LIMIT %(limit)s) AS j
  ORDER BY j.priority DESC, j.start_tag LIMIT %(limit)s)
"""


async def list_active(
    conn: Connection, pipelines: Sequence[str], limit: int
) -> list[UnfinishedJob]:
    args = {"pipelines": list(pipelines), "limit": limit}
    async with conn.cursor(row_factory=class_row(UnfinishedJob)) as cur:
        return await (await cur.execute(ACTIVE, args)).fetchall()


@dataclass(frozen=True, slots=True)
class StateCounts:
    """Documents by state, of those that came since then."""

    since: Instant | None
    states: dict[str, int] = field(default_factory=dict[str, int])


# By id: a thousand documents that came in one instant would otherwise all be looked at.
COUNT_STATES: Final = """
WITH newest AS MATERIALIZED (
    SELECT id, created_at FROM documents WHERE created_at >= now() - interval '1 day'
     ORDER BY created_at DESC LIMIT %(limit)s),
since AS MATERIALIZED (
    SELECT CASE WHEN (SELECT count(*) FROM newest) = %(limit)s
                THEN (SELECT min(created_at) FROM newest) ELSE now() - interval '1 day' END AS at),
objects AS (
    SELECT id FROM bucket_objects, since
     WHERE state IN ('registered', 'refused', 'failed') AND owner IS NOT NULL
       AND registered_at >= since.at LIMIT %(limit)s)
SELECT (SELECT at FROM since), state, count(*) FROM document_states
 WHERE id = ANY(ARRAY(SELECT id FROM newest UNION SELECT id FROM objects))
 GROUP BY state ORDER BY state
"""
# A day's documents are counted, or so many of the newest where more came.
DOCUMENTS_SEEN: Final = 1_000


async def count_states(conn: Connection) -> StateCounts:
    rows = await (await conn.execute(COUNT_STATES, {"limit": DOCUMENTS_SEEN})).fetchall()
    since: datetime | None = rows[0][0] if rows else None
    return StateCounts(since, {state: count for _, state, count in rows})


@dataclass(frozen=True, slots=True)
class StorageUse:
    """Bytes in the store and in the database. `exact` is false where they are estimated."""

    documents: int
    results: int
    database: int
    exact: bool


TABLE_SIZES: Final = """
SELECT greatest(max(reltuples), 1)::float8 FROM pg_class
 WHERE oid IN ('documents'::regclass, 'results'::regclass)
"""
STORED: Final = """
SELECT coalesce((SELECT sum(bytes) FROM documents TABLESAMPLE SYSTEM (%(share)s)
                  WHERE upload_key IS NOT NULL), 0)::float8,
       coalesce((SELECT sum(stored_bytes) FROM results TABLESAMPLE SYSTEM (%(share)s)), 0)::float8,
       pg_database_size(current_database())
"""
# Rows of a table that are summed up; of a larger one a sample speaks for the rest.
ROWS_SUMMED: Final = 5_000


async def measure_storage(conn: Connection) -> StorageUse:
    sizes = await (await conn.execute(TABLE_SIZES)).fetchone()
    share = min(100.0, 100.0 * ROWS_SUMMED / sizes[0]) if sizes else 100.0
    row = await (await conn.execute(STORED, {"share": share})).fetchone()
    assert row is not None
    scale = 100.0 / share
    return StorageUse(round(row[0] * scale), round(row[1] * scale), row[2], exact=share == 100.0)


FIND_FAILED: Final = (
    SHOWN
    + """
 WHERE j.status = 'failed' AND d.upload_key IS NOT NULL
   AND (%(code)s::text IS NULL OR j.error_code = %(code)s)
   AND (%(pipeline)s::text IS NULL OR j.pipeline = %(pipeline)s)
 ORDER BY j.failed_at DESC LIMIT %(limit)s
"""
)


async def list_failed(
    conn: Connection, *, code: str | None, pipeline: str | None, limit: int
) -> list[Job]:
    """Failed jobs whose file is still there, the newest first."""
    args = {"code": code, "pipeline": pipeline, "limit": limit}
    async with conn.cursor(row_factory=class_row(Job)) as cur:
        return [as_job(row) for row in await (await cur.execute(FIND_FAILED, args)).fetchall()]


@dataclass(frozen=True, slots=True)
class BrokenPromise:
    """A job that is not as every job must be."""

    rule: str
    job_id: str
    says: str


# `lost`: nobody will ever end it. `doubled`: it ended twice. `illegal`: it is in a state, or took
# a step, that no rule allows. The last events are looked at, whatever the table's size.
BROKEN: Final = """
WITH recent AS MATERIALIZED (
    SELECT id, job_id, kind, meta ->> 'from' AS was, meta ->> 'to' AS goes
      FROM job_events ORDER BY id DESC LIMIT %(events)s)
SELECT 'lost' AS rule, id::text AS job_id,
       'Its lease ran out ' || date_trunc('minute', now() - lease_expires_at)
       || ' ago, and nobody took it back.' AS says
  FROM jobs WHERE status = 'processing' AND lease_expires_at < now() - interval '5 minutes'
UNION ALL
SELECT 'lost', id::text, 'It was uploaded and never queued.'
  FROM jobs WHERE status = 'uploaded' AND created_at < now() - interval '1 hour'
UNION ALL
SELECT 'lost', j.id::text, 'It is complete and has no result.'
  FROM recent e JOIN jobs j ON j.id = e.job_id
 WHERE e.kind = 'complete' AND j.status = 'complete' AND j.result_key IS NOT NULL
   AND NOT EXISTS (SELECT FROM results WHERE job_id = j.id AND form = 'data')
UNION ALL
SELECT 'doubled', job_id::text, 'It completed ' || count(*) || ' times.'
  FROM recent WHERE kind = 'complete' GROUP BY job_id HAVING count(*) > 1
UNION ALL
SELECT 'doubled', e.job_id::text, 'It has ' || count(*) || ' results.'
  FROM recent e JOIN results r ON r.job_id = e.job_id AND r.form = 'data'
 WHERE e.kind = 'complete' GROUP BY e.id, e.job_id HAVING count(*) > 1
UNION ALL
SELECT 'illegal', job_id::text, 'It went from ' || was || ' to ' || goes || '.'
  FROM recent WHERE kind <> 'reviewed' AND was IS NOT NULL AND goes IS NOT NULL AND was <> goes
   AND was || ' > ' || goes <> ALL (%(moves)s)
UNION ALL
SELECT 'illegal', a.job_id::text, 'An attempt is open, and it is ' || j.status || '.'
  FROM (SELECT DISTINCT job_id FROM recent) AS those
  JOIN job_attempts a ON a.job_id = those.job_id JOIN jobs j ON j.id = a.job_id
 WHERE a.ended_at IS NULL AND j.status <> 'processing'
 LIMIT 50
"""
EVENTS_SEEN: Final = 5_000


async def find_broken(conn: Connection, moves: Sequence[str]) -> list[BrokenPromise]:
    args = {"events": EVENTS_SEEN, "moves": list(moves)}
    async with conn.cursor(row_factory=class_row(BrokenPromise)) as cur:
        return await (await cur.execute(BROKEN, args)).fetchall()


JOB_FACTS: Final = """
SELECT status, priority, claim, leased_by FROM jobs WHERE id = %s
"""


async def read_facts(conn: Connection, job_id: JobId) -> dict[str, str | int | None]:
    """What an action may change of a job, for the audit log."""
    row = await (await conn.execute(JOB_FACTS, (job_id,))).fetchone()
    names = ("status", "priority", "claim", "leased_by")
    return dict(zip(names, row, strict=True)) if row else {}


# So many of the newest of a kind are looked at.
NEWEST: Final = 500


@dataclass(frozen=True, slots=True)
class Yield:
    """Of the newest 500: trades found, documents that held none, and results nobody had to touch.

    `without` are jobs of the newest documents without trades.
    """

    trade_documents: int = 0
    trades: int = 0
    without_trades: int = 0
    without: list[str] | None = None
    invoices: int = 0
    invoices_by_rule: int = 0
    trades_by_rule: int = 0


YIELD: Final = """
WITH notes AS MATERIALIZED (
    SELECT id, document_id, completed_at FROM jobs WHERE status = 'complete' AND pipeline = 'trades'
     ORDER BY completed_at DESC LIMIT %(seen)s),
found AS MATERIALIZED (
    SELECT notes.id, notes.completed_at, t.trades, t.by_rule
      FROM notes CROSS JOIN LATERAL (
           SELECT count(*) AS trades, count(raw_extracted_data #>> '{promise,rule}') AS by_rule
             FROM trades
            WHERE document_id = notes.document_id) AS t),
invoices AS MATERIALIZED (
    SELECT r.rule FROM (
        SELECT id FROM jobs WHERE status = 'complete' AND pipeline = 'invoice'
         ORDER BY completed_at DESC LIMIT %(seen)s) AS j JOIN reviews r ON r.job_id = j.id)
SELECT count(*)::int AS trade_documents, coalesce(sum(trades), 0)::int AS trades,
       (count(*) FILTER (WHERE trades = 0))::int AS without_trades,
       (array_agg(id::text ORDER BY completed_at DESC) FILTER (WHERE trades = 0))[1:5] AS without,
       (SELECT count(*)::int FROM invoices) AS invoices,
       (SELECT count(rule)::int FROM invoices) AS invoices_by_rule,
       coalesce(sum(by_rule), 0)::int AS trades_by_rule
  FROM found
"""


async def measure_yield(conn: Connection) -> Yield:
    async with conn.cursor(row_factory=class_row(Yield)) as cur:
        return await (await cur.execute(YIELD, {"seen": NEWEST})).fetchone() or Yield()


@dataclass(frozen=True, slots=True)
class ObjectCount:
    """Of the newest 500 objects of a source, those in one state."""

    source: str
    state: str
    objects: int


OBJECTS: Final = """
SELECT s.name AS source, o.state, count(*)::int AS objects
  FROM sources s CROSS JOIN LATERAL (
       SELECT state FROM bucket_objects
        WHERE owner = s.owner AND source = s.name ORDER BY registered_at DESC LIMIT %s) AS o
 GROUP BY s.name, o.state ORDER BY s.name, o.state
"""


async def count_objects(conn: Connection) -> list[ObjectCount]:
    async with conn.cursor(row_factory=class_row(ObjectCount)) as cur:
        return await (await cur.execute(OBJECTS, (NEWEST,))).fetchall()


@dataclass(frozen=True, slots=True)
class KeyLine:
    """A key that is good, never the key itself."""

    owner: str
    name: str
    scopes: list[str]
    last_used_at: Instant | None


KEYS: Final = """
SELECT owner, name, scopes, last_used_at FROM api_keys
 WHERE revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now())
 ORDER BY last_used_at DESC NULLS LAST, id LIMIT %s
"""
KEYS_SHOWN: Final = 20


async def list_keys(conn: Connection) -> list[KeyLine]:
    """The last used first."""
    async with conn.cursor(row_factory=class_row(KeyLine)) as cur:
        return await (await cur.execute(KEYS, (KEYS_SHOWN,))).fetchall()
