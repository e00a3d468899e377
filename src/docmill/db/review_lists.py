"""One owner's reviews: what waits, what was decided, and what was approved, for training."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from psycopg.rows import class_row

from docmill.core.jobs import JobId
from docmill.core.owners import OwnerKey
from docmill.db.lists import Place
from docmill.db.pool import Connection


@dataclass(frozen=True, slots=True)
class Listed:
    """A review in a list, with enough of its job to know it by."""

    job_id: JobId
    filename: str
    pipeline: str
    mapping: str | None
    created_at: datetime
    status: str
    revision: int
    doubts: int | None
    reason: str | None
    decided_by: str | None
    decided_at: datetime | None


# A job whose result was mapped can be reviewed; without a row nobody has looked at it yet.
LISTED: Final = """
SELECT j.id AS job_id, d.original_filename AS filename, j.pipeline, j.mapping, j.created_at,
       coalesce(r.status, 'pending') AS status, coalesce(r.revision, 0) AS revision, r.doubts,
       r.reason, r.decided_by, r.decided_at
  FROM jobs j JOIN documents d ON d.id = j.document_id LEFT JOIN reviews r ON r.job_id = j.id
 WHERE j.owner = %(owner)s AND j.mapping IS NOT NULL AND j.result_key IS NOT NULL
   AND (j.created_at, j.id) < (%(created_at)s, %(id)s)
   AND coalesce(r.status, 'pending') = ANY(%(statuses)s)
 ORDER BY j.created_at DESC, j.id DESC LIMIT %(limit)s
"""


async def listed(
    conn: Connection,
    owner: OwnerKey,
    statuses: Sequence[str],
    *,
    after: Place | None = None,
    limit: int,
) -> list[Listed]:
    """Newest first, from where the last page ended."""
    args = {
        "owner": owner,
        "statuses": list(statuses),
        "created_at": after.created_at if after else "infinity",
        "id": after.id if after else UUID(int=0),
        "limit": limit,
    }
    async with conn.cursor(row_factory=class_row(Listed)) as cur:
        return await (await cur.execute(LISTED, args)).fetchall()


@dataclass(frozen=True, slots=True)
class Sample:
    """An approved review, and where its data is stored as read and as approved."""

    job_id: JobId
    filename: str
    sha256: str
    pipeline: str
    mapping: str | None
    created_at: datetime
    revision: int
    decided_by: str
    decided_at: datetime
    read_key: str
    approved_key: str


SAMPLES: Final = """
SELECT j.id AS job_id, d.original_filename AS filename, d.sha256, j.pipeline, j.mapping,
       j.created_at, r.revision, r.decided_by, r.decided_at, original.key AS read_key,
       approved.key AS approved_key
  FROM jobs j JOIN documents d ON d.id = j.document_id
  JOIN reviews r ON r.job_id = j.id AND r.status = 'approved'
  JOIN results original ON original.job_id = j.id AND original.form = 'data'
                       AND original.revision = 0
  JOIN results approved ON approved.job_id = j.id AND approved.form = 'data'
                       AND approved.revision = r.revision
 WHERE j.owner = %(owner)s AND (j.created_at, j.id) > (%(created_at)s, %(id)s)
 ORDER BY j.created_at, j.id LIMIT %(limit)s
"""


async def samples(
    conn: Connection, owner: OwnerKey, *, after: Place | None = None, limit: int
) -> list[Sample]:
    """Oldest first. A result that retention took is no sample any more."""
    args = {
        "owner": owner,
        "created_at": after.created_at if after else "-infinity",
        "id": after.id if after else UUID(int=0),
        "limit": limit,
    }
    async with conn.cursor(row_factory=class_row(Sample)) as cur:
        return await (await cur.execute(SAMPLES, args)).fetchall()
