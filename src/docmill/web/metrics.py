"""What Prometheus reads: this process's own requests, and the whole queue as the database has it.

Events of the whole system are counted from the start of this process on, by every web process: take
max() over the instances, not sum().
"""

from collections.abc import Iterable
from datetime import datetime
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from docmill.db import breakers, stats, tallies, trades
from docmill.db.pool import Connection
from docmill.db.tallies import Happening

FAST: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, 30, 60)
PARSER: Final = "parse_trades"
SLOW: Final = (0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800)


class Meters:
    """All meters of one application, in a registry of its own."""

    def __init__(self) -> None:
        self.registry: CollectorRegistry = CollectorRegistry()
        self.requests: Histogram = Histogram(
            "http_request_seconds", "Answer times of this process",
            ("method", "route", "status"), buckets=FAST, registry=self.registry,
        )  # fmt: skip
        self.uploads: Counter = self._counter(
            "uploads", "Files sent to this process, by outcome or fault", "outcome"
        )
        self.received: Counter = self._counter("documents_received", "Documents that became jobs")
        self.processed: Counter = self._counter("documents_processed", "Jobs completed")
        self.failed: Counter = self._counter(
            "documents_failed", "Jobs failed for good", "error_type"
        )
        self.seconds: Histogram = Histogram(
            "document_processing_seconds", "How long completed jobs ran",
            buckets=SLOW, registry=self.registry,
        )  # fmt: skip
        self.parser: Histogram = Histogram(
            "ai_parser_seconds", "Answer times of the external parser of trades",
            buckets=SLOW, registry=self.registry,
        )  # fmt: skip
        self.pending: Gauge = self._gauge("documents_pending", "Jobs that wait for a worker")
        self.processing: Gauge = self._gauge("documents_processing", "Jobs that run now")
        self.queue_age: Gauge = self._gauge("queue_age_seconds", "Age of the oldest ready job")
        self.slots: Gauge = self._gauge("worker_slots", "Jobs that all workers can run at once")
        self.breakers: Gauge = self._gauge(
            "breaker_state", "Circuit of a service: 0 closed, 1 half open, 2 open", "service"
        )
        self.database_up: Gauge = self._gauge("database_up", "1 while the database answers")
        self.fullness: Gauge = self._gauge("storage_used_ratio", "How full the store is, 0 to 1")
        self.paused: Gauge = self._gauge("uploads_paused", "1 while the disk is too full to upload")
        self.trades: Counter = self._counter("trades_extracted", "Trades read from documents")
        self._watch: tallies.Watch | None = None
        self._traded: tuple[datetime, int] | None = None

    def _counter(self, name: str, says: str, *labels: str) -> Counter:
        return Counter(name, says, labels, registry=self.registry)

    def _gauge(self, name: str, says: str, *labels: str) -> Gauge:
        return Gauge(name, says, labels, registry=self.registry)

    async def begin(self, conn: Connection) -> None:
        """Count from now on."""
        self._watch = await tallies.begin(conn)
        self._traded = await trades.clock(conn), 0

    async def catch_up(self, conn: Connection) -> None:
        if self._watch is None:
            await self.begin(conn)
        assert self._watch is not None
        self._count(await tallies.since(conn, self._watch))
        if self._traded is not None:
            since, known = self._traded
            now = await trades.extracted(conn, since)
            self.trades.inc(max(0, now - known))
            self._traded = since, max(known, now)
        depth = await stats.depth(conn)
        self.pending.set(depth.queued)
        self.processing.set(depth.processing)
        self.queue_age.set(depth.oldest_seconds)
        self.slots.set(depth.slots)
        self.breakers.clear()
        for one in await breakers.shown(conn):
            self.breakers.labels(one.service).set(one.level)

    def _count(self, happenings: Iterable[Happening]) -> None:
        for happening in happenings:
            if happening.kind == "created":
                self.received.inc()
            elif happening.kind == "complete":
                self.processed.inc()
                self.seconds.observe(happening.seconds or 0.0)
            elif happening.kind == "failed":
                self.failed.labels(happening.code or "UNKNOWN").inc()
            for call in happening.asked or ():
                if call["service"] == PARSER:
                    self.parser.observe(call["ms"] / 1000)

    def text(self) -> bytes:
        return generate_latest(self.registry)
