"""How long a job will take: reads what ran, what runs and what waits, and asks `pace`."""

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

from psycopg.rows import class_row, dict_row

from docmill.core.faults import DocmillError
from docmill.core.jobs import ACTIVE, Job, JobId, Status
from docmill.db import wall
from docmill.db.pool import Connection, Pool, read_connection
from docmill.jobs.pace import DocumentSize, History, PastRun, QueueAhead, RunState

# What was asked to be `auto` ends as another pipeline; it took as long as others that were. One
# that was begun several times says nothing about how long its like take.
PAST_RUNS: Final = """
SELECT last.bytes, last.pages, last.scans, last.seconds, told.progress, told.told_after
  FROM (SELECT DISTINCT unnest(pipelines) AS name FROM workers
        UNION SELECT %(pipeline)s) AS served
 CROSS JOIN LATERAL (
       SELECT j.id, j.started_at, j.completed_at, d.bytes,
              coalesce(d.pages, d.guessed_pages) AS pages, coalesce(d.guessed_scans, 0) AS scans,
              extract(epoch FROM j.completed_at - j.started_at)::float8 AS seconds
         FROM jobs j JOIN documents d ON d.id = j.document_id
        WHERE j.status = 'complete' AND j.pipeline = served.name AND j.attempt_count = 1
          AND coalesce(j.requested_pipeline, j.pipeline) = %(pipeline)s
          AND j.completed_at > j.started_at
        ORDER BY j.completed_at DESC LIMIT %(count)s) AS last
 CROSS JOIN LATERAL (
       SELECT array_agg((e.meta ->> 'progress')::int ORDER BY e.id) AS progress,
              array_agg(extract(epoch FROM e.at - last.started_at)::float8 ORDER BY e.id)
                  AS told_after
         FROM job_events e
        WHERE e.job_id = last.id AND e.kind = 'progress'
          AND e.at > last.started_at AND e.at < last.completed_at) AS told
 ORDER BY last.completed_at DESC LIMIT %(count)s
"""
# Enough of each sort; more would be of a time when the machine was another.
LEARNED_FROM: Final = 200


async def list_past_runs(conn: Connection, pipeline: str) -> list[PastRun]:
    """The last runs that were asked for as this pipeline, newest first."""
    args = {"pipeline": pipeline, "count": LEARNED_FROM}
    async with conn.cursor(row_factory=dict_row) as cur:
        return [_build_run(row) for row in await (await cur.execute(PAST_RUNS, args)).fetchall()]


def _build_run(row: Mapping[str, Any]) -> PastRun:
    size = DocumentSize(row["bytes"], row["pages"], row["scans"])
    return PastRun(size, row["seconds"], row["progress"] or (), row["told_after"] or ())


@dataclass(frozen=True, slots=True)
class ActiveJob:
    """A job that waits or runs, in the order in which workers take them."""

    id: JobId
    pipeline: str
    bytes: int
    pages: int | None
    scans: int
    progress: int
    elapsed: float | None
    told_after: float | None

    @property
    def size(self) -> DocumentSize:
        return DocumentSize(self.bytes, self.pages, self.scans)

    @property
    def state(self) -> RunState:
        return RunState(self.elapsed or 0.0, self.progress, self.told_after or 0.0)


LOOKED_AT: Final = 500
ACTIVE_JOBS: Final = """
SELECT j.id, coalesce(j.requested_pipeline, j.pipeline) AS pipeline, d.bytes,
       coalesce(d.pages, d.guessed_pages) AS pages, coalesce(d.guessed_scans, 0) AS scans,
       j.progress,
       CASE WHEN j.status = 'processing'
            THEN greatest(extract(epoch FROM now() - j.started_at), 0)::float8 END AS elapsed,
       CASE WHEN j.status = 'processing'
            THEN greatest(extract(epoch FROM j.updated_at - j.started_at), 0)::float8 END
           AS told_after
  FROM jobs j JOIN documents d ON d.id = j.document_id
 WHERE j.status = 'processing' OR (j.status = 'queued' AND j.run_at IS NULL)
 ORDER BY j.status = 'processing' DESC, j.priority DESC, j.start_tag LIMIT %s
"""


async def list_active(conn: Connection) -> list[ActiveJob]:
    async with conn.cursor(row_factory=class_row(ActiveJob)) as cur:
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
# The queue changes with every upload; those that came by another process are seen after this.
QUEUE_SECONDS: Final = 1.0
# A job that is new here was perhaps put before others.
NEW_JOB_SECONDS: Final = 0.5
# A long queue takes long to look at: no more than this share of the time, but every few seconds.
LOOKING_SHARE: Final = 0.02
LONGEST_REST: Final = 5.0


NOTHING_RAN: Final = History()


@dataclass(frozen=True, slots=True)
class QueuePace:
    """How fast jobs go, and when each of those that wait begins, as of a moment ago.

    `at` is that moment on the monotonic clock; `whole` is false when the queue is too long for a
    look at all of it.
    """

    histories: Mapping[str, History] = field(default_factory=dict[str, History])
    line: QueueAhead = field(default_factory=QueueAhead)
    at: float = -QUEUE_SECONDS
    whole: bool = True

    def seconds_left(self, job: Job) -> float | None:
        """None for a job that has ended."""
        if job.status not in ACTIVE:
            return None
        now, history = datetime.now(UTC), self.histories.get(job.requested_pipeline, NOTHING_RAN)
        size = DocumentSize(job.bytes, job.pages, job.scans)
        if job.status is Status.PROCESSING and job.started_at:
            elapsed = max((now - job.started_at).total_seconds(), 0.0)
            told_after = max((job.updated_at - job.started_at).total_seconds(), 0.0)
            return history.estimate_left(size, RunState(elapsed, job.progress, told_after))
        begins = self.line.begin_of(job.id, history.average_left(size))
        waiting = begins - (time.monotonic() - self.at)
        if job.run_at:
            waiting = (job.run_at - now).total_seconds()
        return max(waiting, 0.0) + history.estimate_left(size)

    def is_fresh_for(self, job: Job) -> bool:
        is_new = job.status is Status.QUEUED and not job.run_at and job.id not in self.line
        limit = NEW_JOB_SECONDS if is_new and self.whole else QUEUE_SECONDS
        return time.monotonic() < self.at + limit


def build_line(
    active: Sequence[ActiveJob], histories: Mapping[str, History], slots: int
) -> QueueAhead:
    """Those that run end as estimated; each slot then takes the next."""
    takes = {one.id: histories[one.pipeline].average_left(one.size, one.state) for one in active}
    line = QueueAhead([takes[one.id] for one in active if one.elapsed is not None], slots=slots)
    for one in active:
        if one.elapsed is None:
            line.begin_of(one.id, takes[one.id])
    return line


class Estimator:
    """Looks at the queue every second, at each pipeline's last runs less often.

    An estimate never fails a request.
    """

    def __init__(self, pool: Pool) -> None:
        self._pool: Pool = pool
        self._histories: dict[str, tuple[float, History]] = {}
        self._pace: QueuePace = QueuePace()
        self._ask_again_at: float = 0.0

    async def seconds_left(self, job: Job) -> float | None:
        if job.status not in ACTIVE:
            return None
        if self._must_ask(job):
            # Said before asking, so that a hundred requests at once ask once.
            began_at = time.monotonic()
            self._ask_again_at = began_at + NEW_JOB_SECONDS
            with suppress(DocmillError), wall.beyond():
                self._pace = await self._measure_pace(job.requested_pipeline)
            rest = min((time.monotonic() - began_at) / LOOKING_SHARE, LONGEST_REST)
            self._ask_again_at = max(self._ask_again_at, time.monotonic() + rest)
        return self._pace.seconds_left(job)

    def _must_ask(self, job: Job) -> bool:
        if job.requested_pipeline not in self._pace.histories:
            return True
        return time.monotonic() >= self._ask_again_at and not self._pace.is_fresh_for(job)

    async def _measure_pace(self, pipeline: str) -> QueuePace:
        async with read_connection(self._pool) as conn:
            active = await list_active(conn)
            for name in {pipeline, *(one.pipeline for one in active)}:
                await self._learn(conn, name)
            depth = await measure_depth(conn)
        histories = {name: history for name, (_, history) in self._histories.items()}
        line = build_line(active, histories, depth.slots)
        line.add_unseen(max(depth.queued + depth.processing - len(active), 0))
        return QueuePace(histories, line, time.monotonic(), whole=len(active) < LOOKED_AT)

    async def _learn(self, conn: Connection, pipeline: str) -> None:
        until, _ = self._histories.get(pipeline, (0.0, None))
        if time.monotonic() >= until:
            history = History(await list_past_runs(conn, pipeline))
            self._histories[pipeline] = (time.monotonic() + FRESH_SECONDS, history)
