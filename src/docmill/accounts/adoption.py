"""What anonymous sessions had uploaded becomes a known owner's, all of it in one transaction.

Every table that has an owner is named here or in `LEFT`; a test looks that none is forgotten.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, LiteralString
from uuid import UUID

import structlog

from docmill.core.owners import Owner, OwnerKey
from docmill.db import audit, wall
from docmill.db.audit import AuditedAction
from docmill.db.pool import Connection, write
from docmill.documents import accept
from docmill.extract import queries as extract_queries
from docmill.queue.enqueue import ensure_owner
from docmill.web.site import Site

log = structlog.get_logger()

# What stays with a session: that it was deleted interests only who listed it, a session that was
# ended is not to come back as a user, and how sure is sure is fitted anew each night.
# Buckets are a desk's. Who was given a mapping or a time to keep things, and what a session has
# cost, is the operator's record.
LEFT: Final = frozenset(
    {"owners", "job_deletions", "sessions", "experience", "sources", "bucket_objects"}
    | {"mapping_assignments", "retention_rules", "cost_hours"}
)
# Jobs come first, as for everybody who changes several: job rows in order, then their owners.
ADOPTED: Final[Mapping[str, LiteralString]] = {
    "documents": "UPDATE documents SET owner = %(to)s WHERE owner = ANY(%(from)s)",
    "trades": "UPDATE trades SET owner = %(to)s WHERE owner = ANY(%(from)s)",
    "reprocesses": "UPDATE reprocesses SET owner = %(to)s WHERE owner = ANY(%(from)s)",
    "document_fields": "UPDATE document_fields SET owner = %(to)s WHERE owner = ANY(%(from)s)",
    "chunks": "UPDATE chunks SET owner = %(to)s WHERE owner = ANY(%(from)s)",
    "webhooks": """
    UPDATE webhooks SET owner = %(to)s,
           source = CASE WHEN source = ANY(%(from)s) THEN %(to)s ELSE source END
     WHERE owner = ANY(%(from)s)
    """,
    "uploads": "UPDATE uploads SET owner = %(to)s WHERE owner = ANY(%(from)s)",
    "api_keys": "UPDATE api_keys SET owner = %(to)s WHERE owner = ANY(%(from)s)",
    # Of two lessons about the same thing the newer one stays, and the new owner's before all.
    "lessons": """
    WITH moved AS (DELETE FROM lessons WHERE owner = ANY(%(from)s) RETURNING *)
    INSERT INTO lessons (owner, layout, field, lesson, job_id, taught_by, created_at)
    SELECT DISTINCT ON (layout, field)
           %(to)s, layout, field, lesson, job_id, taught_by, created_at
      FROM moved ORDER BY layout, field, created_at DESC
    ON CONFLICT (owner, layout, field) DO NOTHING
    """,
    "idempotency_keys": """
    WITH moved AS (DELETE FROM idempotency_keys WHERE owner = ANY(%(from)s) RETURNING *)
    INSERT INTO idempotency_keys (owner, key, position, sha256, job_id, created_at)
    SELECT DISTINCT ON (key, position) %(to)s, key, position, sha256, job_id, created_at
      FROM moved ORDER BY key, position, created_at DESC
    ON CONFLICT (owner, key, position) DO NOTHING
    """,
}
ADOPT_SETTINGS: Final = (
    """
    UPDATE owners SET (profile, learning) = (
        SELECT profile, learning FROM owners
         WHERE owner = ANY(%(from)s) AND profile <> '{}' ORDER BY changed_at DESC LIMIT 1)
     WHERE owner = %(to)s AND profile = '{}'
       AND EXISTS (SELECT FROM owners WHERE owner = ANY(%(from)s) AND profile <> '{}')
    """,
    """
    UPDATE owners SET preferences = (
        SELECT preferences FROM owners
         WHERE owner = ANY(%(from)s) AND preferences <> '{}' ORDER BY changed_at DESC LIMIT 1)
     WHERE owner = %(to)s AND preferences = '{}'
       AND EXISTS (SELECT FROM owners WHERE owner = ANY(%(from)s) AND preferences <> '{}')
    """,
    "UPDATE owners SET profile = '{}', preferences = '{}' WHERE owner = ANY(%(from)s)",
)
ADOPT_VECTORS: Final = "UPDATE chunk_vectors SET owner = %(to)s WHERE owner = ANY(%(from)s)"


async def adopt(conn: Connection, to: OwnerKey, sessions: Sequence[OwnerKey]) -> int:
    """Everything of these owners becomes that one's; how many jobs that were."""
    moved = {"to": to, "from": list(sessions)}
    await ensure_owner(conn, to)
    jobs = await _adopt_jobs(conn, to, sessions)
    for statement in (*ADOPTED.values(), *ADOPT_SETTINGS):
        await conn.execute(statement, moved)
    if await extract_queries.have_vectors(conn):
        await conn.execute(ADOPT_VECTORS, moved)
    return jobs


LOCK_JOBS: Final = """
SELECT j.id, d.sha256, coalesce(j.requested_pipeline, j.pipeline), j.mapping, j.options,
       j.dedupe_key
  FROM jobs j JOIN documents d ON d.id = j.document_id
 WHERE j.owner = ANY(%s) ORDER BY j.id FOR UPDATE OF j
"""
FIND_TAKEN: Final = "SELECT dedupe_key FROM jobs WHERE dedupe_key = ANY(%s)"
ADOPT_JOBS: Final = """
UPDATE jobs SET owner = %(to)s, dedupe_key = given.dedupe_key
  FROM unnest(%(ids)s::uuid[], %(keys)s::text[]) AS given(id, dedupe_key)
 WHERE jobs.id = given.id
"""


async def _adopt_jobs(conn: Connection, to: OwnerKey, sessions: Sequence[OwnerKey]) -> int:
    """With keys of the new owner, so that the same file sent again finds its job."""
    rows = await (await conn.execute(LOCK_JOBS, (list(sessions),))).fetchall()
    keys = {row[0]: _rekey(row, to, sessions) for row in rows}
    asked = [key for key in keys.values() if key]
    taken = {row[0] for row in await (await conn.execute(FIND_TAKEN, (asked,))).fetchall()}
    given: dict[UUID, str | None] = {}
    for job_id, key in keys.items():
        given[job_id] = None if key in taken else key
        taken |= {key}
    args = {"to": to, "ids": [*given], "keys": [*given.values()]}
    await conn.execute(ADOPT_JOBS, args)
    return len(given)


def _rekey(row: Sequence[Any], to: OwnerKey, sessions: Sequence[OwnerKey]) -> str | None:
    """The key as the new owner's upload would have it; None where it can't be told."""
    _, sha256, pipeline, mapping, options, known = row
    for owner in sessions:
        for wanted in (mapping, None):
            if accept.hash_request(owner, sha256, pipeline, wanted, options) == known:
                return accept.hash_request(to, sha256, pipeline, wanted, options)
    return None


async def take_over(site: Site, conn: Connection, owner: Owner, session: Owner) -> int:
    """A user's own anonymous session; `site` tells the pages that something changed."""
    count = await adopt(conn, owner.key, [session.key])
    done = AuditedAction(owner.key, "session.claimed", session.key)
    await audit.record(conn, done, after={"jobs": count})
    log.info("session.taken_over", owner=owner.key, session=session.key, jobs=count)
    site.changes.ring()
    return count


async def claim_session(site: Site, owner: Owner, session: Owner) -> int:
    with wall.beyond():  # it is about two owners
        return await write(site.pool, lambda conn: take_over(site, conn, owner, session))


FIND_SESSIONS: Final = """
SELECT owner FROM owners
 WHERE owner LIKE 'session:%'
   AND (profile <> '{}' OR preferences <> '{}'
        OR EXISTS (SELECT FROM documents WHERE documents.owner = owners.owner)
        OR EXISTS (SELECT FROM webhooks WHERE webhooks.owner = owners.owner))
 ORDER BY changed_at DESC
"""


async def adopt_sessions(conn: Connection, to: OwnerKey) -> int:
    """Everything of anonymous sessions becomes that owner's; of how many sessions."""
    sessions = [row[0] for row in await (await conn.execute(FIND_SESSIONS)).fetchall()]
    if sessions:
        await adopt(conn, to, sessions)
    return len(sessions)
