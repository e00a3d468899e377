"""Counting what happens to jobs, for metrics: each event once, while others still commit."""

from dataclasses import dataclass, field
from typing import Any, Final

from psycopg.rows import class_row

from docmill.db.pool import Connection
from docmill.jobs import estimator
from docmill.services import breaker
from docmill.web.metrics import Metrics


@dataclass(frozen=True, slots=True)
class CountedEvent:
    id: int
    kind: str
    code: str | None
    seconds: float | None
    asked: list[dict[str, Any]] | None
    settled: bool


@dataclass(slots=True)
class EventWatch:
    """How far one observer has counted; `seen` are the ids above `floor` counted already."""

    floor: int
    seen: set[int] = field(default_factory=set[int])


BEGIN: Final = "SELECT coalesce(max(id), 0) FROM job_events"


async def begin_watch(conn: Connection) -> EventWatch:
    row = await (await conn.execute(BEGIN)).fetchone()
    return EventWatch(row[0] if row else 0)


# Ids are given before the commit, so a lower one may appear later than a higher one: the last
# minute is read again.
SINCE: Final = """
SELECT id, kind, meta->>'code' AS code, (meta->>'duration_ms')::float8 / 1000 AS seconds,
       meta->'asked' AS asked, at < now() - interval '1 minute' AS settled
  FROM job_events
 WHERE id > %s AND (kind IN ('created', 'complete', 'failed') OR meta ? 'asked') ORDER BY id
"""


async def list_new_events(conn: Connection, watch: EventWatch) -> list[CountedEvent]:
    """What this observer has not counted yet."""
    async with conn.cursor(row_factory=class_row(CountedEvent)) as cur:
        rows = await (await cur.execute(SINCE, (watch.floor,))).fetchall()
    new = [row for row in rows if row.id not in watch.seen]
    watch.floor = max((row.id for row in rows if row.settled), default=watch.floor)
    watch.seen = {row.id for row in rows if row.id > watch.floor}
    return new


class JobMetrics:
    """Counts every job's events once, and looks at the queue and the services it needs."""

    def __init__(self, metrics: Metrics) -> None:
        self._services = metrics.services
        self._received = metrics.counter("documents_received", "Documents that became jobs")
        self._processed = metrics.counter("documents_processed", "Jobs completed")
        self._failed = metrics.counter("documents_failed", "Jobs failed for good", "error_type")
        self._seconds = metrics.histogram(
            "document_processing_seconds", "How long completed jobs ran"
        )
        self._pending = metrics.gauge("documents_pending", "Jobs that wait for a worker")
        self._processing = metrics.gauge("documents_processing", "Jobs that run now")
        self._queue_age = metrics.gauge("queue_age_seconds", "Age of the oldest ready job")
        self._slots = metrics.gauge("worker_slots", "Jobs that all workers can run at once")
        self._breakers = metrics.gauge(
            "breaker_state", "Circuit of a service: 0 closed, 1 half open, 2 open", "service"
        )
        self._watch: EventWatch = EventWatch(0)

    async def begin(self, conn: Connection) -> None:
        self._watch = await begin_watch(conn)

    async def collect(self, conn: Connection) -> None:
        for event in await list_new_events(conn, self._watch):
            self._count(event)
        depth = await estimator.measure_depth(conn)
        self._pending.set(depth.queued)
        self._processing.set(depth.processing)
        self._queue_age.set(depth.oldest_seconds)
        self._slots.set(depth.slots)
        self._breakers.clear()
        for one in await breaker.read_states(conn):
            self._breakers.labels(one.service).set(one.level)

    def _count(self, event: CountedEvent) -> None:
        if event.kind == "created":
            self._received.inc()
        elif event.kind == "complete":
            self._processed.inc()
            self._seconds.observe(event.seconds or 0.0)
        elif event.kind == "failed":
            self._failed.labels(event.code or "UNKNOWN").inc()
        for call in event.asked or ():
            if seconds := self._services.get(call["service"]):
                seconds.observe(call["ms"] / 1000)
