"""What long runs have done so far, step by step, while their jobs are under way."""

from dataclasses import asdict, dataclass
from typing import Final

from psycopg.rows import class_row

from docmill.core.jobs import Claimed, JobId
from docmill.db.pool import Connection


@dataclass(frozen=True, slots=True)
class Step:
    """The n-th of one kind; `content` is a JSON array of so many items."""

    kind: str
    number: int
    version: str
    items: int
    content: str


# Of one kind there is one row of steps: who writes one has not seen those after it.
KEEP: Final = """
WITH mine AS (
    SELECT id FROM jobs WHERE id = %(id)s AND claim = %(claim)s AND status = 'processing'),
later AS (
    DELETE FROM steps USING mine
     WHERE steps.job_id = mine.id AND kind = %(kind)s AND number > %(number)s)
INSERT INTO steps (job_id, kind, number, version, items, content)
SELECT id, %(kind)s, %(number)s, %(version)s, %(items)s, %(content)s FROM mine
ON CONFLICT (job_id, kind, number)
DO UPDATE SET version = EXCLUDED.version, items = EXCLUDED.items, content = EXCLUDED.content
"""


async def keep(conn: Connection, job: Claimed, step: Step) -> None:
    """Nothing happens when the job has gone to somebody else."""
    await conn.execute(KEEP, {"id": job.id, "claim": job.claim, **asdict(step)})


RECALL: Final = """
SELECT kind, number, version, items, content FROM steps
 WHERE job_id = %s AND kind = %s AND number = %s
"""


async def recall(conn: Connection, job_id: JobId, kind: str, number: int) -> Step | None:
    async with conn.cursor(row_factory=class_row(Step)) as cur:
        return await (await cur.execute(RECALL, (job_id, kind, number))).fetchone()


COUNT: Final = """
SELECT coalesce(sum(items), 0) FROM steps WHERE job_id = %s AND kind = %s
"""


async def count(conn: Connection, job_id: JobId, kind: str) -> int:
    row = await (await conn.execute(COUNT, (job_id, kind))).fetchone()
    return row[0] if row else 0


FORGET: Final = """
DELETE FROM steps USING jobs JOIN documents ON documents.id = jobs.document_id
 WHERE jobs.id = steps.job_id
   AND (jobs.status IN ('complete', 'cancelled') OR documents.upload_key IS NULL)
"""


async def forget(conn: Connection) -> int:
    """Those that nobody can go on from: their job is over, or its document is gone."""
    return (await conn.execute(FORGET)).rowcount
