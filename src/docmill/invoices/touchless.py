"""Invoices approved by rule: how many, what was wrong, and what reviews say of confidence."""

import json
from collections.abc import AsyncIterator
from typing import Any, Final

import structlog
from psycopg.rows import class_row

from docmill.core.experience import ENOUGH
from docmill.core.faults import DocmillError
from docmill.core.jobs import Claimed, JobId
from docmill.core.owners import OwnerKey
from docmill.db.pool import Connection, Pool, read_connection
from docmill.invoices import own_mappings, queries
from docmill.invoices.experience import count_reviews
from docmill.jobs import experience, preferences, results
from docmill.jobs.experience import Touchless
from docmill.storage.contract import Store
from docmill.web.params import Cursor

log = structlog.get_logger()

PIPELINE: Final = "invoice"
BATCH: Final = 50
MOST: Final = 2000  # reviews, the newest of which say most

Reviewed = tuple[dict[str, Any], dict[str, Any]]

# What keeps the promise is approved by its rule, which is named as a person would be.
RECORD_DOUBTS: Final = """
WITH given AS (
    SELECT (row ->> 'doubts')::int AS doubts, (row ->> 'expected')::float8 AS expected,
           (row ->> 'rate')::numeric AS rate
      FROM jsonb_array_elements(%(rows)s::jsonb) AS row LIMIT 1),
judged AS (
    SELECT doubts, expected, CASE WHEN doubts = 0 AND rate > 0 AND expected <= rate
           THEN 'rule <= ' || trim_scale(100 * rate) || ' %%' END AS rule
      FROM given),
kept AS (
    INSERT INTO reviews (job_id, doubts, expected, rule, status, decided_by, decided_at)
    SELECT %(job_id)s, doubts, expected, rule,
           CASE WHEN rule IS NULL THEN 'pending' ELSE 'approved' END, rule,
           CASE WHEN rule IS NOT NULL THEN now() END
      FROM judged
    ON CONFLICT (job_id) DO UPDATE SET doubts = excluded.doubts, expected = excluded.expected,
        rule = excluded.rule, status = excluded.status, reason = NULL,
        decided_by = excluded.decided_by, decided_at = excluded.decided_at),
told AS (
    INSERT INTO job_events (job_id, kind, meta)
    SELECT %(job_id)s, 'reviewed', jsonb_build_object(
               'from', 'pending', 'to', 'approved', 'by', rule, 'expected', expected)
      FROM judged WHERE rule IS NOT NULL)
UPDATE jobs SET summary = summary || jsonb_build_object('state', 'approved', 'approved_by', rule)
  FROM judged WHERE id = %(job_id)s AND rule IS NOT NULL
"""


async def record_doubts(conn: Connection, job: Claimed, array: str) -> None:
    """A run tells how much of its result it doubts, and what share of it may be wrong."""
    await conn.execute(RECORD_DOUBTS, {"job_id": job.id, "rows": array})


async def doubts_exist(_conn: Connection, _job_id: JobId) -> bool:
    """No reason to run again: a job that takes over another's result does without the count."""
    return False


COUNT_TOUCHLESS: Final = """
SELECT count(*)::int AS documents, count(r.rule)::int AS by_rule,
       coalesce(sum(e.paths), 0)::int AS wrong_values, count(e.paths)::int AS wrong_documents
  FROM jobs j JOIN reviews r ON r.job_id = j.id
  LEFT JOIN LATERAL (
       SELECT nullif(count(DISTINCT v.path), 0) AS paths FROM review_revisions v
        WHERE r.rule IS NOT NULL AND v.job_id = r.job_id AND v.kind = 'edit') e ON true
 WHERE j.owner = %s
"""


async def count_touchless(conn: Connection, owner: OwnerKey) -> Touchless:
    async with conn.cursor(row_factory=class_row(Touchless)) as cur:
        return await (await cur.execute(COUNT_TOUCHLESS, (owner,))).fetchone() or Touchless()


async def read_run_options(conn: Connection, job: Claimed) -> dict[str, Any]:
    """What a run is told: its owner's lessons, where it is mapped, and how sure is sure enough."""
    known = await queries.lessons_for_run(conn, job.owner) if job.mapping is not None else []
    told = await preferences.read_run_options(conn, job)
    if counts := await experience.read_experience(conn, job.owner, PIPELINE):
        told["experience"] = counts
    told |= await own_mappings.read_text(conn, job.mapping)
    return {"lessons": known, **told} if known else told


# Whose people have approved something since the last fit.
LIST_OWNERS: Final = """
SELECT j.owner FROM jobs j JOIN reviews r ON r.job_id = j.id
  LEFT JOIN experience x ON x.owner = j.owner AND x.pipeline = %(pipeline)s
 WHERE r.status = 'approved' AND r.decided_by IS DISTINCT FROM r.rule
 GROUP BY j.owner, x.made_at
HAVING count(*) >= %(enough)s AND (x.made_at IS NULL OR max(r.decided_at) > x.made_at)
 ORDER BY j.owner LIMIT %(limit)s
"""


async def list_reviewers(conn: Connection, *, enough: int, limit: int = 100) -> list[OwnerKey]:
    args = {"pipeline": PIPELINE, "enough": enough, "limit": limit}
    found = await (await conn.execute(LIST_OWNERS, args)).fetchall()
    return [OwnerKey(row[0]) for row in found]


async def calibrate_owner(pool: Pool, store: Store, owner: OwnerKey) -> dict[str, Any]:
    """Counts what stayed of what was read, and keeps it where there are enough reviews."""
    pairs = [pair async for pair in _list_reviewed(pool, store, owner)]
    done = await experience.fit_experience(
        pool, owner, count_reviews(pairs), pipeline=PIPELINE, reviews=len(pairs)
    )
    if done["kept"]:
        log.info("invoices.calibrated", reviews=done["reviews"], values=done["values"])
    return done


async def calibrate_all(pool: Pool, store: Store) -> None:
    """Each owner with new reviews, once a day."""
    async with read_connection(pool) as conn:
        owners = await list_reviewers(conn, enough=ENOUGH)
    for owner in owners:
        await calibrate_owner(pool, store, owner)


async def _list_reviewed(pool: Pool, store: Store, owner: OwnerKey) -> AsyncIterator[Reviewed]:
    after: Cursor | None = None
    for _ in range(MOST // BATCH):
        async with read_connection(pool) as conn:
            found = await queries.list_samples(conn, owner, after=after, limit=BATCH)
        for sample in found:
            try:
                read = await results.read_data(pool, store, sample.read_key)
                approved = await results.read_data(pool, store, sample.approved_key)
            except (DocmillError, json.JSONDecodeError):
                continue  # retention took it since, or it is damaged
            if read.get("source") == "page":
                yield read, approved
        if len(found) < BATCH:
            return
        after = Cursor(found[-1].created_at, found[-1].job_id)
