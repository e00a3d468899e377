"""What long runs have done so far, step by step, while their jobs are under way."""

import json
from dataclasses import asdict, dataclass
from typing import Any, Final

import structlog
from psycopg.rows import class_row

from docmill import __version__
from docmill.core import failpoints
from docmill.core.jobs import Claimed, JobId
from docmill.db.pool import OUTAGES, Connection, Pool
from docmill.sandbox.protocol import KEEP


@dataclass(frozen=True, slots=True)
class SavedStep:
    """The n-th of one kind; `content` is a JSON array of so many items."""

    kind: str
    number: int
    version: str
    items: int
    content: str


# Of one kind there is one row of steps: who writes one has not seen those after it.
SAVE_STEP: Final = """
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


async def save_step(conn: Connection, job: Claimed, step: SavedStep) -> None:
    """Nothing happens when the job has gone to somebody else."""
    await conn.execute(SAVE_STEP, {"id": job.id, "claim": job.claim, **asdict(step)})


READ_STEP: Final = """
SELECT kind, number, version, items, content FROM steps
 WHERE job_id = %s AND kind = %s AND number = %s
"""


async def read_step(conn: Connection, job_id: JobId, kind: str, number: int) -> SavedStep | None:
    async with conn.cursor(row_factory=class_row(SavedStep)) as cur:
        return await (await cur.execute(READ_STEP, (job_id, kind, number))).fetchone()


COUNT_ITEMS: Final = """
SELECT coalesce(sum(items), 0) FROM steps WHERE job_id = %s AND kind = %s
"""


async def count_items(conn: Connection, job_id: JobId, kind: str) -> int:
    row = await (await conn.execute(COUNT_ITEMS, (job_id, kind))).fetchone()
    return row[0] if row else 0


DELETE_STEPS: Final = """
DELETE FROM steps USING jobs JOIN documents ON documents.id = jobs.document_id
 WHERE jobs.id = steps.job_id
   AND (jobs.status IN ('complete', 'cancelled') OR documents.upload_key IS NULL)
"""


async def delete_steps(conn: Connection) -> int:
    """Those that nobody can go on from: their job is over, or its document is gone."""
    return (await conn.execute(DELETE_STEPS)).rowcount


log = structlog.get_logger()


class JobMemory:
    """Does without the database where there is none: what is not kept is done again."""

    def __init__(self, pool: Pool, job: Claimed) -> None:
        self.recalled: int = 0
        self._pool: Pool = pool
        self._job: Claimed = job

    async def answer(self, what: str, request: Any) -> Any:
        """A request comes from a run, and is not trusted: what is wrong with it is raised."""
        kind, number = str(request["kind"])[:50], int(request["number"])
        try:
            if what == KEEP:
                return await self._keep(kind, number, list(request["items"]))
            return await self._recall(kind, number)
        except OUTAGES as exc:
            log.warning("steps.unknown", job=str(self._job.id), error=type(exc).__name__)
            return None

    async def _keep(self, kind: str, number: int, items: list[Any]) -> None:
        content = json.dumps(items, separators=(",", ":"))
        step = SavedStep(kind, number, __version__, len(items), content)
        async with self._pool.connection() as conn:
            await save_step(conn, self._job, step)
        failpoints.hit("step.kept")

    async def _recall(self, kind: str, number: int) -> list[Any] | None:
        if self._job.claim == 1:
            return None
        async with self._pool.connection() as conn:
            step = await read_step(conn, self._job.id, kind, number)
        if step is None or step.version != __version__:
            return None
        items: list[Any] = json.loads(step.content)
        self.recalled += len(items)
        return items
