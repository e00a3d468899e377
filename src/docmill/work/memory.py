"""A job's memory between its runs: the worker's side of `core/steps.py`."""

import json
from typing import Any

import structlog

from docmill import __version__
from docmill.core import failpoints
from docmill.core.jobs import Claimed
from docmill.db import steps
from docmill.db.pool import OUTAGES, Pool
from docmill.db.steps import Step
from docmill.work.framing import KEEP

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
        step = Step(kind, number, __version__, len(items), content)
        async with self._pool.connection() as conn:
            await steps.keep(conn, self._job, step)
        failpoints.hit("step.kept")

    async def _recall(self, kind: str, number: int) -> list[Any] | None:
        if self._job.claim == 1:
            return None
        async with self._pool.connection() as conn:
            step = await steps.recall(conn, self._job.id, kind, number)
        if step is None or step.version != __version__:
            return None
        items: list[Any] = json.loads(step.content)
        self.recalled += len(items)
        return items
