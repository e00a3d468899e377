"""One owner's jobs: the recent ones, those changed or deleted since, how many are under way."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from psycopg.rows import class_row

from docmill.core.jobs import DocumentId, Job, JobId, Status
from docmill.core.owners import OwnerKey
from docmill.db.jobs import SHOWN, as_job
from docmill.db.pool import Connection


@dataclass(frozen=True, slots=True)
class Filter:
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


@dataclass(frozen=True, slots=True)
class Place:
    """Where a page of the recent jobs ended."""

    created_at: datetime
    id: JobId


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


async def recent(
    conn: Connection, owner: OwnerKey, only: Filter, *, after: Place | None, limit: int
) -> list[Job]:
    """Newest first, from where the last page ended.

    A name that many files have is met soon on the way through the jobs; for one that few have, the
    names are asked first.
    """
    few = await _named(conn, owner, only.text) if only.text else None
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


async def _named(conn: Connection, owner: OwnerKey, text: str) -> list[DocumentId] | None:
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


async def changed(
    conn: Connection, owner: OwnerKey, only: Filter, *, since: datetime, limit: int
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


async def deleted(
    conn: Connection, owner: OwnerKey, *, since: datetime, limit: int
) -> list[Deletion]:
    """Oldest first, by the same clock as `changed`."""
    args = {"owner": owner, "since": since, "limit": limit}
    async with conn.cursor(row_factory=class_row(Deletion)) as cur:
        return await (await cur.execute(DELETED, args)).fetchall()


ACTIVE: Final = """
SELECT count(*) FROM jobs
 WHERE owner = %s AND status IN ('uploaded', 'queued', 'processing')
"""


async def active_count(conn: Connection, owner: OwnerKey) -> int:
    row = await (await conn.execute(ACTIVE, (owner,))).fetchone()
    return row[0] if row else 0


CLOCKS: Final = "SELECT owner, changed_at FROM owners WHERE owner = ANY(%s)"


async def clocks(conn: Connection, owners: Sequence[OwnerKey]) -> dict[OwnerKey, datetime]:
    """When each owner's jobs last changed."""
    rows = await (await conn.execute(CLOCKS, (list(owners),))).fetchall()
    return {row[0]: row[1] for row in rows}
