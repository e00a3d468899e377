"""What Prometheus reads: this process's own requests, and what rooms count in the database.

Events of the whole system are counted from the start of this process on, by every web process: take
max() over the instances, not sum().
"""

from typing import Final, Protocol

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from docmill.core.faults import DocmillError
from docmill.db.pool import Connection

FAST: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, 30, 60)
SLOW: Final = (0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800)


class RoomMetrics(Protocol):
    """The metrics of one room, which it brings up to date from the database."""

    async def begin(self, conn: Connection) -> None:
        """Count from now on."""
        ...

    async def collect(self, conn: Connection) -> None: ...


class Metrics:
    """All metrics of one application, in a registry of its own. Rooms add theirs to `rooms`."""

    def __init__(self) -> None:
        self.registry: CollectorRegistry = CollectorRegistry()
        self.rooms: list[RoomMetrics] = []
        # Answer times of services, by the name under which jobs ask them.
        self.services: dict[str, Histogram] = {}
        self.requests: Histogram = self.histogram(
            "http_request_seconds", "Answer times of this process",
            "method", "route", "status", buckets=FAST,
        )  # fmt: skip
        self.uploads: Counter = self.counter(
            "uploads", "Files sent to this process, by outcome or fault", "outcome"
        )
        self.cache_lookups: Counter = self.counter(
            "cache_lookups", "Answers looked for in the cache; outage: of the database",
            "kind", "outcome",
        )  # fmt: skip
        self.damaged: Counter = self.counter(
            "damaged_objects", "Times a stored object was not sent because it is damaged"
        )
        self.database_up: Gauge = self.gauge("database_up", "1 while the database answers")
        self.fullness: Gauge = self.gauge("storage_used_ratio", "How full the store is, 0 to 1")
        self.paused: Gauge = self.gauge("uploads_paused", "1 while the disk is too full to upload")
        self._begun: bool = False

    def counter(self, name: str, says: str, *labels: str) -> Counter:
        return Counter(name, says, labels, registry=self.registry)

    def gauge(self, name: str, says: str, *labels: str) -> Gauge:
        return Gauge(name, says, labels, registry=self.registry)

    def histogram(
        self, name: str, says: str, *labels: str, buckets: tuple[float, ...] = SLOW
    ) -> Histogram:
        return Histogram(name, says, labels, buckets=buckets, registry=self.registry)

    def count_damage(self, exc: DocmillError) -> None:
        """Of anything that was to be sent and could not be."""
        if exc.fault.code == "DAMAGED":
            self.damaged.inc()

    async def begin(self, conn: Connection) -> None:
        for room in self.rooms:
            await room.begin(conn)
        self._begun = True

    async def collect(self, conn: Connection) -> None:
        if not self._begun:
            await self.begin(conn)
        for room in self.rooms:
            await room.collect(conn)

    def text(self) -> bytes:
        return generate_latest(self.registry)
