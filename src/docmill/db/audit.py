"""The audit log: who did what to which thing, and what it was before. Rows are only added.

Changes of settings, keys, webhooks, mappings and reviews are noted by the database itself when
they commit (migration 0046); other acts are noted here by whoever does them.

Each row's hash covers the hash of the row before, so one that is changed or taken out later is
found. See docs/decisions/0054-audit.md.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from psycopg.rows import class_row

from docmill.db.pool import Connection

RECORD: Final = """
SELECT audit_record(%(actor)s, %(action)s, %(target)s, %(before)s::jsonb, %(after)s::jsonb)
"""


@dataclass(frozen=True, slots=True)
class AuditedAction:
    """`target` is what it was done to: `job:ID`, `source:NAME`, `session:ID`."""

    actor: str
    action: str
    target: str


async def record(
    conn: Connection,
    done: AuditedAction,
    *,
    before: Mapping[str, Any] | None = None,
    after: Mapping[str, Any] | None = None,
) -> None:
    """In the transaction that does it, as its last statement: others wait until it commits."""
    args = {
        "actor": done.actor,
        "action": done.action,
        "target": done.target,
        "before": json.dumps(before or {}, default=str),
        "after": json.dumps(after or {}, default=str),
    }
    await conn.execute(RECORD, args)


NAME_ACTOR: Final = "SELECT set_config('docmill.who', %s, true)"


async def name_actor(conn: Connection, actor: str) -> None:
    """Who acts in this transaction, where the rows that change do not tell."""
    await conn.execute(NAME_ACTOR, (actor,))


@dataclass(frozen=True, slots=True)
class AuditEntry:
    id: int
    at: datetime
    actor: str
    action: str
    target: str
    before: Mapping[str, Any]
    after: Mapping[str, Any]


LIST: Final = """
SELECT id, at, actor, action, target, before, after FROM audit_log
 WHERE (%(before)s::bigint IS NULL OR id < %(before)s) ORDER BY id DESC LIMIT %(limit)s
"""


async def list_entries(
    conn: Connection, *, limit: int, before: int | None = None
) -> list[AuditEntry]:
    """The newest first; `before` goes on below a row."""
    async with conn.cursor(row_factory=class_row(AuditEntry)) as cur:
        return await (await cur.execute(LIST, {"limit": limit, "before": before})).fetchall()


@dataclass(frozen=True, slots=True)
class AuditVerdict:
    """`broken_at` is the first row that is not as it was written, or is not there any more."""

    entries: int
    broken_at: int | None
    head: str


# A row is right when it follows the one before by number, and its hash follows by content.
VERIFY: Final = """
WITH chain AS (
    SELECT id, hash = audit_hash(lag(hash, 1, sha256('docmill')) OVER w, audit_log) AS is_right,
           lag(id, 1, 0::bigint) OVER w AS previous, hash
      FROM audit_log WINDOW w AS (ORDER BY id)),
judged AS (
    SELECT count(*) AS entries, coalesce(max(id), 0) AS last,
           min(CASE WHEN id <> previous + 1 THEN previous + 1
                    WHEN NOT is_right THEN id END) AS wrong
      FROM chain)
SELECT judged.entries,
       coalesce(judged.wrong, CASE WHEN judged.last < h.id THEN judged.last + 1
                                   WHEN judged.last > h.id THEN h.id + 1
                                   WHEN last.hash <> h.hash THEN h.id END) AS broken_at,
       encode(h.hash, 'hex') AS head
  FROM judged, audit_head h LEFT JOIN audit_log last ON last.id = h.id
"""


async def verify(conn: Connection) -> AuditVerdict:
    async with conn.cursor(row_factory=class_row(AuditVerdict)) as cur:
        found = await (await cur.execute(VERIFY)).fetchone()
    assert found is not None
    return found
