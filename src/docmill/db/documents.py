"""Documents: one row per file that entered."""

from datetime import timedelta
from typing import Final

from psycopg.rows import class_row
from psycopg.types.json import Jsonb

from docmill.core.documents import Document, NewDocument
from docmill.core.jobs import DocumentId
from docmill.core.owners import OwnerKey
from docmill.db.pool import Connection

ADD: Final = """
INSERT INTO documents (id, owner, sha256, bytes, content_type, original_filename, source,
                       upload_key, meta, expires_at)
VALUES (%(id)s, %(owner)s, %(sha256)s, %(bytes)s, %(content_type)s, %(original_filename)s,
        %(source)s, %(upload_key)s, %(meta)s, now() + %(keep)s)
"""


async def add(
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
        "keep": keep,
    }
    await conn.execute(ADD, args)


ONE: Final = """
SELECT id, owner, sha256, bytes, content_type, original_filename, source, upload_key, meta,
       created_at, expires_at, expired_at
  FROM documents WHERE id = %s
"""


async def one(conn: Connection, document_id: DocumentId) -> Document | None:
    async with conn.cursor(row_factory=class_row(Document)) as cur:
        return await (await cur.execute(ONE, (document_id,))).fetchone()


# A document whose job is still to run is kept whatever its age, and so is one a trade points to.
EXPIRING: Final = """
SELECT id, upload_key FROM documents
 WHERE upload_key IS NOT NULL AND expires_at < now()
   AND NOT EXISTS (SELECT FROM jobs WHERE document_id = documents.id
                      AND status IN ('uploaded', 'queued', 'processing'))
   AND NOT EXISTS (SELECT FROM trades WHERE document_id = documents.id)
 ORDER BY expires_at LIMIT %s
"""


async def expiring(conn: Connection, limit: int) -> list[tuple[DocumentId, str]]:
    return [(row[0], row[1]) for row in await (await conn.execute(EXPIRING, (limit,))).fetchall()]


# A failed job without its file cannot be queued again, so it stops answering for its content.
EXPIRE: Final = """
WITH gone AS (
    UPDATE documents SET upload_key = NULL, expired_at = now()
     WHERE id = %s AND upload_key IS NOT NULL RETURNING id),
freed AS (
    UPDATE jobs SET dedupe_key = NULL FROM gone
     WHERE document_id = gone.id AND status = 'failed' AND dedupe_key IS NOT NULL)
INSERT INTO job_events (job_id, kind, meta)
SELECT jobs.id, 'expired', '{"what": "upload"}' FROM jobs JOIN gone ON document_id = gone.id
"""


async def expire(conn: Connection, document_id: DocumentId) -> None:
    await conn.execute(EXPIRE, (document_id,))


DROP_ORPHAN: Final = """
DELETE FROM documents
 WHERE id = %s AND NOT EXISTS (SELECT FROM jobs WHERE document_id = documents.id)
   AND NOT EXISTS (SELECT FROM trades WHERE document_id = documents.id)
RETURNING upload_key
"""


async def drop_orphan(conn: Connection, document_id: DocumentId) -> str | None:
    """Delete a document neither job nor trade refers to; the key of the file to delete with it."""
    row = await (await conn.execute(DROP_ORPHAN, (document_id,))).fetchone()
    return row[0] if row else None


KNOWN_KEYS: Final = """
SELECT upload_key FROM documents WHERE upload_key = ANY(%(keys)s)
UNION ALL SELECT key FROM results WHERE key = ANY(%(keys)s)
"""


async def known_keys(conn: Connection, keys: list[str]) -> set[str]:
    """Which of these stored keys some row points to."""
    rows = await (await conn.execute(KNOWN_KEYS, {"keys": keys})).fetchall()
    return {row[0] for row in rows}
