"""Results: where the outcome of a complete job is stored, and when it goes."""

from collections.abc import Sequence
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


# Without a form: what people download, which is the document where there is one.
OF_JOB: Final = """
SELECT r.key, r.content_type, r.bytes, r.stored_bytes, r.sha256, r.version
  FROM jobs j JOIN results r ON r.job_id = j.id
 WHERE j.id = %(id)s AND j.result_key IS NOT NULL
   AND CASE WHEN %(form)s::text IS NULL THEN r.key = j.result_key ELSE r.form = %(form)s END
"""


async def of_job(conn: Connection, job_id: JobId, form: str | None = None) -> Result | None:
    async with conn.cursor(row_factory=class_row(Result)) as cur:
        return await (await cur.execute(OF_JOB, {"id": job_id, "form": form})).fetchone()


@dataclass(frozen=True, slots=True)
class Readable:
    """A job and where its data is stored; no key while there is none, or none any more."""

    id: JobId
    owner: str
    pipeline: str
    status: str
    key: str | None


DATA: Final = """
SELECT j.id, j.owner, j.pipeline, j.status, r.key
  FROM jobs j
  LEFT JOIN results r ON r.job_id = j.id AND r.form = 'data' AND j.result_key IS NOT NULL
 WHERE j.id = ANY(%s)
"""


async def data(conn: Connection, job_ids: Sequence[JobId]) -> dict[JobId, Readable]:
    """Those of the jobs that there are."""
    async with conn.cursor(row_factory=class_row(Readable)) as cur:
        found = await (await cur.execute(DATA, (list(job_ids),))).fetchall()
    return {each.id: each for each in found}


KEYS: Final = "SELECT key FROM results WHERE job_id = %s"


async def keys(conn: Connection, job_id: JobId) -> list[str]:
    """Everything that is stored of a job's results."""
    return [row[0] for row in await (await conn.execute(KEYS, (job_id,))).fetchall()]


EXPIRING: Final = """
SELECT id FROM jobs WHERE result_key IS NOT NULL AND expires_at < now()
 ORDER BY expires_at LIMIT %s
"""


async def expiring(conn: Connection, limit: int) -> list[JobId]:
    return [row[0] for row in await (await conn.execute(EXPIRING, (limit,))).fetchall()]


EXPIRE: Final = """
WITH gone AS (
    UPDATE jobs SET result_key = NULL, dedupe_key = NULL
     WHERE id = %s AND result_key IS NOT NULL RETURNING id),
dropped AS (DELETE FROM results USING gone WHERE job_id = gone.id),
unlisted AS (DELETE FROM document_fields USING gone WHERE job_id = gone.id),
unfound AS (DELETE FROM chunks USING gone WHERE job_id = gone.id)
INSERT INTO job_events (job_id, kind, meta) SELECT id, 'expired', '{"what": "result"}' FROM gone
"""


async def expire(conn: Connection, job_id: JobId) -> None:
    """Clear the location of results whose bytes were deleted."""
    await conn.execute(EXPIRE, (job_id,))
