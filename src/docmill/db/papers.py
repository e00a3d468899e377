"""Documents as people look for them: with their latest job and how many trades they gave."""

from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from psycopg.rows import class_row
from psycopg.types.json import Jsonb

from docmill.core.jobs import DocumentId, JobId
from docmill.core.owners import Owner, OwnerKey
from docmill.db.pool import Connection
from docmill.db.trades import Place


@dataclass(frozen=True, slots=True)
class Paper:
    id: DocumentId
    owner: str
    original_filename: str
    sender_email: str | None
    content_type: str
    bytes: int
    sha256: str
    source: str
    upload_key: str | None
    received_at: datetime
    job_id: JobId | None
    pipeline: str | None
    status: str | None
    error_code: str | None
    trades: int


@dataclass(frozen=True, slots=True)
class Filter:
    """None means any; `status` and `pipeline` are those of the latest job."""

    status: str | None = None
    pipeline: str | None = None
    source: str | None = None
    error_code: str | None = None
    received_from: datetime | None = None
    received_until: datetime | None = None
    sender: str | None = None


SHOWN: Final = """
SELECT d.id, d.owner, d.original_filename, d.meta ->> 'sender_email' AS sender_email,
       d.content_type, d.bytes, d.sha256, d.source, d.upload_key, d.created_at AS received_at,
       j.id AS job_id, j.pipeline, j.status, j.error_code,
       (SELECT count(*) FROM trades WHERE document_id = d.id) AS trades
  FROM documents d
  LEFT JOIN LATERAL (SELECT id, pipeline, status, error_code FROM jobs
                      WHERE document_id = d.id ORDER BY created_at DESC LIMIT 1) j ON true
"""
CHOSEN: Final = """
 WHERE (d.owner = %(owner)s OR (d.owner LIKE 'desk:%%'
        AND ('*' = ANY(%(desks)s) OR substr(d.owner, 6) = ANY(%(desks)s))))
   AND (%(status)s::text IS NULL OR j.status = %(status)s)
   AND (%(pipeline)s::text IS NULL OR j.pipeline = %(pipeline)s)
   AND (%(source)s::text IS NULL OR d.source = %(source)s)
   AND (%(error_code)s::text IS NULL OR j.error_code = %(error_code)s)
   AND (%(received_from)s::timestamptz IS NULL OR d.created_at >= %(received_from)s)
   AND (%(received_until)s::timestamptz IS NULL OR d.created_at < %(received_until)s)
   AND (%(sender)s::text IS NULL OR d.meta ->> 'sender_email' = %(sender)s)
"""
PAGE: Final = (
    SHOWN
    + CHOSEN
    + """
   AND (d.created_at, d.id) < (%(created_at)s, %(id)s)
 ORDER BY d.created_at DESC, d.id DESC LIMIT %(limit)s
"""
)


async def page(
    conn: Connection, asker: Owner, only: Filter, *, after: Place | None, limit: int
) -> list[Paper]:
    """The newest first, from where the last page ended."""
    args = {
        **asdict(only),
        "owner": asker.key,
        "desks": list(asker.desks),
        "created_at": after.created_at if after else "infinity",
        "id": after.id if after else UUID(int=0),
        "limit": limit,
    }
    async with conn.cursor(row_factory=class_row(Paper)) as cur:
        return await (await cur.execute(PAGE, args)).fetchall()


ONE: Final = SHOWN + " WHERE d.id = %s"


async def one(conn: Connection, document_id: DocumentId) -> Paper | None:
    async with conn.cursor(row_factory=class_row(Paper)) as cur:
        return await (await cur.execute(ONE, (document_id,))).fetchone()


@dataclass(frozen=True, slots=True)
class Batch:
    """How far a reprocessing is, counted from its jobs."""

    id: UUID
    owner: str
    asked: dict[str, Any]
    total: int
    created_at: datetime
    complete: int
    failed: int


BEGIN: Final = "INSERT INTO reprocesses (id, owner, asked, total) VALUES (%s, %s, %s, %s)"


async def begin_batch(
    conn: Connection, batch_id: UUID, owner: OwnerKey, *, asked: dict[str, Any], total: int
) -> None:
    await conn.execute(BEGIN, (batch_id, owner, Jsonb(asked), total))


BATCH: Final = """
SELECT r.id, r.owner, r.asked, r.total, r.created_at,
       count(*) FILTER (WHERE j.status = 'complete') AS complete,
       count(*) FILTER (WHERE j.status IN ('failed', 'cancelled')) AS failed
  FROM reprocesses r LEFT JOIN jobs j ON j.options ->> 'reprocess' = r.id::text
 WHERE r.id = %s GROUP BY r.id
"""


async def batch(conn: Connection, batch_id: UUID) -> Batch | None:
    async with conn.cursor(row_factory=class_row(Batch)) as cur:
        return await (await cur.execute(BATCH, (batch_id,))).fetchone()
