"""Leases: who holds which job, for how long, and who has lost his."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Final

from psycopg.rows import class_row

from docmill.core.jobs import Claimed, JobId
from docmill.db.pool import Connection

BEAT: Final = """
UPDATE jobs SET lease_expires_at = now() + %(lease)s
  FROM unnest(%(ids)s::uuid[], %(claims)s::int[]) AS held(id, claim)
 WHERE jobs.id = held.id AND jobs.claim = held.claim AND jobs.status = 'processing'
RETURNING jobs.id
"""


async def beat(conn: Connection, held: Sequence[Claimed], *, lease: timedelta) -> set[JobId]:
    """Extend the leases; the jobs that are still ours."""
    await conn.execute("SET LOCAL synchronous_commit = off")
    args = {"ids": [job.id for job in held], "claims": [job.claim for job in held], "lease": lease}
    return {row[0] for row in await (await conn.execute(BEAT, args)).fetchall()}


STALE: Final = """
SELECT j.id, j.document_id, j.owner, j.pipeline, j.mapping, j.options, j.duplicate_of, j.claim,
       j.attempt_count, d.upload_key, d.original_filename, d.content_type, d.bytes, d.sha256
  FROM jobs j JOIN documents d ON d.id = j.document_id
 WHERE j.status = 'processing'
   AND (j.lease_expires_at < now() OR j.started_at < now() - %(longest)s
        OR j.leased_by = ANY(%(dead)s))
 ORDER BY j.id LIMIT %(limit)s FOR UPDATE OF j SKIP LOCKED
"""


async def stale(
    conn: Connection, *, longest: timedelta, dead: Sequence[str], limit: int = 100
) -> list[Claimed]:
    """Jobs whose worker went silent, is known to be dead, or holds on for too long; locked."""
    args = {"longest": longest, "dead": list(dead), "limit": limit}
    async with conn.cursor(row_factory=class_row(Claimed)) as cur:
        return await (await cur.execute(STALE, args)).fetchall()


HOLDERS: Final = "SELECT DISTINCT leased_by FROM jobs WHERE status = 'processing'"


async def holders(conn: Connection) -> list[str]:
    """The workers that hold a lease now."""
    return [row[0] for row in await (await conn.execute(HOLDERS)).fetchall()]


HELD_BY: Final = """
SELECT j.id, j.document_id, j.owner, j.pipeline, j.mapping, j.options, j.duplicate_of, j.claim,
       j.attempt_count, d.upload_key, d.original_filename, d.content_type, d.bytes, d.sha256
  FROM jobs j JOIN documents d ON d.id = j.document_id
 WHERE j.status = 'processing' AND j.leased_by = %s
"""


async def held_by(conn: Connection, worker: str) -> list[Claimed]:
    """The jobs this worker holds, as the database knows it."""
    async with conn.cursor(row_factory=class_row(Claimed)) as cur:
        return await (await cur.execute(HELD_BY, (worker,))).fetchall()
