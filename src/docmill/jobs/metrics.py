"""The jobs' metrics: each event counted by one process, and the queue as it is."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final, NamedTuple

from docmill.core.faults import FAULTS
from docmill.db.cursors import begin_cursor, take_new
from docmill.db.pool import Connection
from docmill.jobs import estimator
from docmill.services import breaker
from docmill.web.metrics import Metrics


class CountedEvent(NamedTuple):
    id: int
    settled: bool
    kind: str
    code: str | None
    seconds: float | None
    asked: list[dict[str, Any]] | None
    is_gateway: bool
    http_status: str | None


CURSOR: Final = "job_events"
LAST: Final = "SELECT coalesce(max(id), 0) FROM job_events"
SINCE: Final = """
SELECT id, at < now() - interval '1 minute', kind, meta->>'code',
       (meta->>'duration_ms')::float8 / 1000, meta->'asked', meta ? 'gateway', meta->>'http_status'
  FROM job_events
 WHERE id > %s
   AND (kind IN ('created', 'complete', 'failed', 'retry') OR meta ? 'asked' OR meta ? 'gateway')
 ORDER BY id
"""
# A gateway that was left alone was not called.
NOT_CALLED: Final = frozenset({breaker.RESTING, "SERVICE_GONE"})

OLDEST_RUNNING: Final = """
SELECT coalesce(extract(epoch FROM now() - min(started_at)), 0)::float8 FROM jobs
 WHERE status = 'processing'
"""


async def measure_oldest_running(conn: Connection) -> float:
    """For how many seconds the job that began first has run."""
    row = await (await conn.execute(OLDEST_RUNNING)).fetchone()
    return max(row[0], 0.0) if row else 0.0


# Who stopped as asked is no longer there; who has been gone for an hour is no news.
UNSEEN: Final = """
SELECT host || ':' || pid, max(extract(epoch FROM now() - seen_at))::float8 FROM workers
 WHERE seen_at > now() - interval '1 hour' GROUP BY 1
"""


async def measure_unseen(conn: Connection) -> dict[str, float]:
    """For how many seconds each worker has not told that it lives."""
    return dict(await (await conn.execute(UNSEEN)).fetchall())


class JobMetrics:
    """Counts every job's events once, and looks at the queue and the services it needs."""

    def __init__(self, metrics: Metrics) -> None:
        self._services = metrics.services
        self._received = metrics.counter("documents_received", "Documents that became jobs")
        self._processed = metrics.counter("documents_processed", "Jobs completed")
        self._failed = metrics.counter("documents_failed", "Jobs failed for good", "error_type")
        self._retries = metrics.counter(
            "job_retries", "Runs that failed and will be tried again", "error_type"
        )
        self._seconds = metrics.histogram(
            "document_processing_seconds", "How long completed jobs ran"
        )
        self._gateway = metrics.histogram(
            "gateway_seconds", "Answer times of gateways; status none: no answer came", "status"
        )
        self._pending = metrics.gauge("documents_pending", "Jobs that wait for a worker")
        self._processing = metrics.gauge("documents_processing", "Jobs that run now")
        self._queue_age = metrics.gauge("queue_age_seconds", "Age of the oldest ready job")
        self._oldest = metrics.gauge(
            "oldest_running_job_seconds", "How long the job has run that began first"
        )
        self._slots = metrics.gauge("worker_slots", "Jobs that all workers can run at once")
        self._unseen = metrics.gauge(
            "worker_unseen_seconds", "Since when a worker has not told that it lives", "worker"
        )
        self._breakers = metrics.gauge(
            "breaker_state", "Circuit of a service: 0 closed, 1 half open, 2 open", "service"
        )
        self._paused = metrics.gauge(
            "service_paused", "1 while an operator has a service paused", "service"
        )

        # Prometheus sees no rise in what begins to exist: what may come stands at 0.
        for fault in FAULTS.values():
            self._failed.labels(fault.code)
            if fault.retried:
                self._retries.labels(fault.code)

    async def begin(self, conn: Connection) -> None:
        await begin_cursor(conn, CURSOR, last=LAST)

    async def collect(self, conn: Connection) -> Callable[[], None]:
        depth = await estimator.measure_depth(conn)
        self._pending.set(depth.queued)
        self._processing.set(depth.processing)
        self._queue_age.set(depth.oldest_seconds)
        self._slots.set(depth.slots)
        self._oldest.set(await measure_oldest_running(conn))
        self._unseen.clear()
        for worker, seconds in (await measure_unseen(conn)).items():
            self._unseen.labels(worker).set(seconds)
        self._breakers.clear()
        self._paused.clear()
        for one in await breaker.read_states(conn):
            self._breakers.labels(one.service).set(one.level)
            self._paused.labels(one.service).set(one.paused_at is not None)
        taken = await take_new(conn, CURSOR, since=SINCE)
        return partial(self._count_all, [CountedEvent(*row) for row in taken])

    def _count_all(self, events: Sequence[CountedEvent]) -> None:
        for event in events:
            self._count(event)
            self._count_calls(event)

    def _count(self, event: CountedEvent) -> None:
        if event.kind == "created":
            self._received.inc()
        elif event.kind == "complete":
            self._processed.inc()
            self._seconds.observe(event.seconds or 0.0)
        elif event.kind == "failed":
            self._failed.labels(event.code or "UNKNOWN").inc()
        elif event.kind == "retry":
            self._retries.labels(event.code or "UNKNOWN").inc()

    def _count_calls(self, event: CountedEvent) -> None:
        for call in event.asked or ():
            if seconds := self._services.get(call["service"]):
                seconds.observe(call["ms"] / 1000)
        if event.is_gateway and event.code not in NOT_CALLED:
            self._gateway.labels(event.http_status or "none").observe(event.seconds or 0.0)
