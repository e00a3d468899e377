"""How long a job will take, from how long others of its kind took."""

import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from statistics import fmean, median
from typing import Final

from docmill.core.faults import DocmillError
from docmill.core.jobs import ACTIVE, Job, Status
from docmill.db import wall
from docmill.db.pool import Connection, Pool, read_connection

GUESS: Final = 5.0
ENOUGH: Final = 5
# From this percentage on, a run's own pace says more than the pace of others.
TRUSTED: Final = 25


@dataclass(frozen=True, slots=True)
class SpeedSample:
    bytes: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Speed:
    """Seconds = fixed + per_byte x bytes, as measured."""

    fixed: float = GUESS
    per_byte: float = 0.0
    guessed: bool = False

    def seconds(self, size: int) -> float:
        return self.fixed + self.per_byte * size


def measure_speed(samples: Sequence[SpeedSample]) -> Speed:
    """A straight line through the samples, never one that says bigger is faster."""
    if not samples:
        return Speed(guessed=True)
    middle = median(sample.seconds for sample in samples)
    if len(samples) < ENOUGH:
        return Speed(middle)
    x, y = fmean(s.bytes for s in samples), fmean(s.seconds for s in samples)
    spread = sum((s.bytes - x) ** 2 for s in samples)
    together = sum((s.bytes - x) * (s.seconds - y) for s in samples)
    slope = together / spread if spread else 0.0
    if slope <= 0 or y - slope * x < 0:
        return Speed(middle)
    return Speed(y - slope * x, slope)


def estimate_wait(ahead: int, slots: int, speed: Speed, size: int) -> float:
    """Seconds until a job begins with so many before it."""
    return ahead / max(slots, 1) * speed.seconds(size)


def estimate_left(speed: Speed, size: int, *, elapsed: float, progress: int) -> float:
    """Seconds until a running job ends: measured speed at first, its own pace as it shows."""
    by_speed = max(speed.seconds(size) - elapsed, 0.0)
    if progress <= 0:
        return by_speed
    by_pace = elapsed * (100 - progress) / progress
    weight = 1.0 if speed.guessed else min(progress / TRUSTED, 1.0)
    return by_pace * weight + by_speed * (1 - weight)


SAMPLES: Final = """
SELECT d.bytes, extract(epoch FROM j.completed_at - j.started_at)::float8
  FROM jobs j JOIN documents d ON d.id = j.document_id
 WHERE j.status = 'complete' AND j.pipeline = %s
 ORDER BY j.completed_at DESC LIMIT 100
"""


async def list_samples(conn: Connection, pipeline: str) -> list[SpeedSample]:
    """Size and seconds of the pipeline's last runs."""
    rows = await (await conn.execute(SAMPLES, (pipeline,))).fetchall()
    return [SpeedSample(row[0], max(row[1], 0.0)) for row in rows]


SLOTS: Final = """
SELECT coalesce(sum(slots), 0) FROM workers WHERE seen_at > now() - interval '2 minutes'
"""
DEPTHS: Final = """
SELECT status, count(*) FROM jobs WHERE status IN ('uploaded', 'queued', 'processing')
 GROUP BY status
"""
OLDEST: Final = """
SELECT extract(epoch FROM now() - min(queued_at))::float8 FROM jobs
 WHERE status = 'queued' AND run_at IS NULL
"""


@dataclass(frozen=True, slots=True)
class QueueDepth:
    """The queue at a glance."""

    queued: int
    processing: int
    slots: int
    oldest_seconds: float


async def measure_depth(conn: Connection) -> QueueDepth:
    counts = {row[0]: row[1] for row in await (await conn.execute(DEPTHS)).fetchall()}
    slots = await (await conn.execute(SLOTS)).fetchone()
    oldest = await (await conn.execute(OLDEST)).fetchone()
    return QueueDepth(
        counts.get("queued", 0) + counts.get("uploaded", 0),
        counts.get("processing", 0),
        slots[0] if slots else 0,
        (oldest[0] if oldest else None) or 0.0,
    )


FRESH_SECONDS: Final = 10.0


@dataclass(frozen=True, slots=True)
class PipelinePace:
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
            return estimate_left(self.speed, job.bytes, elapsed=elapsed, progress=job.progress)
        waiting = estimate_wait(max(self.ahead - 1, 0), self.slots, self.speed, job.bytes)
        if job.run_at:
            waiting = max(waiting, (job.run_at - now).total_seconds())
        return waiting + self.speed.seconds(job.bytes)


class Estimator:
    """Looks up each pipeline's pace every few seconds. An estimate never fails a request."""

    def __init__(self, pool: Pool) -> None:
        self._pool: Pool = pool
        self._known: dict[str, tuple[float, PipelinePace]] = {}

    async def measure_pace(self, pipeline: str) -> PipelinePace:
        until, pace = self._known.get(pipeline, (0.0, PipelinePace()))
        if time.monotonic() < until:
            return pace
        # Said before asking, so that a hundred requests at once ask once.
        self._known[pipeline] = (time.monotonic() + FRESH_SECONDS, pace)
        with suppress(DocmillError), wall.beyond():
            async with read_connection(self._pool) as conn:
                samples = await list_samples(conn, pipeline)
                depth = await measure_depth(conn)
            ahead = depth.queued + depth.processing
            pace = PipelinePace(measure_speed(samples), ahead, depth.slots)
            self._known[pipeline] = (time.monotonic() + FRESH_SECONDS, pace)
        return pace

    async def seconds_left(self, job: Job) -> float | None:
        return (
            (await self.measure_pace(job.pipeline)).seconds_left(job)
            if job.status in ACTIVE
            else None
        )
