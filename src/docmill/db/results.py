"""Results: where the outcome of a complete job is stored, and when it goes."""

from dataclasses import dataclass
from typing import Final

from psycopg.rows import class_row

from docmill.core.jobs import JobId
from docmill.db.pool import Connection


@dataclass(frozen=True, slots=True)
class Result:
    key: str
    content_type: str
    bytes: int
    stored_bytes: int
    sha256: str
    version: str


OF_JOB: Final = """
SELECT r.key, r.content_type, r.bytes, r.stored_bytes, r.sha256, r.version
  FROM jobs j JOIN results r ON r.job_id = j.id AND r.key = j.result_key
 WHERE j.id = %s
"""


async def of_job(conn: Connection, job_id: JobId) -> Result | None:
    async with conn.cursor(row_factory=class_row(Result)) as cur:
        return await (await cur.execute(OF_JOB, (job_id,))).fetchone()


EXPIRING: Final = """
SELECT id, result_key FROM jobs
 WHERE result_key IS NOT NULL AND expires_at < now() ORDER BY expires_at LIMIT %s
"""


async def expiring(conn: Connection, limit: int) -> list[tuple[JobId, str]]:
    return [(row[0], row[1]) for row in await (await conn.execute(EXPIRING, (limit,))).fetchall()]


EXPIRE: Final = """
WITH gone AS (
    UPDATE jobs SET result_key = NULL, dedupe_key = NULL
     WHERE id = %(id)s AND result_key = %(key)s RETURNING id),
dropped AS (DELETE FROM results USING gone WHERE job_id = gone.id)
INSERT INTO job_events (job_id, kind, meta) SELECT id, 'expired', '{"what": "result"}' FROM gone
"""


async def expire(conn: Connection, job_id: JobId, key: str) -> None:
    """Clear the location of a result whose bytes were deleted."""
    await conn.execute(EXPIRE, {"id": job_id, "key": key})
