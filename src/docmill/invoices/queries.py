"""Reviews: a person's edits of what was read, each a revision, and the decision on them.

Whoever writes says which revision he saw. If another came first, nothing is written.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any, Final
from uuid import UUID

from psycopg.rows import class_row, dict_row
from psycopg.types.json import Jsonb

from docmill.core.jobs import Job, JobId, StoredResult
from docmill.core.owners import OwnerKey
from docmill.core.summaries import Summary
from docmill.db.pool import Connection
from docmill.invoices.edits import Change
from docmill.web.params import Cursor

PENDING: Final = "pending"
APPROVED: Final = "approved"
REJECTED: Final = "rejected"
CHECKED: Final = "checked"  # a step: a value is right as it is
STATUSES: Final = (PENDING, APPROVED, REJECTED)


@dataclass(frozen=True, slots=True)
class ReviewHead:
    """Where a review stands. `doubts`: how many values the reader was not sure of, if known."""

    status: str = PENDING
    revision: int = 0
    doubts: int | None = None
    reason: str | None = None
    decided_by: str | None = None
    decided_at: datetime | None = None
    approved_by: str | None = None


@dataclass(frozen=True, slots=True)
class Revision:
    """One step: an edit with what was there before and after, a value checked, or a decision."""

    revision: int
    kind: str
    path: str | None
    before: Any
    after: Any
    place: dict[str, Any] | None
    reason: str | None
    made_by: str
    made_at: datetime


LOAD_HEAD: Final = """
SELECT status, revision, doubts, reason, decided_by, decided_at,
       CASE WHEN status = 'approved' THEN decided_by END AS approved_by
  FROM reviews WHERE job_id = %s
"""


async def load_head(conn: Connection, job_id: JobId) -> ReviewHead:
    async with conn.cursor(row_factory=class_row(ReviewHead)) as cur:
        return await (await cur.execute(LOAD_HEAD, (job_id,))).fetchone() or ReviewHead()


TELL_REVIEW: Final = """
SELECT status, revision, decided_by AS reviewer, decided_at AS at, rule FROM reviews
 WHERE job_id = %s AND status <> 'pending'
"""


async def tell_review(conn: Connection, job: Job) -> dict[str, Any] | None:
    """For a receipt: who decided on it, a person or a rule; nothing where nobody has."""
    async with conn.cursor(row_factory=dict_row) as cur:
        return await (await cur.execute(TELL_REVIEW, (job.id,))).fetchone()


LOAD_REVISIONS: Final = """
SELECT revision, kind, path, before, after, place, reason, made_by, made_at
  FROM review_revisions WHERE job_id = %(job_id)s AND revision > %(after)s ORDER BY revision
"""


async def load_revisions(conn: Connection, job_id: JobId, after: int = 0) -> list[Revision]:
    """The steps after this revision, in their order."""
    async with conn.cursor(row_factory=class_row(Revision)) as cur:
        return await (
            await cur.execute(LOAD_REVISIONS, {"job_id": job_id, "after": after})
        ).fetchall()


# The job before its review, as deleting a job goes.
BEGIN_REVIEW: Final = """
WITH job AS MATERIALIZED (SELECT id FROM jobs WHERE id = %s FOR UPDATE)
INSERT INTO reviews (job_id) SELECT id FROM job ON CONFLICT (job_id) DO NOTHING
"""
LOCK_HEAD: Final = LOAD_HEAD + " FOR UPDATE"


async def _hold_head(conn: Connection, job_id: JobId, base: int) -> ReviewHead | None:
    """The head, held until COMMIT; None when it is not at the revision that the caller saw."""
    await conn.execute(BEGIN_REVIEW, (job_id,))
    async with conn.cursor(row_factory=class_row(ReviewHead)) as cur:
        held = await (await cur.execute(LOCK_HEAD, (job_id,))).fetchone()
    return held if held and held.revision == base else None


# An edit of what was decided opens it again; the last approved result stays until the next.
RECORD_EDITS: Final = """
WITH made AS (
    INSERT INTO review_revisions (job_id, revision, kind, path, before, after, place, made_by)
    SELECT %(job_id)s, %(base)s + n, c ->> 'kind', c ->> 'path', c -> 'before', c -> 'after',
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


async def record_edits(
    conn: Connection, job_id: JobId, changes: Sequence[Change], *, base: int, by: str
) -> bool:
    """Keep each change as a revision of its own; False when another came first."""
    if await _hold_head(conn, job_id, base) is None:
        return False
    given = [
        {"kind": CHECKED if c.checked else "edit", "path": c.path, "before": c.before,
         "after": c.after, "place": c.place}
        for c in changes
    ]  # fmt: skip
    args = {"job_id": job_id, "base": base, "by": by, "changes": Jsonb(given)}
    await conn.execute(RECORD_EDITS, args)
    return True


SUMMARIZE: Final = """
UPDATE jobs SET summary = %(summary)s WHERE id = %(job_id)s AND summary IS DISTINCT FROM %(summary)s
"""


async def record_summary(conn: Connection, job_id: JobId, summary: Summary) -> None:
    """What the queue shows follows what a person made of the invoice."""
    await conn.execute(SUMMARIZE, {"job_id": job_id, "summary": Jsonb(dict(summary))})


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


async def record_rejection(
    conn: Connection, job_id: JobId, *, base: int, by: str, reason: str
) -> bool:
    return await _decide(conn, job_id, base=base, by=by, reason=reason)


async def _decide(
    conn: Connection, job_id: JobId, *, base: int, by: str, reason: str | None
) -> bool:
    if await _hold_head(conn, job_id, base) is None:
        return False
    status = APPROVED if reason is None else REJECTED
    args = {"job_id": job_id, "base": base, "by": by, "reason": reason, "status": status}
    await conn.execute(DECIDE, args)
    return True


REPLACE_RESULTS: Final = """
WITH saved AS (
    INSERT INTO results (job_id, claim, form, revision, key, content_type, bytes, stored_bytes,
                         sha256, version, docmill, mapping)
    SELECT j.id, j.claim, r.form, %(revision)s, r.key, r.content_type, r.bytes, r.stored_bytes,
           r.sha256, r.version, r.docmill, r.mapping
      FROM jobs j CROSS JOIN jsonb_to_recordset(%(results)s) AS r(
           form text, key text, content_type text, bytes bigint, stored_bytes bigint, sha256 text,
           version text, docmill text, mapping text)
     WHERE j.id = %(job_id)s)
UPDATE jobs SET result_key = CASE WHEN status = 'complete' THEN %(key)s END,
                reading_key = CASE WHEN status = 'failed' THEN %(key)s END
 WHERE id = %(job_id)s AND coalesce(result_key, reading_key) IS NOT NULL
"""


async def record_approval(
    conn: Connection, job_id: JobId, results: dict[str, StoredResult], *, base: int, by: str
) -> bool:
    """Approve what was seen at `base`; its results, by form, become what people download."""
    if not await _decide(conn, job_id, base=base, by=by, reason=None):
        return False
    given = [
        {"form": form, "key": r.key, "content_type": r.content_type, "bytes": r.bytes,
         "stored_bytes": r.stored_bytes, "sha256": r.sha256, "version": r.version,
         "docmill": r.docmill, "mapping": r.mapping}
        for form, r in results.items()
    ]  # fmt: skip
    key = results.get("document", results["data"]).key
    args = {"job_id": job_id, "revision": base + 1, "results": Jsonb(given), "key": key}
    return (await conn.execute(REPLACE_RESULTS, args)).rowcount == 1


@dataclass(frozen=True, slots=True)
class ReviewRow:
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
    approved_by: str | None = None
    summary: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class ReviewFilter:
    """Which reviews, and in which order; None means any."""

    statuses: Sequence[str] = (PENDING,)
    supplier: str | None = None
    least: Decimal | None = None
    most: Decimal | None = None
    sort: str = "newest"


# What has something to check comes first, and of it what is worth most.
SORTS: Final = {
    "matter": "What matters",
    "doubts": "Most to check",
    "amount": "Highest total",
    "oldest": "Oldest",
    "newest": "Newest",
}

# A job whose result was mapped can be reviewed; without a row nobody has looked at it yet.
LIST_REVIEWS: Final = """
WITH open AS (
    SELECT j.id AS job_id, d.original_filename AS filename, j.pipeline, j.mapping, j.created_at,
           coalesce(r.status, 'pending') AS status, coalesce(r.revision, 0) AS revision,
           coalesce((j.summary ->> 'check')::int, r.doubts) AS doubts, r.reason, r.decided_by,
           r.decided_at, CASE WHEN r.status = 'approved' THEN r.decided_by END AS approved_by,
           j.summary,
           CASE WHEN j.summary ->> 'amount' ~ '^-?[0-9]{1,20}([.][0-9]{1,10})?$'
                THEN (j.summary ->> 'amount')::numeric END AS amount
      FROM jobs j JOIN documents d ON d.id = j.document_id LEFT JOIN reviews r ON r.job_id = j.id
     WHERE j.owner = %(owner)s AND j.mapping IS NOT NULL
       AND coalesce(j.result_key, j.reading_key) IS NOT NULL),
ranked AS (
    SELECT open.*, CASE %(sort)s
           WHEN 'matter' THEN least(coalesce(doubts, 1), 1) * 1e20 + coalesce(amount, 0)
           WHEN 'doubts' THEN coalesce(doubts, 0)
           WHEN 'amount' THEN coalesce(amount, 0)
           WHEN 'oldest' THEN -extract(epoch FROM created_at)
           ELSE extract(epoch FROM created_at) END AS rank
      FROM open)
SELECT job_id, filename, pipeline, mapping, created_at, status, revision, doubts, reason,
       decided_by, decided_at, approved_by, summary
  FROM ranked
 WHERE status = ANY(%(statuses)s)
   AND (%(supplier)s::text IS NULL
        OR strpos(lower(coalesce(summary ->> 'title', filename)), lower(%(supplier)s)) > 0)
   AND (%(least)s::numeric IS NULL OR amount >= %(least)s)
   AND (%(most)s::numeric IS NULL OR amount <= %(most)s)
   AND (rank, created_at, job_id) < (
       coalesce((SELECT rank FROM ranked WHERE job_id = %(id)s), 'infinity'),
       %(created_at)s, %(id)s)
 ORDER BY rank DESC, created_at DESC, job_id DESC LIMIT %(limit)s
"""


async def list_reviews(
    conn: Connection,
    owner: OwnerKey,
    only: ReviewFilter,
    *,
    after: Cursor | None = None,
    limit: int,
) -> list[ReviewRow]:
    """In the order asked for, from where the last page ended."""
    args = {
        "owner": owner,
        "statuses": list(only.statuses),
        "supplier": only.supplier,
        "least": only.least,
        "most": only.most,
        "sort": only.sort,
        "created_at": after.created_at if after else "infinity",
        "id": after.id if after else UUID(int=0),
        "limit": limit,
    }
    async with conn.cursor(row_factory=class_row(ReviewRow)) as cur:
        return await (await cur.execute(LIST_REVIEWS, args)).fetchall()


COUNT_REVIEWS: Final = """
SELECT count(*) FILTER (WHERE coalesce((j.summary ->> 'check')::int, r.doubts, 1) > 0), count(*)
  FROM jobs j LEFT JOIN reviews r ON r.job_id = j.id
 WHERE j.owner = %s AND j.mapping IS NOT NULL
   AND coalesce(j.result_key, j.reading_key) IS NOT NULL
   AND coalesce(r.status, 'pending') = 'pending'
"""


async def count_waiting(conn: Connection, owner: OwnerKey) -> tuple[int, int]:
    """How many have something to check, and how many wait in all."""
    row = await (await conn.execute(COUNT_REVIEWS, (owner,))).fetchone()
    return (row[0], row[1]) if row else (0, 0)


@dataclass(frozen=True, slots=True)
class TrainingSample:
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


LIST_SAMPLES: Final = """
SELECT j.id AS job_id, d.original_filename AS filename, d.sha256, j.pipeline, j.mapping,
       j.created_at, r.revision, r.decided_by, r.decided_at, original.key AS read_key,
       approved.key AS approved_key
  FROM jobs j JOIN documents d ON d.id = j.document_id
  JOIN reviews r ON r.job_id = j.id AND r.status = 'approved'
                AND r.decided_by IS DISTINCT FROM r.rule
  JOIN results original ON original.job_id = j.id AND original.form = 'data'
                       AND original.revision = 0
  JOIN results approved ON approved.job_id = j.id AND approved.form = 'data'
                       AND approved.revision = r.revision
                       AND approved.claim = original.claim
 WHERE j.owner = %(owner)s AND (j.created_at, j.id) > (%(created_at)s, %(id)s)
 ORDER BY j.created_at, j.id LIMIT %(limit)s
"""


async def list_samples(
    conn: Connection, owner: OwnerKey, *, after: Cursor | None = None, limit: int
) -> list[TrainingSample]:
    """Oldest first. A result that retention took is no sample any more."""
    args = {
        "owner": owner,
        "created_at": after.created_at if after else "-infinity",
        "id": after.id if after else UUID(int=0),
        "limit": limit,
    }
    async with conn.cursor(row_factory=class_row(TrainingSample)) as cur:
        return await (await cur.execute(LIST_SAMPLES, args)).fetchall()


@dataclass(frozen=True, slots=True)
class LessonRow:
    """`taught_by` is the name of the document whose correction taught it."""

    id: UUID
    layout: str
    field: str
    lesson: dict[str, Any]
    job_id: JobId | None
    taught_by: str
    created_at: datetime


# One lesson for a field of a layout: the last correction is right.
LEARN: Final = """
INSERT INTO lessons (owner, layout, field, lesson, job_id, taught_by)
SELECT owners.owner, l ->> 'layout', l ->> 'field', l, %(job_id)s, %(taught_by)s
  FROM owners CROSS JOIN jsonb_array_elements(%(lessons)s) AS l
 WHERE owners.owner = %(owner)s AND owners.learning
ON CONFLICT (owner, layout, field) DO UPDATE SET lesson = excluded.lesson,
    job_id = excluded.job_id, taught_by = excluded.taught_by, created_at = now()
RETURNING field
"""


async def learn(
    conn: Connection,
    owner: OwnerKey,
    lessons: Sequence[dict[str, Any]],
    *,
    job_id: JobId,
    taught_by: str,
) -> list[str]:
    """Keep what a correction taught, unless the owner switched learning off; the fields kept."""
    args = {"owner": owner, "job_id": job_id, "taught_by": taught_by, "lessons": Jsonb(lessons)}
    return [row[0] for row in await (await conn.execute(LEARN, args)).fetchall()]


LIST_LESSONS: Final = """
SELECT id, layout, field, lesson, job_id, taught_by, created_at
  FROM lessons WHERE owner = %(owner)s ORDER BY created_at DESC, id LIMIT %(limit)s
"""


async def list_lessons(conn: Connection, owner: OwnerKey, limit: int = 2000) -> list[LessonRow]:
    """The newest lessons first."""
    async with conn.cursor(row_factory=class_row(LessonRow)) as cur:
        return await (await cur.execute(LIST_LESSONS, {"owner": owner, "limit": limit})).fetchall()


async def lessons_for_run(conn: Connection, owner: OwnerKey) -> list[dict[str, Any]]:
    """What a run is handed: nothing where the owner switched learning off."""
    if not await is_learning(conn, owner):
        return []
    found = await list_lessons(conn, owner)
    return [{**each.lesson, "id": str(each.id), "from": each.taught_by} for each in found]


FORGET: Final = """
DELETE FROM lessons WHERE owner = %(owner)s AND (%(id)s::uuid IS NULL OR id = %(id)s)
"""


async def forget_lessons(conn: Connection, owner: OwnerKey, lesson_id: UUID | None = None) -> int:
    """One lesson, or all of them; how many there were."""
    return (await conn.execute(FORGET, {"owner": owner, "id": lesson_id})).rowcount


IS_LEARNING: Final = "SELECT learning FROM owners WHERE owner = %s"


async def is_learning(conn: Connection, owner: OwnerKey) -> bool:
    row = await (await conn.execute(IS_LEARNING, (owner,))).fetchone()
    return row[0] if row else True


SWITCH_LEARNING: Final = """
INSERT INTO owners (owner, learning) VALUES (%(owner)s, %(on)s)
ON CONFLICT (owner) DO UPDATE SET learning = excluded.learning
"""


async def switch_learning(conn: Connection, owner: OwnerKey, *, on: bool) -> None:
    """Off: nothing is learned and nothing learned is used; the lessons stay until forgotten."""
    await conn.execute(SWITCH_LEARNING, {"owner": owner, "on": on})
