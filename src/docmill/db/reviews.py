"""Reviews: a person's edits of what was read, each a revision, and the decision on them.

Whoever writes says which revision he saw. If another came first, nothing is written.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from psycopg.rows import class_row
from psycopg.types.json import Jsonb

from docmill.core.jobs import Claimed, JobId, StoredResult
from docmill.db.pool import Connection
from docmill.mappings import Change

PENDING: Final = "pending"
APPROVED: Final = "approved"
REJECTED: Final = "rejected"
STATUSES: Final = (PENDING, APPROVED, REJECTED)


@dataclass(frozen=True, slots=True)
class Head:
    """Where a review stands. `doubts`: how many values the reader was not sure of, if known."""

    status: str = PENDING
    revision: int = 0
    doubts: int | None = None
    reason: str | None = None
    decided_by: str | None = None
    decided_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Revision:
    """One step of a review: an edit with what was there before and after, or a decision."""

    revision: int
    kind: str
    path: str | None
    before: Any
    after: Any
    place: dict[str, Any] | None
    reason: str | None
    made_by: str
    made_at: datetime


FOUND: Final = """
INSERT INTO reviews (job_id, doubts)
SELECT %(job_id)s, (row ->> 'doubts')::int FROM jsonb_array_elements(%(rows)s::jsonb) AS row LIMIT 1
ON CONFLICT (job_id) DO UPDATE SET doubts = excluded.doubts
"""


async def found(conn: Connection, job: Claimed, array: str) -> None:
    """A run tells how much of its result it doubts."""
    await conn.execute(FOUND, {"job_id": job.id, "rows": array})


async def never(_conn: Connection, _job_id: JobId) -> bool:
    """No reason to run again: a job that takes over another's result does without the count."""
    return False


HEAD: Final = """
SELECT status, revision, doubts, reason, decided_by, decided_at FROM reviews WHERE job_id = %s
"""


async def head(conn: Connection, job_id: JobId) -> Head:
    async with conn.cursor(row_factory=class_row(Head)) as cur:
        return await (await cur.execute(HEAD, (job_id,))).fetchone() or Head()


REVISIONS: Final = """
SELECT revision, kind, path, before, after, place, reason, made_by, made_at
  FROM review_revisions WHERE job_id = %(job_id)s AND revision > %(after)s ORDER BY revision
"""


async def revisions(conn: Connection, job_id: JobId, after: int = 0) -> list[Revision]:
    """The steps after this revision, in their order."""
    async with conn.cursor(row_factory=class_row(Revision)) as cur:
        return await (await cur.execute(REVISIONS, {"job_id": job_id, "after": after})).fetchall()


# The job before its review, as deleting a job goes.
BEGIN: Final = """
WITH job AS MATERIALIZED (SELECT id FROM jobs WHERE id = %s FOR UPDATE)
INSERT INTO reviews (job_id) SELECT id FROM job ON CONFLICT (job_id) DO NOTHING
"""
LOCK: Final = HEAD + " FOR UPDATE"


async def _hold(conn: Connection, job_id: JobId, base: int) -> Head | None:
    """The head, held until COMMIT; None when it is not at the revision that the caller saw."""
    await conn.execute(BEGIN, (job_id,))
    async with conn.cursor(row_factory=class_row(Head)) as cur:
        held = await (await cur.execute(LOCK, (job_id,))).fetchone()
    return held if held and held.revision == base else None


# An edit of what was decided opens it again; the last approved result stays until the next.
EDIT: Final = """
WITH made AS (
    INSERT INTO review_revisions (job_id, revision, kind, path, before, after, place, made_by)
    SELECT %(job_id)s, %(base)s + n, 'edit', c ->> 'path', c -> 'before', c -> 'after',
           nullif(c -> 'place', 'null'), %(by)s
      FROM jsonb_array_elements(%(changes)s) WITH ORDINALITY AS each(c, n)),
reopened AS (
    INSERT INTO job_events (job_id, kind, meta)
    SELECT job_id, 'reviewed',
           jsonb_build_object('from', status, 'to', 'pending', 'by', %(by)s::text)
      FROM reviews WHERE job_id = %(job_id)s AND status <> 'pending')
UPDATE reviews SET revision = %(base)s + jsonb_array_length(%(changes)s), status = 'pending',
       reason = NULL, decided_by = NULL, decided_at = NULL
 WHERE job_id = %(job_id)s
"""


async def edit(
    conn: Connection, job_id: JobId, changes: Sequence[Change], *, base: int, by: str
) -> bool:
    """Keep each change as a revision of its own; False when another came first."""
    if await _hold(conn, job_id, base) is None:
        return False
    given = [
        {"path": c.path, "before": c.before, "after": c.after, "place": c.place} for c in changes
    ]
    args = {"job_id": job_id, "base": base, "by": by, "changes": Jsonb(given)}
    await conn.execute(EDIT, args)
    return True


DECIDE: Final = """
WITH made AS (
    INSERT INTO review_revisions (job_id, revision, kind, reason, made_by)
    VALUES (%(job_id)s, %(base)s + 1, %(status)s, %(reason)s, %(by)s)),
told AS (
    INSERT INTO job_events (job_id, kind, meta)
    SELECT job_id, 'reviewed', jsonb_strip_nulls(jsonb_build_object(
               'from', status, 'to', %(status)s::text, 'by', %(by)s::text,
               'revision', %(base)s + 1, 'reason', %(reason)s::text))
      FROM reviews WHERE job_id = %(job_id)s)
UPDATE reviews SET revision = %(base)s + 1, status = %(status)s, reason = %(reason)s,
       decided_by = %(by)s, decided_at = now()
 WHERE job_id = %(job_id)s
"""


async def reject(conn: Connection, job_id: JobId, *, base: int, by: str, reason: str) -> bool:
    return await _decide(conn, job_id, base=base, by=by, reason=reason)


async def _decide(
    conn: Connection, job_id: JobId, *, base: int, by: str, reason: str | None
) -> bool:
    if await _hold(conn, job_id, base) is None:
        return False
    status = APPROVED if reason is None else REJECTED
    args = {"job_id": job_id, "base": base, "by": by, "reason": reason, "status": status}
    await conn.execute(DECIDE, args)
    return True


REPLACE: Final = """
WITH saved AS (
    INSERT INTO results (job_id, claim, form, revision, key, content_type, bytes, stored_bytes,
                         sha256, version)
    SELECT j.id, j.claim, r.form, %(revision)s, r.key, r.content_type, r.bytes, r.stored_bytes,
           r.sha256, r.version
      FROM jobs j CROSS JOIN jsonb_to_recordset(%(results)s) AS r(
           form text, key text, content_type text, bytes bigint, stored_bytes bigint, sha256 text,
           version text)
     WHERE j.id = %(job_id)s)
UPDATE jobs SET result_key = %(key)s WHERE id = %(job_id)s AND result_key IS NOT NULL
"""


async def approve(
    conn: Connection, job_id: JobId, results: dict[str, StoredResult], *, base: int, by: str
) -> bool:
    """Approve what was seen at `base`; its results, by form, become what people download."""
    if not await _decide(conn, job_id, base=base, by=by, reason=None):
        return False
    given = [
        {"form": form, "key": r.key, "content_type": r.content_type, "bytes": r.bytes,
         "stored_bytes": r.stored_bytes, "sha256": r.sha256, "version": r.version}
        for form, r in results.items()
    ]  # fmt: skip
    key = results.get("document", results["data"]).key
    args = {"job_id": job_id, "revision": base + 1, "results": Jsonb(given), "key": key}
    return (await conn.execute(REPLACE, args)).rowcount == 1
