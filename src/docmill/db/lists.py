"""One owner's jobs: the recent ones, those changed since, and how many are under way."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from psycopg.rows import class_row

from docmill.core.jobs import Job, JobId, Status
from docmill.core.owners import OwnerKey
from docmill.db.jobs import SHOWN, as_job
from docmill.db.pool import Connection


@dataclass(frozen=True, slots=True)
class Filter:
    """None means any."""

    statuses: tuple[Status, ...] | None = None
    pipeline: str | None = None


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
 ORDER BY j.created_at DESC, j.id DESC LIMIT %(limit)s
"""
)


async def recent(
    conn: Connection, owner: OwnerKey, only: Filter, *, after: Place | None, limit: int
) -> list[Job]:
    """Newest first, from where the last page ended."""
    args = {
        "owner": owner,
        "created_at": after.created_at if after else "infinity",
        "id": after.id if after else UUID(int=0),
        "statuses": only.statuses and [str(status) for status in only.statuses],
        "pipeline": only.pipeline,
        "limit": limit,
    }
    async with conn.cursor(row_factory=class_row(Job)) as cur:
        return [as_job(job) for job in await (await cur.execute(RECENT, args)).fetchall()]


CHANGED: Final = (
    SHOWN
    + """
 WHERE j.owner = %(owner)s AND j.updated_at > %(since)s
   AND (%(statuses)s::text[] IS NULL OR j.status = ANY(%(statuses)s))
   AND (%(pipeline)s::text IS NULL OR j.pipeline = %(pipeline)s)
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
        "limit": limit,
    }
    async with conn.cursor(row_factory=class_row(Job)) as cur:
        return [as_job(job) for job in await (await cur.execute(CHANGED, args)).fetchall()]


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
