"""What retention takes: which rows are due, their expiry, and the deletion of their bytes.

A row learns first that its bytes are gone, and the same transaction notes their keys as removals;
then the bytes go, then the notes. So a sweep may be killed anywhere: the next goes on with what is
noted. Nobody is promised a file that is being deleted.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final, LiteralString

from psycopg.rows import class_row
from psycopg.types.json import Jsonb

from docmill.core import failpoints
from docmill.core.jobs import ACTIVE_WORDS
from docmill.core.retention import DueWhen, RetentionRules, SweptCount
from docmill.db.pool import Connection, Pool
from docmill.documents import queries
from docmill.jobs import results
from docmill.storage.contract import Store

BATCH: Final = 200
ALIGNED: Final = 1000


# Rows whose time is not the one that the rules give, by more than a hundredth of it.
ALIGN_RESULTS: Final = """
WITH wrong AS MATERIALIZED (
    SELECT id, ends_at FROM stored_results(%(rules)s) AS s
     WHERE (s.expires_at IS NULL) <> (s.ends_at IS NULL)
        OR abs(extract(epoch FROM s.expires_at - s.ends_at)) > least(5400, s.days * 864)
     LIMIT %(limit)s),
locked AS MATERIALIZED (
    SELECT jobs.id, jobs.owner, wrong.ends_at FROM jobs JOIN wrong ON wrong.id = jobs.id
     ORDER BY jobs.id FOR UPDATE OF jobs SKIP LOCKED),
held AS MATERIALIZED (
    SELECT owner FROM owners WHERE owner IN (SELECT owner FROM locked) ORDER BY owner FOR UPDATE)
UPDATE jobs SET expires_at = locked.ends_at FROM locked
 WHERE jobs.id = locked.id AND coalesce(jobs.result_key, jobs.reading_key) IS NOT NULL
   AND (SELECT count(*) FROM held) > 0
"""
ALIGN_UPLOADS: Final = """
WITH wrong AS MATERIALIZED (
    SELECT id, ends_at FROM stored_uploads(%(rules)s) AS s
     WHERE (s.expires_at IS NULL) <> (s.ends_at IS NULL)
        OR abs(extract(epoch FROM s.expires_at - s.ends_at)) > least(5400, s.days * 864)
     LIMIT %(limit)s),
locked AS MATERIALIZED (
    SELECT documents.id, wrong.ends_at FROM documents JOIN wrong ON wrong.id = documents.id
     ORDER BY documents.id FOR UPDATE OF documents SKIP LOCKED)
UPDATE documents SET expires_at = locked.ends_at FROM locked
 WHERE documents.id = locked.id AND documents.upload_key IS NOT NULL
"""


async def align(pool: Pool, rules: RetentionRules) -> None:
    """Give every stored row the end that the rules of today say: they may have changed."""
    args = {"rules": Jsonb(rules.in_days()), "limit": ALIGNED}
    for statement in (ALIGN_RESULTS, ALIGN_UPLOADS):
        while await _align_some(pool, statement, args):
            pass


async def _align_some(pool: Pool, statement: LiteralString, args: Mapping[str, Any]) -> int:
    async with pool.connection() as conn:
        return (await conn.execute(statement, args)).rowcount


# A document whose job is still to run is kept whatever its age, and so is one a trade points to.
DUE_UPLOADS: Final = """
SELECT id FROM documents
 WHERE upload_key IS NOT NULL AND expires_at < now()
   AND NOT EXISTS (SELECT FROM jobs WHERE document_id = documents.id AND status = ANY(%(active)s))
   AND NOT EXISTS (SELECT FROM trades WHERE document_id = documents.id)
 ORDER BY expires_at LIMIT %(limit)s
"""
DUE_UPLOADS_PRESSED: Final = """
SELECT id FROM documents
 WHERE upload_key IS NOT NULL AND least(expires_at, created_at + %(short)s) < now()
   AND expires_at IS NOT NULL
   AND NOT EXISTS (SELECT FROM jobs WHERE document_id = documents.id AND status = ANY(%(active)s))
   AND NOT EXISTS (SELECT FROM trades WHERE document_id = documents.id)
 ORDER BY created_at LIMIT %(limit)s
"""
# Whoever changes a job locks it and then its owner; a new job locks the owner. After this nobody
# begins anything with these documents until we have committed.
HOLD_JOBS_OF_DOCUMENTS: Final = """
WITH locked AS MATERIALIZED (
    SELECT id, owner FROM jobs WHERE document_id = ANY(%(ids)s) ORDER BY id FOR UPDATE)
SELECT owner FROM owners WHERE owner IN (SELECT owner FROM locked) ORDER BY owner FOR UPDATE
"""
# A failed job without its file cannot be queued again, so it stops answering for its content.
EXPIRE_UPLOADS: Final = """
WITH picked AS MATERIALIZED (
    SELECT id, upload_key, bytes FROM documents
     WHERE id = ANY(%(ids)s) AND upload_key IS NOT NULL
       AND (expires_at < now() OR (%(pressed)s AND expires_at IS NOT NULL
                                   AND created_at < now() - %(short)s))
       AND NOT EXISTS (SELECT FROM jobs WHERE document_id = documents.id
                          AND status = ANY(%(active)s))
       AND NOT EXISTS (SELECT FROM trades WHERE document_id = documents.id)
     ORDER BY id FOR UPDATE),
gone AS (
    UPDATE documents SET upload_key = NULL, expired_at = now() FROM picked
     WHERE documents.id = picked.id RETURNING documents.id),
noted AS (INSERT INTO removals (key) SELECT upload_key FROM picked ON CONFLICT DO NOTHING),
freed AS (
    UPDATE jobs SET dedupe_key = NULL FROM gone
     WHERE document_id = gone.id AND status = 'failed' AND dedupe_key IS NOT NULL),
told AS (
    INSERT INTO job_events (job_id, kind, meta)
    SELECT jobs.id, 'expired', '{"what": "upload"}' FROM jobs JOIN gone ON document_id = gone.id)
SELECT count(*), coalesce(sum(bytes), 0)::bigint FROM picked
"""


async def expire_uploads(conn: Connection, due: DueWhen) -> SweptCount | None:
    """Of so many documents at a time; None when none is due."""
    args = {"active": ACTIVE_WORDS, "limit": BATCH, "pressed": due.pressed, "short": due.short}
    listing = DUE_UPLOADS_PRESSED if due.pressed else DUE_UPLOADS
    found = [row[0] for row in await (await conn.execute(listing, args)).fetchall()]
    if not found:
        return None
    await conn.execute(HOLD_JOBS_OF_DOCUMENTS, {"ids": found})
    row = await (await conn.execute(EXPIRE_UPLOADS, {**args, "ids": found})).fetchone()
    return SweptCount(*row) if row else None


DUE_RESULTS: Final = """
SELECT id FROM (
    SELECT id, expires_at FROM jobs WHERE result_key IS NOT NULL AND expires_at < now()
    UNION
    SELECT id, expires_at FROM jobs WHERE reading_key IS NOT NULL AND expires_at < now()) AS old
 ORDER BY expires_at LIMIT %(limit)s
"""
DUE_RESULTS_PRESSED: Final = """
SELECT id FROM jobs
 WHERE coalesce(result_key, reading_key) IS NOT NULL AND expires_at IS NOT NULL
   AND least(expires_at, coalesce(completed_at, failed_at) + %(short)s) < now()
 ORDER BY expires_at LIMIT %(limit)s
"""
HOLD_JOBS: Final = """
WITH locked AS MATERIALIZED (
    SELECT id, owner FROM jobs WHERE id = ANY(%(ids)s) ORDER BY id FOR UPDATE)
SELECT owner FROM owners WHERE owner IN (SELECT owner FROM locked) ORDER BY owner FOR UPDATE
"""


async def expire_results(conn: Connection, due: DueWhen) -> SweptCount | None:
    """Of so many jobs at a time; None when none is due."""
    args = {"limit": BATCH, "short": due.short}
    listing = DUE_RESULTS_PRESSED if due.pressed else DUE_RESULTS
    found = [row[0] for row in await (await conn.execute(listing, args)).fetchall()]
    if not found:
        return None
    await conn.execute(HOLD_JOBS, {"ids": found})
    return await results.expire_results(conn, found, due)


LIST_REMOVALS: Final = "SELECT key FROM removals ORDER BY key LIMIT %s"
FORGET_REMOVALS: Final = "DELETE FROM removals WHERE key = ANY(%s)"


async def remove_noted(pool: Pool, store: Store) -> None:
    """Delete the bytes that no row points to any more; a key that a row has again is left alone."""
    while True:
        async with pool.connection() as conn:
            found = await (await conn.execute(LIST_REMOVALS, (BATCH,))).fetchall()
            keys = [row[0] for row in found]
            known = await queries.find_known_keys(conn, keys)
        for key in keys:
            if key not in known:
                await store.delete(key)
                failpoints.hit("expire.deleted")
        async with pool.connection() as conn:
            await conn.execute(FORGET_REMOVALS, (keys,))
        failpoints.hit("expire.forgotten")
        if len(keys) < BATCH:
            return


@dataclass(frozen=True, slots=True)
class PreviewLine:
    """What the next sweep would take, of one kind and pipeline."""

    kind: str
    pipeline: str
    count: int
    bytes: int
    oldest_days: float


PREVIEW: Final = """
WITH uploads AS (
    SELECT 'uploads' AS kind, s.pipeline, d.bytes, s.since FROM stored_uploads(%(rules)s) AS s
      JOIN documents d ON d.id = s.id
     WHERE (s.ends_at < now() OR (%(pressed)s AND s.since < now() - %(short_uploads)s
                                  AND s.ends_at IS NOT NULL))
       AND NOT EXISTS (SELECT FROM jobs WHERE document_id = d.id AND status = ANY(%(active)s))
       AND NOT EXISTS (SELECT FROM trades WHERE document_id = d.id)),
results AS (
    SELECT 'results', s.pipeline,
           (SELECT coalesce(sum(stored_bytes), 0) FROM results WHERE job_id = s.id), s.since
      FROM stored_results(%(rules)s) AS s
     WHERE s.ends_at < now() OR (%(pressed)s AND s.since < now() - %(short_results)s
                                 AND s.ends_at IS NOT NULL)),
events AS (
    SELECT 'events', '', 0, at FROM job_events
     WHERE at < now() - %(keep_events)s
       AND (restored_at IS NULL OR restored_at < now() - %(restored)s)),
taken AS (SELECT * FROM uploads UNION ALL SELECT * FROM results UNION ALL SELECT * FROM events)
SELECT kind, pipeline, count(*) AS count, coalesce(sum(bytes), 0)::bigint AS bytes,
       extract(epoch FROM now() - min(since))::float8 / 86400 AS oldest_days
  FROM taken GROUP BY kind, pipeline ORDER BY kind DESC, pipeline
"""
# For so long events stay that were brought back.
RESTORED: Final = timedelta(days=7)


async def preview(
    conn: Connection, rules: RetentionRules, *, pressed: bool, keep_events: timedelta
) -> list[PreviewLine]:
    """What a sweep would take now. It looks at everything that is stored."""
    args = {
        "rules": Jsonb(rules.in_days()),
        "pressed": pressed,
        "short_uploads": rules.pressed_uploads,
        "short_results": rules.pressed_results,
        "keep_events": keep_events,
        "restored": RESTORED,
        "active": ACTIVE_WORDS,
    }
    async with conn.cursor(row_factory=class_row(PreviewLine)) as cur:
        return await (await cur.execute(PREVIEW, args)).fetchall()
