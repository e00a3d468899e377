"""What a receipt is made of, and the keys it is signed with."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from psycopg.rows import class_row

from docmill.core.jobs import JobId
from docmill.db.pool import Connection
from docmill.receipts.statement import make_key, name_key


@dataclass(frozen=True, slots=True)
class ReceiptKey:
    id: str
    public: bytes
    created_at: datetime
    retired_at: datetime | None


LIST_KEYS: Final = """
SELECT id, public, created_at, retired_at FROM receipt_keys ORDER BY created_at DESC, id
"""


async def list_keys(conn: Connection) -> list[ReceiptKey]:
    """All there ever were; the one that signs now first."""
    async with conn.cursor(row_factory=class_row(ReceiptKey)) as cur:
        return await (await cur.execute(LIST_KEYS)).fetchall()


SECRET: Final = "receipts/"  # noqa: S105  the beginning of a name
FIND_PRIVATE: Final = """
SELECT secret FROM receipt_keys k JOIN secrets s ON s.name = %s || k.id WHERE k.retired_at IS NULL
"""
ADD_KEY: Final = """
WITH added AS (
    INSERT INTO receipt_keys (id, public) VALUES (%(id)s, %(public)s)
    ON CONFLICT DO NOTHING RETURNING id)
INSERT INTO secrets (name, secret) SELECT %(name)s, %(private)s FROM added
"""


async def load_private(conn: Connection) -> bytes:
    """The key that signs now, made where there is none. Two who make one at once share one."""
    row = await (await conn.execute(FIND_PRIVATE, (SECRET,))).fetchone()
    if row is None:
        await _add_key(conn)
        row = await (await conn.execute(FIND_PRIVATE, (SECRET,))).fetchone()
    assert row is not None
    return bytes(row[0])


async def _add_key(conn: Connection) -> str:
    private, public = make_key()
    key = name_key(public)
    args = {"id": key, "public": public, "name": SECRET + key, "private": private}
    await conn.execute(ADD_KEY, args)
    return key


RETIRE: Final = """
WITH old AS (UPDATE receipt_keys SET retired_at = now() WHERE retired_at IS NULL RETURNING id),
forgotten AS (DELETE FROM secrets USING old WHERE name = %s || old.id)
SELECT id FROM old
"""


async def rotate_key(conn: Connection) -> tuple[str | None, str]:
    """The key that signed until now, and the one that signs from now on.

    The private half of the old one is deleted; its public half stays.
    """
    row = await (await conn.execute(RETIRE, (SECRET,))).fetchone()
    return (row[0] if row else None), await _add_key(conn)


@dataclass(frozen=True, slots=True)
class ResultRow:
    """One stored form of a result: of what was read (revision 0), or of what was approved."""

    form: str
    revision: int
    sha256: str
    bytes: int
    content_type: str
    version: str
    docmill: str | None
    mapping: str | None
    created_at: datetime


RESULTS: Final = """
SELECT r.form, r.revision, r.sha256, r.bytes, r.content_type, r.version, r.docmill, r.mapping,
       r.created_at
  FROM jobs j JOIN results r ON r.job_id = j.id AND r.claim = j.claim
 WHERE j.id = %s AND coalesce(j.result_key, j.reading_key) IS NOT NULL
 ORDER BY r.revision, r.form
"""


async def list_results(conn: Connection, job_id: JobId) -> list[ResultRow]:
    """What a job has now: as it was read, and its revisions."""
    async with conn.cursor(row_factory=class_row(ResultRow)) as cur:
        return await (await cur.execute(RESULTS, (job_id,))).fetchall()


Review = Mapping[str, Any]
