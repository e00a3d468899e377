"""Documents: one row per file that entered."""

from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from psycopg.rows import class_row
from psycopg.types.json import Jsonb

from docmill.core.documents import Document, DocumentState, NewDocument
from docmill.core.jobs import DocumentId, JobId
from docmill.core.owners import Owner, OwnerKey
from docmill.db.pool import Connection
from docmill.web.params import Cursor

INSERT: Final = """
INSERT INTO documents (id, owner, sha256, bytes, content_type, original_filename, source,
                       upload_key, meta, guessed_pages, guessed_scans, expires_at)
VALUES (%(id)s, %(owner)s, %(sha256)s, %(bytes)s, %(content_type)s, %(original_filename)s,
        %(source)s, %(upload_key)s, %(meta)s, %(guessed_pages)s, %(guessed_scans)s,
        now() + %(keep)s)
"""


async def insert_document(
    conn: Connection, owner: OwnerKey, document: NewDocument, *, keep: timedelta | None
) -> None:
    args = {
        "id": document.id,
        "owner": owner,
        "sha256": document.sha256,
        "bytes": document.bytes,
        "content_type": document.content_type,
        "original_filename": document.original_filename,
        "source": document.source,
        "upload_key": document.upload_key,
        "meta": Jsonb(dict(document.meta)),
        "guessed_pages": document.guessed.pages,
        "guessed_scans": document.guessed.scans,
        "keep": keep,
    }
    await conn.execute(INSERT, args)


NOTE_PAGES: Final = "UPDATE documents SET pages = %s WHERE id = %s AND pages IS DISTINCT FROM %s"


async def note_pages(conn: Connection, document_id: DocumentId, pages: int) -> None:
    await conn.execute(NOTE_PAGES, (pages, document_id, pages))


FIND: Final = """
SELECT id, owner, sha256, bytes, content_type, original_filename, source, upload_key, meta,
       created_at, expires_at, expired_at
  FROM documents WHERE id = %s
"""


async def find_document(conn: Connection, document_id: DocumentId) -> Document | None:
    async with conn.cursor(row_factory=class_row(Document)) as cur:
        return await (await cur.execute(FIND, (document_id,))).fetchone()


DROP_ORPHAN_DOCUMENT: Final = """
DELETE FROM documents
 WHERE id = %s AND NOT EXISTS (SELECT FROM jobs WHERE document_id = documents.id)
   AND NOT EXISTS (SELECT FROM trades WHERE document_id = documents.id)
RETURNING upload_key
"""


async def drop_orphan_document(conn: Connection, document_id: DocumentId) -> str | None:
    """Delete a document neither job nor trade refers to; the key of the file to delete with it."""
    row = await (await conn.execute(DROP_ORPHAN_DOCUMENT, (document_id,))).fetchone()
    return row[0] if row else None


FIND_KNOWN_KEYS: Final = """
SELECT upload_key FROM documents WHERE upload_key = ANY(%(keys)s)
UNION ALL SELECT key FROM results WHERE key = ANY(%(keys)s)
UNION ALL SELECT key FROM uploads WHERE key = ANY(%(keys)s)
"""


async def find_known_keys(conn: Connection, keys: list[str]) -> set[str]:
    """Which of these stored keys some row points to."""
    rows = await (await conn.execute(FIND_KNOWN_KEYS, {"keys": keys})).fetchall()
    return {row[0] for row in rows}


@dataclass(frozen=True, slots=True)
class DocumentRow:
    """A document, or an object of a bucket that became none: that has no type and no hash.

    `status` is the latest job's; `state` is the document's own.
    """

    id: DocumentId
    owner: str
    original_filename: str
    sender_email: str | None
    content_type: str | None
    bytes: int
    sha256: str | None
    source: str
    upload_key: str | None
    received_at: datetime
    job_id: JobId | None
    pipeline: str | None
    status: str | None
    error_code: str | None
    trades: int
    state: str
    reason: str | None
    attempts: int


@dataclass(frozen=True, slots=True)
class DocumentFilter:
    """None means any; `status` and `pipeline` are those of the latest job."""

    status: str | None = None
    pipeline: str | None = None
    source: str | None = None
    error_code: str | None = None
    received_from: datetime | None = None
    received_until: datetime | None = None
    sender: str | None = None
    state: str | None = None


COLUMNS: Final = """
SELECT d.id, d.owner, d.original_filename, d.sender_email, d.content_type, d.bytes, d.sha256,
       d.source, d.upload_key, d.received_at, d.job_id, d.pipeline, d.status, d.error_code,
       d.trades, d.state, d.reason, d.attempts
  FROM document_states d
"""
VISIBLE: Final = """
 WHERE (d.owner = %(owner)s OR (d.owner LIKE 'desk:%%'
        AND ('*' = ANY(%(desks)s) OR substr(d.owner, 6) = ANY(%(desks)s))))
"""
CONDITIONS: Final = (
    VISIBLE
    + """
   AND (%(status)s::text IS NULL OR d.status = %(status)s)
   AND (%(state)s::text IS NULL OR d.state = %(state)s)
   AND (%(pipeline)s::text IS NULL OR d.pipeline = %(pipeline)s)
   AND (%(source)s::text IS NULL OR d.source = %(source)s)
   AND (%(error_code)s::text IS NULL OR d.error_code = %(error_code)s)
   AND (%(received_from)s::timestamptz IS NULL OR d.received_at >= %(received_from)s)
   AND (%(received_until)s::timestamptz IS NULL OR d.received_at < %(received_until)s)
   AND (%(sender)s::text IS NULL OR d.sender_email = %(sender)s)
"""
)
LIST: Final = (
    COLUMNS
    + CONDITIONS
    + """
   AND (d.received_at, d.id) < (%(created_at)s, %(id)s)
 ORDER BY d.received_at DESC, d.id DESC LIMIT %(limit)s
"""
)


async def list_documents(
    conn: Connection, asker: Owner, only: DocumentFilter, *, after: Cursor | None, limit: int
) -> list[DocumentRow]:
    """The newest first, from where the last page ended."""
    args = {
        **asdict(only),
        "owner": asker.key,
        "desks": list(asker.desks),
        "created_at": after.created_at if after else "infinity",
        "id": after.id if after else UUID(int=0),
        "limit": limit,
    }
    async with conn.cursor(row_factory=class_row(DocumentRow)) as cur:
        return await (await cur.execute(LIST, args)).fetchall()


PER_STATE: Final = """
SELECT d.state, count(*) FROM document_states d
"""
COUNT_STATES: Final = PER_STATE + VISIBLE + " GROUP BY d.state"


async def count_states(conn: Connection, asker: Owner) -> dict[DocumentState, int]:
    """How many documents of the asker and of the asker's desks are in each state."""
    args = {"owner": asker.key, "desks": list(asker.desks)}
    found = dict(await (await conn.execute(COUNT_STATES, args)).fetchall())
    return {state: found.get(str(state), 0) for state in DocumentState}


FIND_ROW: Final = COLUMNS + " WHERE d.id = %s"


async def find_document_row(conn: Connection, document_id: DocumentId) -> DocumentRow | None:
    async with conn.cursor(row_factory=class_row(DocumentRow)) as cur:
        return await (await cur.execute(FIND_ROW, (document_id,))).fetchone()


@dataclass(frozen=True, slots=True)
class ReprocessBatch:
    """How far a reprocessing is, counted from its jobs."""

    id: UUID
    owner: str
    asked: dict[str, Any]
    total: int
    created_at: datetime
    complete: int
    failed: int


BEGIN_BATCH: Final = "INSERT INTO reprocesses (id, owner, asked, total) VALUES (%s, %s, %s, %s)"


async def begin_batch(
    conn: Connection, batch_id: UUID, owner: OwnerKey, *, asked: dict[str, Any], total: int
) -> None:
    await conn.execute(BEGIN_BATCH, (batch_id, owner, Jsonb(asked), total))


FIND_BATCH: Final = """
SELECT r.id, r.owner, r.asked, r.total, r.created_at,
       count(*) FILTER (WHERE j.status = 'complete') AS complete,
       count(*) FILTER (WHERE j.status IN ('failed', 'cancelled')) AS failed
  FROM reprocesses r LEFT JOIN jobs j ON j.options ->> 'reprocess' = r.id::text
 WHERE r.id = %s GROUP BY r.id
"""


async def find_batch(conn: Connection, batch_id: UUID) -> ReprocessBatch | None:
    async with conn.cursor(row_factory=class_row(ReprocessBatch)) as cur:
        return await (await cur.execute(FIND_BATCH, (batch_id,))).fetchone()


READ_PROFILE: Final = "SELECT profile FROM owners WHERE owner = %s"


async def read_profile(conn: Connection, owner: OwnerKey) -> dict[str, Any]:
    """What the owner told about itself; empty for one who told nothing or was never here."""
    row = await (await conn.execute(READ_PROFILE, (owner,))).fetchone()
    return row[0] if row else {}


SAVE_PROFILE: Final = """
INSERT INTO owners (owner, profile) VALUES (%(owner)s, %(profile)s)
ON CONFLICT (owner) DO UPDATE SET profile = excluded.profile
"""


async def save_profile(conn: Connection, owner: OwnerKey, profile: dict[str, Any]) -> None:
    """Keep this profile in place of the last. Jobs that are there already keep theirs."""
    await conn.execute(SAVE_PROFILE, {"owner": owner, "profile": Jsonb(profile)})
