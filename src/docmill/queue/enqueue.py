"""Jobs on their way: added, queued, retried, cancelled, deleted. `db.queue` has the worker's side.

Whoever changes several jobs in one transaction locks the job rows first and their owners after, in
order; the trigger takes the owner's lock with every change, and two orders would deadlock.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from psycopg.rows import class_row
from psycopg.types.json import Jsonb

from docmill import tracing
from docmill.core.faults import DocmillError
from docmill.core.jobs import DocumentId, Job, JobId, Schedule, Status
from docmill.core.owners import Owner, OwnerKey, may_see
from docmill.core.texts import clean_text
from docmill.db import wall
from docmill.db.pool import Connection


@dataclass(frozen=True, slots=True)
class NewJob:
    id: JobId
    document_id: DocumentId
    owner: OwnerKey
    pipeline: str
    mapping: str | None
    options: dict[str, Any]
    priority: int
    dedupe_key: str | None
    duplicate_of: JobId | None = None
    schedule: Schedule = field(default_factory=Schedule)


ADD_JOB: Final = """
WITH added AS (
    INSERT INTO jobs (id, document_id, owner, pipeline, mapping, options, priority, dedupe_key,
                      duplicate_of, requested_pipeline)
    VALUES (%(id)s, %(document_id)s, %(owner)s, %(pipeline)s, %(mapping)s, %(options)s,
            %(priority)s, %(dedupe_key)s, %(duplicate_of)s, %(pipeline)s)
    RETURNING id)
INSERT INTO job_events (job_id, kind, meta)
SELECT id, 'created', '{"from": null, "to": "uploaded"}' FROM added
"""


async def add_job(conn: Connection, job: NewJob) -> None:
    """Write down a job whose file is stored. It waits for `enqueue`."""
    args = {
        "id": job.id,
        "document_id": job.document_id,
        "owner": job.owner,
        "pipeline": job.pipeline,
        "mapping": job.mapping,
        "options": Jsonb(job.options),
        "priority": job.priority,
        "dedupe_key": job.dedupe_key,
        "duplicate_of": job.duplicate_of,
    }
    with tracing.span("job", "producer", job=str(job.id), pipeline=job.pipeline) as span:
        await conn.execute(ADD_JOB, args)
        if span.traceparent:
            await conn.execute(ADD_TRACE, (job.id, span.traceparent))


ADD_TRACE: Final = "INSERT INTO job_traces (job_id, traceparent) VALUES (%s, %s)"
FIND_TRACE: Final = "SELECT traceparent FROM job_traces WHERE job_id = %s"


async def find_trace(conn: Connection, job_id: JobId) -> str | None:
    """The trace that the job's upload was part of."""
    row = await (await conn.execute(FIND_TRACE, (job_id,))).fetchone()
    return row[0] if row else None


# The tag is one past the owner's last, but never behind the queue's head: an owner who floods the
# queue waits behind himself, and one who comes later starts at the head. An empty queue has no
# head, so the clock (in microseconds, faster than any enqueuing) stands in: debts are forgotten.
# Who waits for others waits until the end of time, unless `claim.release` finds that they ended.
ENQUEUE: Final = """
WITH tag AS (
    UPDATE owners
       SET last_tag = greatest(last_tag + 1, coalesce(
           docmill_queue_head(%(pipeline)s, %(priority)s),
           (extract(epoch FROM clock_timestamp()) * 1000000)::bigint))
     WHERE owner = %(owner)s
    RETURNING last_tag),
ready AS (
    UPDATE jobs
       SET status = 'queued', queued_at = now(), start_tag = tag.last_tag, progress = 0, stage = '',
           error_code = NULL, error_message = NULL, failed_at = NULL, attempt_count = 0,
           tries_before = tries_before + attempt_count,
           reason = NULL, reading_key = NULL, decision = NULL, summary = NULL, expires_at = NULL,
           pipeline = coalesce(requested_pipeline, pipeline),
           not_before = %(not_before)s::timestamptz, after = %(after)s::uuid[],
           run_at = CASE WHEN %(after)s::uuid[] IS NOT NULL THEN timestamptz '9999-01-01 00:00Z'
                         WHEN %(not_before)s::timestamptz > now() THEN %(not_before)s END
      FROM tag
     WHERE id = %(id)s AND status = %(was)s
    RETURNING id, priority, not_before, after),
checked AS (
    INSERT INTO dependency_checks (job_id)
    SELECT id FROM ready WHERE after IS NOT NULL AND %(was)s = 'failed')
INSERT INTO job_events (job_id, kind, meta)
SELECT id, CASE WHEN %(was)s = 'failed' THEN 'retry' ELSE 'queued' END,
       jsonb_strip_nulls(jsonb_build_object('from', %(was)s::text, 'to', 'queued',
           'priority', priority, 'run_at', not_before, 'after', to_jsonb(after)))
  FROM ready
"""


async def enqueue(conn: Connection, job: NewJob) -> None:
    """Make an uploaded job ready to run, at its fair place in the queue."""
    await conn.execute(ENQUEUE, _enqueue_args(job, was=Status.UPLOADED))


LOCK: Final = "SELECT FROM jobs WHERE id = %s FOR UPDATE"


async def retry_job(conn: Connection, job: Job, schedule: Schedule | None = None) -> bool:
    """Queue a failed job again with a fresh budget; False when it is not failed any more.

    By its own schedule, or another one.
    """
    await conn.execute(LOCK, (job.id,))  # the job before its owner, as everybody does
    args = _enqueue_args(job, was=Status.FAILED, schedule=schedule)
    return (await conn.execute(ENQUEUE, args)).rowcount == 1


def _enqueue_args(
    job: NewJob | Job, *, was: Status, schedule: Schedule | None = None
) -> dict[str, Any]:
    wanted = schedule or job.schedule
    return {
        "not_before": wanted.not_before,
        "after": list(wanted.after) or None,
        "id": job.id,
        "owner": job.owner,
        "pipeline": job.pipeline,
        "priority": job.priority,
        "was": str(was),
    }


# A job as people see it; whoever lists jobs goes on from here.
SHOWN: Final = """
SELECT j.id, j.document_id, j.owner, d.original_filename, d.content_type, d.bytes, d.sha256,
       d.source, d.upload_key, j.pipeline, j.mapping, j.status, j.priority, j.progress, j.stage,
       j.result_key, j.error_code, j.error_message, j.created_at, j.updated_at, j.queued_at,
       j.started_at, j.completed_at, j.failed_at, j.cancelled_at, j.leased_by,
       j.lease_expires_at, j.claim, j.tries_before + j.attempt_count AS attempt_count,
       j.expires_at, j.download_count, j.first_downloaded_at, j.duplicate_of,
       coalesce(j.requested_pipeline, j.pipeline) AS requested_pipeline, j.decision, j.reason,
       j.summary, j.reading_key, coalesce(d.pages, d.guessed_pages) AS pages,
       coalesce(d.guessed_scans, 0) AS scans, j.not_before, j.after,
       CASE WHEN j.status = 'queued' AND j.after IS NOT NULL THEN j.not_before ELSE j.run_at END
           AS run_at
  FROM jobs j JOIN documents d ON d.id = j.document_id
"""
FIND_JOB: Final = SHOWN + " WHERE j.id = %s"


async def find_job(conn: Connection, job_id: JobId) -> Job | None:
    async with conn.cursor(row_factory=class_row(Job)) as cur:
        job = await (await cur.execute(FIND_JOB, (job_id,))).fetchone()
    return job and as_job(job)


def as_job(job: Job) -> Job:
    """The row's status is text; a job's is a Status."""
    object.__setattr__(job, "status", Status(job.status))
    return job


FIND_READING: Final = (
    SHOWN
    + """
 WHERE j.document_id = %(document)s AND j.owner = %(owner)s AND j.pipeline = %(pipeline)s
   AND j.mapping IS NOT DISTINCT FROM %(mapping)s AND j.status <> 'cancelled'
   AND (j.status <> 'complete' OR j.result_key IS NOT NULL)
 ORDER BY j.created_at DESC LIMIT 1
"""
)


async def find_reading(
    conn: Connection, job: Job, pipeline: str, mapping: str | None
) -> Job | None:
    """The newest job that reads the same document in this way."""
    args = {
        "document": job.document_id,
        "owner": job.owner,
        "pipeline": pipeline,
        "mapping": mapping,
    }
    async with conn.cursor(row_factory=class_row(Job)) as cur:
        found = await (await cur.execute(FIND_READING, args)).fetchone()
    return found and as_job(found)


FIND_TWIN: Final = "SELECT id FROM jobs WHERE dedupe_key = %s FOR UPDATE"


async def find_twin(conn: Connection, dedupe_key: str) -> JobId | None:
    """The job that already stands for this content. `owners.introduce` about the key first."""
    row = await (await conn.execute(FIND_TWIN, (dedupe_key,))).fetchone()
    return row[0] if row else None


LOCK_PREREQUISITES: Final = """
SELECT id, status, created_at FROM jobs WHERE id = ANY(%(ids)s) AND owner = %(owner)s
 ORDER BY id FOR SHARE
"""


@dataclass(frozen=True, slots=True)
class Prerequisite:
    """A job that another one is to run after."""

    id: JobId
    status: str
    created_at: datetime


async def lock_prerequisites(
    conn: Connection, owner: OwnerKey, ids: Sequence[JobId]
) -> dict[JobId, Prerequisite]:
    """The owner's jobs of these ids as they stand; they stay so until COMMIT.

    So a job that is written down as waiting for them is told of their ends.
    """
    async with conn.cursor(row_factory=class_row(Prerequisite)) as cur:
        args = {"ids": list(ids), "owner": owner}
        found = await (await cur.execute(LOCK_PREREQUISITES, args)).fetchall()
    return {one.id: one for one in found}


FIND_REQUEST: Final = """
SELECT job_id, sha256 FROM idempotency_keys
 WHERE owner = %(owner)s AND key = %(key)s AND position = %(position)s
"""
RECORD_REQUEST: Final = """
INSERT INTO idempotency_keys (owner, key, position, sha256, job_id)
VALUES (%(owner)s, %(key)s, %(position)s, %(sha256)s, %(job_id)s)
"""


@dataclass(frozen=True, slots=True)
class RequestKey:
    """An Idempotency-Key, and the file's place in a request of several."""

    owner: OwnerKey
    key: str
    position: int


async def find_request(conn: Connection, key: RequestKey) -> tuple[JobId, str] | None:
    """The job and the content this key gave before; others with the same key wait for us."""
    lock = f"{key.owner} {key.position} {key.key}"
    await conn.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 2))", (lock,))
    args = {"owner": key.owner, "key": key.key, "position": key.position}
    row = await (await conn.execute(FIND_REQUEST, args)).fetchone()
    return (row[0], row[1]) if row else None


async def record_request(conn: Connection, key: RequestKey, *, sha256: str, job_id: JobId) -> None:
    args = {
        "owner": key.owner,
        "key": key.key,
        "position": key.position,
        "sha256": sha256,
        "job_id": job_id,
    }
    await conn.execute(RECORD_REQUEST, args)


RECORD_VIEW: Final = "INSERT INTO job_events (job_id, kind) VALUES (%s, 'viewed')"


async def record_view(conn: Connection, job_id: JobId) -> None:
    """Somebody looked at the job's document."""
    await conn.execute(RECORD_VIEW, (job_id,))


READ_OPTIONS: Final = "SELECT options FROM jobs WHERE id = %s"


async def read_options(conn: Connection, job_id: JobId) -> dict[str, Any]:
    """The options a job was given."""
    row = await (await conn.execute(READ_OPTIONS, (job_id,))).fetchone()
    return row[0] if row else {}


FIND_JOB_OF_DOCUMENT: Final = (
    "SELECT id FROM jobs WHERE document_id = %s ORDER BY created_at DESC LIMIT 1"
)


async def find_job_of_document(conn: Connection, document_id: DocumentId) -> Job | None:
    """The newest job over a document."""
    row = await (await conn.execute(FIND_JOB_OF_DOCUMENT, (document_id,))).fetchone()
    return await find_job(conn, row[0]) if row else None


FIND_ORIGINAL: Final = """
SELECT j.id FROM documents d JOIN jobs j ON j.document_id = d.id
 WHERE d.sha256 = %(sha256)s AND j.pipeline = %(pipeline)s
   AND j.mapping IS NOT DISTINCT FROM %(mapping)s AND j.options = '{}'
   AND j.status = 'complete' AND j.result_key IS NOT NULL
 ORDER BY j.completed_at DESC LIMIT 1
"""


async def find_original(
    conn: Connection, sha256: str, pipeline: str, mapping: str | None
) -> JobId | None:
    """Anybody's complete job over the same content, for installations that share results."""
    args = {"sha256": sha256, "pipeline": pipeline, "mapping": mapping}
    row = await (await conn.execute(FIND_ORIGINAL, args)).fetchone()
    return row[0] if row else None


# The lock is for whoever decides by what is already there; it must come before that is looked at.
ENSURE_OWNER: Final = """
WITH new AS (INSERT INTO owners (owner) VALUES (%(owner)s) ON CONFLICT (owner) DO NOTHING)
SELECT pg_advisory_xact_lock(hashtextextended(%(about)s, 0))
"""


async def ensure_owner(conn: Connection, owner: OwnerKey, *, about: str = "") -> None:
    """Make sure the owner has a row, and be the only one to decide `about` this until COMMIT."""
    await conn.execute(ENSURE_OWNER, {"owner": owner, "about": about or owner})


async def find_own_job(conn: Connection, owner: Owner, job_id: str) -> Job:
    """The job, if there is one and it is the asker's."""
    job = await find_job_by_text(conn, job_id)
    if job.owner != owner.key:
        raise DocmillError("FORBIDDEN", jobId=str(job.id))
    return job


async def find_visible_job(conn: Connection, owner: Owner, job_id: str) -> Job:
    """The job, if there is one and the asker may look at it: it may be a desk's."""
    job = await find_job_by_text(conn, job_id)
    if not may_see(owner, job.owner):
        raise DocmillError("FORBIDDEN", jobId=str(job.id))
    return job


async def find_job_by_text(conn: Connection, job_id: str) -> Job:
    """Anybody's job: who asks must have a right to it by something else than being its owner."""
    try:
        wanted = JobId(UUID(job_id))
        job = await find_job(conn, wanted)
        if job is None and await wall.is_known(conn, "jobs", wanted):
            raise DocmillError("FORBIDDEN", jobId=str(wanted))
    except ValueError:
        job = None
    if job is None:
        raise DocmillError("JOB_NOT_FOUND", jobId=clean_text(job_id)[:64])
    return job
