"""Shows how far a run is: the latest word, at most twice a second; milestones in the history."""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

import psycopg

from docmill.core.jobs import Claimed
from docmill.core.texts import clean_text
from docmill.db.pool import Connection, Pool

EVERY: Final = 0.5
# A run that is over this soon needs no progress shown.
AT_FIRST: Final = 0.2
MILESTONE: Final = 25


@dataclass(frozen=True, slots=True)
class Progress:
    percent: int
    stage: str
    milestone: bool


@dataclass(frozen=True, slots=True)
class ReporterLinks:
    """`keep` holds the task that writes; `lost` and `told` are called for what their names say."""

    keep: Callable[[Coroutine[None, None, None]], None]
    lost: Callable[[], None]
    told: Callable[[], None]


class ProgressReporter:
    """`note` may be called as often as one likes; from the first on a task writes until `stop`.

    It is stopped, not cancelled: cancelling a statement costs the database a connection.
    """

    def __init__(self, pool: Pool, job: Claimed, links: ReporterLinks) -> None:
        self._pool: Pool = pool
        self._job: Claimed = job
        self._links: ReporterLinks = links
        self._is_started: bool = False
        self._latest: tuple[int, str] = (0, "")
        self._news: asyncio.Event = asyncio.Event()
        self._stopped: asyncio.Event = asyncio.Event()
        self._milestone: int = 0

    def note(self, percent: int, stage: str) -> None:
        """A finished run is told by its ending, so a run itself gets to 99 at most."""
        self._latest = (max(self._latest[0], min(percent, 99)), clean_text(stage)[:100])
        self._news.set()
        if not self._is_started:
            self._is_started = True
            self._links.keep(self.run())

    def stop(self) -> None:
        self._stopped.set()
        self._news.set()

    async def run(self) -> None:
        await self._pause(AT_FIRST)
        while await self._news.wait() and not self._stopped.is_set():
            self._news.clear()
            percent, stage = self._latest
            reached = percent // MILESTONE
            progress = Progress(percent, stage, milestone=reached > self._milestone)
            self._milestone = max(reached, self._milestone)
            if not await self._write(progress):
                self._links.lost()
                return
            self._links.told()
            await self._pause(EVERY)

    async def _pause(self, seconds: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._stopped.wait()

    async def _write(self, progress: Progress) -> bool:
        try:
            async with self._pool.connection() as conn:
                return await record_progress(conn, self._job, progress)
        except psycopg.Error:
            return True  # not knowing is no reason to stop; the heartbeat and the fence decide


PROGRESS: Final = """
WITH noted AS (
    UPDATE jobs SET progress = greatest(progress, %(progress)s), stage = %(stage)s
     WHERE id = %(id)s AND claim = %(claim)s AND status = 'processing'
    RETURNING id, leased_by, progress),
told AS (
    INSERT INTO job_events (job_id, kind, worker, meta)
    SELECT id, 'progress', leased_by,
           jsonb_build_object('progress', progress, 'stage', %(stage)s::text)
      FROM noted WHERE %(milestone)s)
SELECT id FROM noted
"""


async def record_progress(conn: Connection, job: Claimed, progress: Progress) -> bool:
    """Show how far a run is; False when the job is no longer ours."""
    await conn.execute("SET LOCAL synchronous_commit = off")
    args = {
        "id": job.id,
        "claim": job.claim,
        "progress": progress.percent,
        "stage": progress.stage,
        "milestone": progress.milestone,
    }
    return await (await conn.execute(PROGRESS, args)).fetchone() is not None
