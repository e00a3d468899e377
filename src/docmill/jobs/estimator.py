"""How long a job will take: from how long others like it took, and from what waits before it."""

import heapq
import math
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from statistics import fmean, median
from typing import Final

from psycopg.rows import args_row, class_row

from docmill.core.faults import DocmillError
from docmill.core.jobs import ACTIVE, Job, JobId, Status
from docmill.db import wall
from docmill.db.pool import Connection, Pool, read_connection

GUESS: Final = 5.0
ENOUGH: Final = 5
# A job is as fast as the most alike of the last ones: enough of them that one odd one is outvoted.
NEAREST: Final = 9
# Not quite the middle of them: an estimate within half of the truth may be half of it, or one and a
# half times, so the best guess lies below.
RANK: Final = 0.4
# Others were at the same point when their progress was this near.
SAME_PROGRESS: Final = 10
# From this percentage on, a run's own pace says more than the pace of others.
TRUSTED: Final = 25


@dataclass(frozen=True, slots=True)
class SpeedSample:
    bytes: int
    seconds: float
    pages: int | None = None


@dataclass(frozen=True, slots=True)
class Milestone:
    """A run said this progress when this share of its time was over."""

    progress: int
    share: float


@dataclass(frozen=True, slots=True)
class Speed:
    """The last runs of a kind. No straight line fits them: a scan of a page takes longer than a
    text of fifty. Bytes and pages together tell scans and texts apart."""

    samples: Sequence[SpeedSample] = ()
    milestones: Sequence[Milestone] = ()

    @property
    def guessed(self) -> bool:
        return not self.samples

    def seconds(self, size: int, pages: int | None = None) -> float:
        """Near the middle of those most alike."""
        if not self.samples:
            return GUESS
        if len(self.samples) < ENOUGH:
            return median(one.seconds for one in self.samples)
        took = self._list_alike(size, pages)
        return took[int(RANK * len(took))]

    def seconds_after(self, elapsed: float, size: int, pages: int | None = None) -> float:
        """What is left of a run that goes on: only those that took longer are like it."""
        longer = [each for each in self._list_alike(size, pages) if each > elapsed]
        if elapsed <= 0 or len(self.samples) < ENOUGH or not longer:
            return max(self.seconds(size, pages) - elapsed, 0.0)
        return longer[int(RANK * len(longer))] - elapsed

    def _list_alike(self, size: int, pages: int | None) -> list[float]:
        alike = sorted(self.samples, key=lambda one: _measure_distance(one, size, pages))
        return sorted(one.seconds for one in alike[:NEAREST])

    def share_at(self, progress: int) -> float:
        """How much of its time is over for a run that says this: progress counts steps, not time.

        Most of what comes before half is the start and the reading, which take longest.
        """
        seen = [
            one.share for one in self.milestones if abs(one.progress - progress) <= SAME_PROGRESS
        ]
        return median(seen) if len(seen) >= ENOUGH else progress / 100


def _measure_distance(one: SpeedSample, size: int, pages: int | None) -> float:
    """By how many times the one is larger; where the pages of both are known they count as well."""
    apart = abs(math.log(max(one.bytes, 1) / max(size, 1)))
    if one.pages and pages:
        apart += 2 * abs(math.log(one.pages / pages))
    return apart


@dataclass(frozen=True, slots=True)
class ActiveJob:
    """A job that waits or runs, in the order in which workers take them."""

    id: JobId
    pipeline: str
    bytes: int
    pages: int | None
    progress: int
    elapsed: float | None


def simulate_queue(
    active: Sequence[ActiveJob], speeds: Mapping[str, Speed], slots: int
) -> tuple[dict[JobId, float], float]:
    """In how many seconds each waiting job begins, and when one would that came now.

    Those that run end as estimated; each slot then takes the next.
    """
    running = [one for one in active if one.elapsed is not None]
    free = [
        estimate_left(speeds[one.pipeline], one.bytes, elapsed=one.elapsed or 0, progress=0)
        for one in running
    ]
    free = [*free, *[0.0] * (max(slots, 1) - len(free))]
    heapq.heapify(free)
    begins: dict[JobId, float] = {}
    for one in active:
        if one.elapsed is None:
            begins[one.id] = free[0]
            took = speeds[one.pipeline].seconds(one.bytes, one.pages)
            heapq.heapreplace(free, free[0] + took)
    return begins, free[0]


def estimate_left(
    speed: Speed, size: int, *, elapsed: float, progress: int, pages: int | None = None
) -> float:
    """Seconds until a running job ends: measured speed at first, its own pace as it shows."""
    by_speed = speed.seconds_after(elapsed, size, pages)
    if progress <= 0:
        return by_speed
    share = speed.share_at(progress)
    by_pace = elapsed * (1 - share) / share
    weight = 1.0 if speed.guessed else min(progress / TRUSTED, 1.0)
    return by_pace * weight + by_speed * (1 - weight)


# What was asked to be `auto` ends as another pipeline; it took as long as others that were.
SAMPLES: Final = """
SELECT last.bytes, last.seconds, last.pages
  FROM (SELECT DISTINCT unnest(pipelines) AS name FROM workers
        UNION SELECT %(pipeline)s) AS served
 CROSS JOIN LATERAL (
       SELECT d.bytes, d.pages, j.completed_at,
              greatest(extract(epoch FROM j.completed_at - j.started_at), 0)::float8 AS seconds
         FROM jobs j JOIN documents d ON d.id = j.document_id
        WHERE j.status = 'complete' AND j.pipeline = served.name
          AND coalesce(j.requested_pipeline, j.pipeline) = %(pipeline)s
        ORDER BY j.completed_at DESC LIMIT 300) AS last
 ORDER BY last.completed_at DESC LIMIT 300
"""


async def list_samples(conn: Connection, pipeline: str) -> list[SpeedSample]:
    """Size, pages and seconds of the last runs that were asked for as this pipeline."""
    async with conn.cursor(row_factory=class_row(SpeedSample)) as cur:
        return await (await cur.execute(SAMPLES, {"pipeline": pipeline})).fetchall()


# Of the last runs; one that was begun several times says nothing about its last one's time.
MILESTONES: Final = """
SELECT (e.meta ->> 'progress')::int AS progress,
       (extract(epoch FROM e.at - last.started_at)
        / extract(epoch FROM last.completed_at - last.started_at))::float8 AS share
  FROM (SELECT DISTINCT unnest(pipelines) AS name FROM workers
        UNION SELECT %(pipeline)s) AS served
 CROSS JOIN LATERAL (
       SELECT j.id, j.started_at, j.completed_at FROM jobs j
        WHERE j.status = 'complete' AND j.pipeline = served.name AND j.attempt_count = 1
          AND coalesce(j.requested_pipeline, j.pipeline) = %(pipeline)s
          AND j.completed_at > j.started_at
        ORDER BY j.completed_at DESC LIMIT 50) AS last
  JOIN job_events e ON e.job_id = last.id AND e.kind = 'progress'
 WHERE e.at > last.started_at AND e.at < last.completed_at
"""


async def list_milestones(conn: Connection, pipeline: str) -> list[Milestone]:
    """How far the last runs were when they said what they said."""
    async with conn.cursor(row_factory=class_row(Milestone)) as cur:
        return await (await cur.execute(MILESTONES, {"pipeline": pipeline})).fetchall()


LOOKED_AT: Final = 500
ACTIVE_JOBS: Final = """
SELECT j.id, coalesce(j.requested_pipeline, j.pipeline) AS pipeline, d.bytes, d.pages, j.progress,
       CASE WHEN j.status = 'processing'
            THEN greatest(extract(epoch FROM now() - j.started_at), 0)::float8 END AS elapsed
  FROM jobs j JOIN documents d ON d.id = j.document_id
 WHERE j.status = 'processing' OR (j.status = 'queued' AND j.run_at IS NULL)
 ORDER BY j.status = 'processing' DESC, j.priority DESC, j.start_tag LIMIT %s
"""


async def list_active(conn: Connection) -> list[ActiveJob]:
    async with conn.cursor(row_factory=args_row(ActiveJob)) as cur:
        return await (await cur.execute(ACTIVE_JOBS, (LOOKED_AT,))).fetchall()


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
# The queue changes with every upload.
QUEUE_SECONDS: Final = 1.0


@dataclass(frozen=True, slots=True)
class QueuePace:
    """How fast jobs go, and when each of those that wait begins, as of a moment ago."""

    speeds: Mapping[str, Speed] = field(default_factory=dict[str, Speed])
    begins: Mapping[JobId, float] = field(default_factory=dict[JobId, float])
    last: float = 0.0

    def seconds_left(self, job: Job) -> float | None:
        """None for a job that has ended."""
        if job.status not in ACTIVE:
            return None
        now, speed = datetime.now(UTC), self.speeds.get(job.requested_pipeline, Speed())
        if job.status is Status.PROCESSING and job.started_at:
            # As it was when the run last said something, less the time since then.
            told_at = min(max(job.updated_at, job.started_at), now) if job.progress else now
            elapsed = max((told_at - job.started_at).total_seconds(), 0.0)
            left = estimate_left(
                speed, job.bytes, elapsed=elapsed, progress=job.progress, pages=job.pages
            )
            return max(left - (now - told_at).total_seconds(), 0.0)
        waiting = self.begins.get(job.id, self.last)
        if job.run_at:
            waiting = max(waiting, (job.run_at - now).total_seconds())
        return waiting + speed.seconds(job.bytes, job.pages)


class Estimator:
    """Looks at the queue every second, at each pipeline's last runs less often.

    An estimate never fails a request.
    """

    def __init__(self, pool: Pool) -> None:
        self._pool: Pool = pool
        self._speeds: dict[str, tuple[float, Speed]] = {}
        self._pace: QueuePace = QueuePace()
        self._until: float = 0.0

    async def measure_pace(self, pipeline: str) -> QueuePace:
        now = time.monotonic()
        if now < self._until and pipeline in self._pace.speeds:
            return self._pace
        # Said before asking, so that a hundred requests at once ask once.
        self._until = now + QUEUE_SECONDS
        with suppress(DocmillError), wall.beyond():
            async with read_connection(self._pool) as conn:
                active = await list_active(conn)
                for name in {pipeline, *(one.pipeline for one in active)}:
                    await self._measure_speed(conn, name)
                depth = await measure_depth(conn)
            speeds = {name: speed for name, (_, speed) in self._speeds.items()}
            begins, last = simulate_queue(active, speeds, depth.slots)
            unseen = max(depth.queued + depth.processing - len(active), 0)
            if unseen and active:
                each = fmean(speeds[one.pipeline].seconds(one.bytes) for one in active)
                last += unseen * each / max(depth.slots, 1)
            self._pace = QueuePace(speeds, begins, last)
        return self._pace

    async def _measure_speed(self, conn: Connection, pipeline: str) -> None:
        until, _ = self._speeds.get(pipeline, (0.0, None))
        if time.monotonic() >= until:
            samples = await list_samples(conn, pipeline)
            speed = Speed(samples, await list_milestones(conn, pipeline))
            self._speeds[pipeline] = (time.monotonic() + FRESH_SECONDS, speed)

    async def seconds_left(self, job: Job) -> float | None:
        if job.status not in ACTIVE:
            return None
        return (await self.measure_pace(job.requested_pipeline)).seconds_left(job)
