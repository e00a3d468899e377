"""The one way to read what is stored: by its key, held against its row, or refused."""

from contextlib import suppress
from dataclasses import dataclass
from typing import Final, LiteralString
from uuid import UUID

import structlog
from psycopg.rows import class_row

from docmill.core.faults import DocmillError
from docmill.db.pool import Connection, Pool, connection, read_connection
from docmill.storage.checked import CheckedObject, Expected, open_checked
from docmill.storage.contract import Store

log = structlog.get_logger()


async def open_stored(pool: Pool, store: Store, key: str) -> CheckedObject:
    """A result or an original. EXPIRED when it is gone, DAMAGED when it is not what it was."""
    async with read_connection(pool) as conn:
        row = await find_object(conn, key)
    if row is None:
        raise DocmillError("EXPIRED", "no row points to this key")
    return await open_known(pool, store, row)


@dataclass(frozen=True, slots=True)
class StoredObject:
    """`packed_bytes` is None for an original, which is stored as it came."""

    kind: str
    key: str
    bytes: int
    sha256: str
    packed_bytes: int | None
    document_id: UUID
    job_id: UUID | None


async def open_known(pool: Pool, store: Store, row: StoredObject) -> CheckedObject:
    """The same for whoever has the row already."""
    try:
        return await open_checked(store, expect(row))
    except DocmillError as exc:
        if exc.fault.code == "DAMAGED":
            await note_damage(pool, row, exc)
        elif exc.fault.code == "EXPIRED":
            await note_missing(pool, row)
        raise


def expect(row: StoredObject) -> Expected:
    return Expected(row.key, row.bytes, row.sha256, row.packed_bytes)


async def note_damage(pool: Pool, row: StoredObject, exc: DocmillError) -> None:
    """To the log; and the same file may be uploaded again and becomes a new job."""
    log.error("object.damaged", detail=exc.detail, **_facts(row))
    await _disown(pool, row)


async def note_missing(pool: Pool, row: StoredObject) -> None:
    """The same for one that is not in the store though its row is there."""
    if await _disown(pool, row):
        log.error("object.missing", **_facts(row))


def _facts(row: StoredObject) -> dict[str, str | None]:
    job = row.job_id and str(row.job_id)
    return {"kind": row.kind, "document": str(row.document_id), "job": job}


async def _disown(pool: Pool, row: StoredObject) -> bool:
    with suppress(DocmillError):
        async with connection(pool) as conn:
            return await disown(conn, row.key)
    return False


RESULT: Final = "result"
ORIGINAL: Final = "original"


BY_KEY: Final = """
SELECT 'original' AS kind, upload_key AS key, bytes, sha256, NULL::bigint AS packed_bytes,
       id AS document_id, NULL::uuid AS job_id
  FROM documents WHERE upload_key = %(key)s
UNION ALL
SELECT 'result', r.key, r.bytes, r.sha256, r.stored_bytes, j.document_id, r.job_id
  FROM results r JOIN jobs j ON j.id = r.job_id WHERE r.key = %(key)s
"""


async def find_object(conn: Connection, key: str) -> StoredObject | None:
    """None for a key that no row points to, or none any more."""
    async with conn.cursor(row_factory=class_row(StoredObject)) as cur:
        return await (await cur.execute(BY_KEY, {"key": key})).fetchone()


ORIGINALS: Final = """
SELECT 'original' AS kind, upload_key AS key, bytes, sha256, NULL::bigint AS packed_bytes,
       id AS document_id, NULL::uuid AS job_id
  FROM documents WHERE upload_key > %(after)s ORDER BY upload_key LIMIT %(limit)s
"""
RESULTS: Final = """
SELECT 'result' AS kind, r.key, r.bytes, r.sha256, r.stored_bytes AS packed_bytes, j.document_id,
       r.job_id
  FROM results r JOIN jobs j ON j.id = r.job_id
 WHERE r.key > %(after)s ORDER BY r.key LIMIT %(limit)s
"""
PAGE_OF_KIND: Final[dict[str, LiteralString]] = {ORIGINAL: ORIGINALS, RESULT: RESULTS}


async def list_objects(
    conn: Connection, kind: str, *, after: str, limit: int
) -> list[StoredObject]:
    """All objects of a kind in the order of their keys, a page at a time."""
    async with conn.cursor(row_factory=class_row(StoredObject)) as cur:
        return await (
            await cur.execute(PAGE_OF_KIND[kind], {"after": after, "limit": limit})
        ).fetchall()


COUNT: Final = """
SELECT (SELECT count(*) FROM documents WHERE upload_key IS NOT NULL)
     + (SELECT count(*) FROM results)
"""


async def count_objects(conn: Connection) -> int:
    row = await (await conn.execute(COUNT)).fetchone()
    return row[0] if row else 0


# Else the same file, sent again, would find the job that can't be used any more.
DISOWN: Final = """
UPDATE jobs SET dedupe_key = NULL
 WHERE dedupe_key IS NOT NULL
   AND (id = (SELECT job_id FROM results WHERE key = %(key)s)
        OR document_id = (SELECT id FROM documents WHERE upload_key = %(key)s))
"""


async def disown(conn: Connection, key: str) -> bool:
    """What is damaged no longer answers for its content: the file may be uploaded again."""
    return (await conn.execute(DISOWN, {"key": key})).rowcount > 0
