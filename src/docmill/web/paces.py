"""How long jobs will still take, from measured speeds that are looked up now and then."""

import time
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final

from docmill.core import estimate
from docmill.core.estimate import Speed
from docmill.core.faults import Faulted
from docmill.core.jobs import ACTIVE, Job, Status
from docmill.db import stats
from docmill.db.pool import Pool, reading

FRESH_SECONDS: Final = 10.0


@dataclass(frozen=True, slots=True)
class Pace:
    """One pipeline's speed and the queue before it, as of a few seconds ago."""

    speed: Speed = field(default_factory=Speed)
    ahead: int = 0
    slots: int = 0

    def seconds_left(self, job: Job) -> float | None:
        """None for a job that has ended."""
        if job.status not in ACTIVE:
            return None
        now = datetime.now(UTC)
        if job.status is Status.PROCESSING and job.started_at:
            elapsed = max((now - job.started_at).total_seconds(), 0.0)
            return estimate.left(self.speed, job.bytes, elapsed=elapsed, progress=job.progress)
        waiting = estimate.wait(max(self.ahead - 1, 0), self.slots, self.speed, job.bytes)
        if job.run_at:
            waiting = max(waiting, (job.run_at - now).total_seconds())
        return waiting + self.speed.seconds(job.bytes)


class Paces:
    """Looks up each pipeline's pace every few seconds. An estimate never fails a request."""

    def __init__(self, pool: Pool) -> None:
        self._pool: Pool = pool
        self._known: dict[str, tuple[float, Pace]] = {}

    async def of(self, pipeline: str) -> Pace:
        until, pace = self._known.get(pipeline, (0.0, Pace()))
        if time.monotonic() < until:
            return pace
        # Said before asking, so that a hundred requests at once ask once.
        self._known[pipeline] = (time.monotonic() + FRESH_SECONDS, pace)
        with suppress(Faulted):
            async with reading(self._pool) as conn:
                samples = await stats.speeds(conn, pipeline)
                depth = await stats.depth(conn)
            ahead = depth.queued + depth.processing
            pace = Pace(estimate.measure(samples), ahead, depth.slots)
            self._known[pipeline] = (time.monotonic() + FRESH_SECONDS, pace)
        return pace

    async def seconds_left(self, job: Job) -> float | None:
        return (await self.of(job.pipeline)).seconds_left(job) if job.status in ACTIVE else None
