"""One owner's jobs: the recent ones, those changed or deleted since, how many are under way."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, NamedTuple
from uuid import UUID

from psycopg.rows import class_row

from docmill.core.faults import FAULTS
from docmill.core.jobs import ACTIVE_WORDS, DocumentId, Job, JobId, Status
from docmill.core.owners import OwnerKey
from docmill.db.pool import Connection
from docmill.jobs import results
from docmill.queue.enqueue import SHOWN, as_job
from docmill.web.params import Cursor


@dataclass(frozen=True, slots=True)
class JobFilter:
    """None means any."""

    statuses: tuple[Status, ...] | None = None
    pipeline: str | None = None
    text: str | None = None

    def lets(self, job: Job) -> bool:
        """Whether a job at hand is one of those asked for, by the rules of the statements below."""
        return (
            (self.statuses is None or job.status in self.statuses)
            and (self.pipeline is None or job.pipeline == self.pipeline)
            and (self.text is None or self.text.lower() in job.original_filename.lower())
        )


RECENT: Final = (
    SHOWN
    + """
 WHERE j.owner = %(owner)s
   AND (j.created_at, j.id) < (%(created_at)s, %(id)s)
   AND (%(statuses)s::text[] IS NULL OR j.status = ANY(%(statuses)s))
   AND (%(pipeline)s::text IS NULL OR j.pipeline = %(pipeline)s)
   AND (%(text)s::text IS NULL OR strpos(lower(d.original_filename), lower(%(text)s)) > 0)
 ORDER BY j.created_at DESC, j.id DESC LIMIT %(limit)s
"""
)
OF_DOCUMENTS: Final = (
    SHOWN
    + """
 WHERE j.document_id = ANY(%(documents)s) AND j.owner = %(owner)s
   AND (j.created_at, j.id) < (%(created_at)s, %(id)s)
   AND (%(statuses)s::text[] IS NULL OR j.status = ANY(%(statuses)s))
   AND (%(pipeline)s::text IS NULL OR j.pipeline = %(pipeline)s)
 ORDER BY j.created_at DESC, j.id DESC LIMIT %(limit)s
"""
)


async def list_recent(
    conn: Connection, owner: OwnerKey, only: JobFilter, *, after: Cursor | None, limit: int
) -> list[Job]:
    """Newest first, from where the last page ended.

    A name that many files have is met soon on the way through the jobs; for one that few have, the
    names are asked first.
    """
    few = await _find_named(conn, owner, only.text) if only.text else None
    args: dict[str, Any] = {
        "owner": owner,
        "created_at": after.created_at if after else "infinity",
        "id": after.id if after else UUID(int=0),
        "statuses": only.statuses and [str(status) for status in only.statuses],
        "pipeline": only.pipeline,
        "limit": limit,
        **({"text": only.text} if few is None else {"documents": few}),
    }
    query = RECENT if few is None else OF_DOCUMENTS
    async with conn.cursor(row_factory=class_row(Job)) as cur:
        return [as_job(job) for job in await (await cur.execute(query, args)).fetchall()]


FEW: Final = 500
NAMED: Final = """
SELECT id FROM documents
 WHERE owner = %(owner)s AND strpos(lower(original_filename), lower(%(text)s)) > 0 LIMIT %(limit)s
"""


async def _find_named(conn: Connection, owner: OwnerKey, text: str) -> list[DocumentId] | None:
    """The owner's documents with this in their name; None when they are more than a few."""
    args = {"owner": owner, "text": text, "limit": FEW + 1}
    rows = await (await conn.execute(NAMED, args)).fetchall()
    return None if len(rows) > FEW else [row[0] for row in rows]


CHANGED: Final = (
    SHOWN
    + """
 WHERE j.owner = %(owner)s AND j.updated_at > %(since)s
   AND (%(statuses)s::text[] IS NULL OR j.status = ANY(%(statuses)s))
   AND (%(pipeline)s::text IS NULL OR j.pipeline = %(pipeline)s)
   AND (%(text)s::text IS NULL OR strpos(lower(d.original_filename), lower(%(text)s)) > 0)
 ORDER BY j.updated_at LIMIT %(limit)s
"""
)


async def list_changed(
    conn: Connection, owner: OwnerKey, only: JobFilter, *, since: datetime, limit: int
) -> list[Job]:
    """Oldest change first. Whoever asks again with the last `updated_at` misses nothing."""
    args = {
        "owner": owner,
        "since": since,
        "statuses": only.statuses and [str(status) for status in only.statuses],
        "pipeline": only.pipeline,
        "text": only.text,
        "limit": limit,
    }
    async with conn.cursor(row_factory=class_row(Job)) as cur:
        return [as_job(job) for job in await (await cur.execute(CHANGED, args)).fetchall()]


@dataclass(frozen=True, slots=True)
class Deletion:
    """A job that was there; known for some days."""

    job_id: JobId
    deleted_at: datetime


DELETED: Final = """
SELECT job_id, deleted_at FROM job_deletions
 WHERE owner = %(owner)s AND deleted_at > %(since)s ORDER BY deleted_at LIMIT %(limit)s
"""


async def list_deleted(
    conn: Connection, owner: OwnerKey, *, since: datetime, limit: int
) -> list[Deletion]:
    """Oldest first, by the same clock as `changed`."""
    args = {"owner": owner, "since": since, "limit": limit}
    async with conn.cursor(row_factory=class_row(Deletion)) as cur:
        return await (await cur.execute(DELETED, args)).fetchall()


# A queue by something else than its age. Each order is a number that falls from row to row.
SORTED: Final = """
WITH shown AS (
    SELECT j.id, j.created_at, CASE %(sort)s
           WHEN 'oldest' THEN -extract(epoch FROM j.created_at)
           WHEN 'check' THEN CASE WHEN j.summary ->> 'state' = 'to check'
                                  THEN (j.summary ->> 'check')::numeric ELSE -1 END
           WHEN 'amount' THEN CASE WHEN j.summary ->> 'amount' ~ '^-?[0-9]{1,20}([.][0-9]{1,10})?$'
                                   THEN (j.summary ->> 'amount')::numeric END
           END AS rank
      FROM jobs j JOIN documents d ON d.id = j.document_id
     WHERE j.owner = %(owner)s
       AND (%(statuses)s::text[] IS NULL OR j.status = ANY(%(statuses)s))
       AND (%(pipeline)s::text IS NULL OR j.pipeline = %(pipeline)s)
       AND (%(text)s::text IS NULL OR strpos(lower(d.original_filename), lower(%(text)s)) > 0)),
ranked AS (SELECT id, created_at, coalesce(rank, -1e30) AS rank FROM shown)
SELECT id FROM ranked
 WHERE (rank, created_at, id) < (
       coalesce((SELECT rank FROM ranked WHERE id = %(id)s), 'infinity'), %(created_at)s, %(id)s)
 ORDER BY rank DESC, created_at DESC, id DESC LIMIT %(limit)s
"""
OF_IDS: Final = SHOWN + " WHERE j.id = ANY(%s) AND j.owner = %s"
SORTS: Final = {
    "": "Newest",
    "oldest": "Oldest",
    "check": "Most to check",
    "amount": "Highest total",
}


@dataclass(frozen=True, slots=True)
class SortedPage:
    """Which part of a sorted list."""

    sort: str
    after: Cursor | None
    limit: int


async def list_sorted(
    conn: Connection, owner: OwnerKey, only: JobFilter, *, page: SortedPage
) -> list[Job]:
    """In one of `SORTS`, from where the last page ended."""
    after = page.after
    args = {
        "owner": owner,
        "sort": page.sort,
        "created_at": after.created_at if after else "infinity",
        "id": after.id if after else UUID(int=0),
        "statuses": only.statuses and [str(status) for status in only.statuses],
        "pipeline": only.pipeline,
        "text": only.text,
        "limit": page.limit,
    }
    ids = [row[0] for row in await (await conn.execute(SORTED, args)).fetchall()]
    async with conn.cursor(row_factory=class_row(Job)) as cur:
        found = await (await cur.execute(OF_IDS, (ids, owner))).fetchall()
    return [as_job(job) for job in sorted(found, key=lambda job: ids.index(job.id))]


COUNT_BY_STATUS: Final = "SELECT status, count(*) FROM jobs WHERE owner = %s GROUP BY status"


async def count_by_status(conn: Connection, owner: OwnerKey) -> dict[str, int]:
    """How many of the owner's jobs stand where; a status of none is not named."""
    rows = await (await conn.execute(COUNT_BY_STATUS, (owner,))).fetchall()
    return {row[0]: row[1] for row in rows}


# Literals, as in the index that this reads.
COUNT_ACTIVE: Final = """
SELECT count(*) FROM jobs
 WHERE owner = %s AND status IN ('uploaded', 'queued', 'processing')
"""


async def count_active(conn: Connection, owner: OwnerKey) -> int:
    row = await (await conn.execute(COUNT_ACTIVE, (owner,))).fetchone()
    return row[0] if row else 0


CLOCKS: Final = "SELECT owner, changed_at FROM owners WHERE owner = ANY(%s)"


async def read_clocks(conn: Connection, owners: Sequence[OwnerKey]) -> dict[OwnerKey, datetime]:
    """When each owner's jobs last changed."""
    rows = await (await conn.execute(CLOCKS, (list(owners),))).fetchall()
    return {row[0]: row[1] for row in rows}


class StatusFacts(NamedTuple):
    """What of a job its status tells."""

    id: JobId
    owner: OwnerKey
    updated_at: datetime
    status: str
    progress: int
    queued_at: datetime | None
    started_at: datetime | None
    completed_at: datetime | None
    failed_at: datetime | None
    cancelled_at: datetime | None
    error_code: str | None
    error_message: str | None
    reason: str | None
    result_key: str | None


STATUSES: Final = """
SELECT id, owner, updated_at, status, progress, queued_at, started_at, completed_at, failed_at,
       cancelled_at, error_code, error_message, reason, result_key
  FROM jobs WHERE id = ANY(%s)
"""


async def read_statuses(conn: Connection, ids: Collection[JobId]) -> dict[JobId, StatusFacts]:
    """Those of these jobs that may be seen."""
    rows = await (await conn.execute(STATUSES, (list(ids),))).fetchall()
    return {row[0]: StatusFacts._make(row) for row in rows}


@dataclass(frozen=True, slots=True)
class JobEvent:
    id: int
    at: datetime
    kind: str
    worker: str | None
    meta: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class JobAttempt:
    claim: int
    attempt: int
    worker: str
    started_at: datetime
    ended_at: datetime | None
    outcome: str | None
    error_code: str | None
    error_message: str | None
    stack: str | None
    duration_ms: int | None
    cpu_ms: int | None
    memory_bytes: int | None
    reason: str | None

    @property
    def sentence(self) -> str | None:
        """What its owner reads. A retry is named only after an attempt that was followed by one."""
        fault = FAULTS.get(self.error_code or "")
        if fault is None:
            return None
        return fault.says if self.outcome in {"retry", "stopped"} else fault.final


EVENTS: Final = """
SELECT id, at, kind, worker, meta FROM job_events WHERE job_id = %s ORDER BY id LIMIT 500
"""


async def list_events(conn: Connection, job_id: JobId) -> list[JobEvent]:
    async with conn.cursor(row_factory=class_row(JobEvent)) as cur:
        return await (await cur.execute(EVENTS, (job_id,))).fetchall()


ATTEMPTS: Final = """
SELECT claim, attempt, worker, started_at, ended_at, outcome, error_code, error_message, stack,
       duration_ms, cpu_ms, memory_bytes, reason
  FROM job_attempts WHERE job_id = %s ORDER BY claim
"""


async def list_attempts(conn: Connection, job_id: JobId) -> list[JobAttempt]:
    async with conn.cursor(row_factory=class_row(JobAttempt)) as cur:
        return await (await cur.execute(ATTEMPTS, (job_id,))).fetchall()


CANCEL_JOB: Final = """
WITH old AS MATERIALIZED (SELECT id, status FROM jobs WHERE id = %s FOR UPDATE),
cancelled AS (
    UPDATE jobs SET status = 'cancelled', cancelled_at = now(), run_at = NULL, leased_by = NULL,
           lease_expires_at = NULL, dedupe_key = NULL
      FROM old WHERE jobs.id = old.id AND old.status = ANY(%s)
    RETURNING jobs.id, jobs.claim, old.status),
ended AS (
    UPDATE job_attempts SET ended_at = now(), outcome = 'cancelled',
           duration_ms = extract(epoch FROM now() - job_attempts.started_at) * 1000
      FROM cancelled WHERE job_id = cancelled.id AND job_attempts.claim = cancelled.claim
       AND ended_at IS NULL)
INSERT INTO job_events (job_id, kind, meta)
SELECT id, 'cancelled', jsonb_build_object('from', status, 'to', 'cancelled') FROM cancelled
"""


async def cancel_job(conn: Connection, job_id: JobId) -> bool:
    """Cancel a job that has not ended; its worker finds out and its writes find no row."""
    return (await conn.execute(CANCEL_JOB, (job_id, ACTIVE_WORDS))).rowcount == 1


DELETE_JOB: Final = "DELETE FROM jobs WHERE id = %s RETURNING document_id"


async def delete_job(conn: Connection, job_id: JobId) -> tuple[DocumentId | None, list[str]]:
    """Delete a job with its history; its document's id and the keys of its stored results."""
    keys = await results.list_result_keys(conn, job_id)
    row = await (await conn.execute(DELETE_JOB, (job_id,))).fetchone()
    return (row[0] if row else None), keys


COUNT_DOWNLOAD: Final = """
WITH counted AS (
    UPDATE jobs SET download_count = download_count + 1,
           first_downloaded_at = coalesce(first_downloaded_at, now())
     WHERE id = %s RETURNING id)
INSERT INTO job_events (job_id, kind) SELECT id, 'downloaded' FROM counted
"""


async def count_download(conn: Connection, job_id: JobId) -> None:
    await conn.execute(COUNT_DOWNLOAD, (job_id,))


NOTIFY_CANCEL: Final = "SELECT pg_notify('docmill_cancelled', %s)"


async def notify_cancelled(conn: Connection, job_id: JobId) -> None:
    """A hint for the worker, sent with the commit; the next progress write finds out anyway."""
    await conn.execute(NOTIFY_CANCEL, (str(job_id),))
