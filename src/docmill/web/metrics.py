"""What Prometheus reads: this process's own requests, and what rooms count in the database.

Each event of the whole system is counted by one process alone: sum() over them is right. Gauges
that tell of the whole system are the same in all of them: take max().
"""

import time
from bisect import bisect_left
from collections import Counter as CountByName
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any, Final, Protocol

import structlog
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Metric, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily

from docmill.core.faults import DocmillError
from docmill.core.meters import Meter
from docmill.core.parts import OK, Parts
from docmill.db.pool import Connection

log = structlog.get_logger()

TOO_MANY: Final = 429
OWNER_KINDS: Final = ("session", "user", "key", "desk", "local")
FAST: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, 30, 60)
# The same and what is slower, as Prometheus names its buckets.
FAST_NAMES: Final = (*(str(float(bound)) for bound in FAST), "+Inf")
SLOW: Final = (0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800)


class RoomMetrics(Protocol):
    """The metrics of one room, which it brings up to date from the database."""

    async def begin(self, conn: Connection) -> None:
        """Count from now on."""
        ...

    async def collect(self, conn: Connection) -> Callable[[], None]:
        """Look; what is returned counts what was taken, and is called after the commit."""
        ...


# Of one owner in one minute: more is somebody's program that runs wild.
BUSY: Final = 1000
MINUTE: Final = 60


class OwnerPace:
    """How many requests the busiest owner of this process sends a minute, without telling who."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock: Callable[[], float] = clock
        self._minute: int = 0
        self._last: int = 0
        self._counts: CountByName[str] = CountByName()

    def note(self, owner: str) -> None:
        """The log tells once a minute who it is that sends too many."""
        self._turn()
        self._counts[owner] += 1
        if self._counts[owner] == BUSY + 1:
            log.warning("owner.busy", owner=owner, requests=BUSY)

    def measure(self) -> int:
        """In the last minute or in this one, whichever is more."""
        self._turn()
        return max(self._last, *self._counts.values(), 0)

    def _turn(self) -> None:
        minute = int(self._clock() // MINUTE)
        if minute != self._minute:
            is_next = minute == self._minute + 1
            self._last = max(self._counts.values(), default=0) if is_next else 0
            self._minute = minute
            self._counts.clear()


class ProcessCollector:
    """What a process measures of itself, and which of its parts run."""

    def __init__(self, parts: Parts, meters: Iterable[Meter]) -> None:
        self._parts: Parts = parts
        self._meters: Iterable[Meter] = meters

    def collect(self) -> Iterator[Metric]:
        running = GaugeMetricFamily(
            "part_up", "1 while this part of the process runs", labels=["part"]
        )
        for name, state in self._parts.states.items():
            running.add_metric([name], state == OK)
        yield running
        for meter in self._meters:
            family = CounterMetricFamily if meter.counts else GaugeMetricFamily
            measured = family(meter.name, meter.says, labels=meter.labels)
            for labels, value in meter.read().items():
                measured.add_metric(labels, value)
            yield measured


@dataclass(slots=True)
class LoopCount:
    """One number of a `TallyCounter`, counted by the event loop."""

    count: int = 0
    created: float = field(default_factory=time.time)

    def inc(self) -> None:
        self.count += 1


class TallyCounter:
    """A counter that the event loop alone counts, so that it needs no lock."""

    def __init__(self, name: str, says: str, labels: Sequence[str]) -> None:
        self._name: str = name
        self._says: str = says
        self._labels: Sequence[str] = labels
        self._tallies: dict[tuple[str, ...], LoopCount] = {}

    def labels(self, *values: str) -> LoopCount:
        return self._tallies.setdefault(values, LoopCount())

    def collect(self) -> Iterator[Metric]:
        family = CounterMetricFamily(self._name, self._says, labels=self._labels)
        for values, tally in self._tallies.items():
            family.add_metric(values, tally.count, tally.created)
        yield family


@dataclass(slots=True)
class TimeTally:
    """How many answers took as long as each of FAST, or longer than all; and the seconds of all."""

    counts: list[int] = field(default_factory=lambda: [0] * len(FAST_NAMES))
    seconds: float = 0.0
    created: float = field(default_factory=time.time)


class AnswerTimes:
    """A histogram of the same kind: answers by method, route and status."""

    def __init__(self, name: str, says: str) -> None:
        self._name: str = name
        self._says: str = says
        self._tallies: dict[tuple[str, str, int], TimeTally] = {}

    def note(self, answered: tuple[str, str, int], seconds: float) -> None:
        tally = self._tallies.get(answered)
        if tally is None:
            tally = self._tallies[answered] = TimeTally()
        tally.counts[bisect_left(FAST, seconds)] += 1
        tally.seconds += seconds

    def collect(self) -> Iterator[Metric]:
        names = ("method", "route", "status")
        family = HistogramMetricFamily(self._name, self._says, labels=names)
        for (method, route, status), tally in self._tallies.items():
            labels: dict[str, str] = {"method": method, "route": route, "status": str(status)}
            buckets = [*zip(FAST_NAMES, accumulate(tally.counts), strict=True)]
            family.add_metric([*labels.values()], buckets, tally.seconds)
            family.add_sample(f"{self._name}_created", labels, tally.created)
        yield family


class Metrics:
    """All metrics of one application, in a registry of its own. Rooms add theirs to `rooms`."""

    def __init__(self, own: ProcessCollector) -> None:
        """`own` is what the process measures of itself, whatever it does besides answering."""
        self.registry: CollectorRegistry = CollectorRegistry()
        self.registry.register(own)
        self.rooms: list[RoomMetrics] = []
        # Answer times of services, by the name under which jobs ask them.
        self.services: dict[str, Histogram] = {}
        self.requests: AnswerTimes = AnswerTimes(
            "http_request_seconds", "Answer times of this process"
        )
        self.registry.register(self.requests)
        self.uploads: Counter = self.counter(
            "uploads", "Files sent to this process, by outcome or fault", "outcome"
        )
        self.cache_lookups: TallyCounter = self._tally(
            "cache_lookups", "Answers looked for in the cache; outage: of the database",
            "kind", "outcome",
        )  # fmt: skip
        self.damaged: Counter = self.counter(
            "damaged_objects", "Times a stored object was not sent because it is damaged"
        )
        self.database_up: Gauge = self.gauge("database_up", "1 while the database answers")
        self.fullness: Gauge = self.gauge("storage_used_ratio", "How full the store is, 0 to 1")
        self.paused: Gauge = self.gauge("uploads_paused", "1 while the disk is too full to upload")
        self.pressed: Gauge = self.gauge("retention_pressed", "1 while shorter periods hold")
        # Made at once: Prometheus sees no rise in what begins to exist.
        self._by_kind: dict[str, LoopCount] = self._count_kinds(
            "owner_requests", "Requests by who sends them: session, user, key, desk, local"
        )
        self._limited_by_kind: dict[str, LoopCount] = self._count_kinds(
            "rate_limited_requests", "Requests refused with 429, by who sends them"
        )
        self.pace: OwnerPace = OwnerPace()
        self.busiest: Gauge = self.gauge(
            "busiest_owner_requests", "Requests of one owner in a minute, of who sends most"
        )
        self.busiest.set_function(self.pace.measure)
        self._begun: bool = False

    def note_request(self, facts: dict[str, Any], *, status: int, seconds: float) -> None:
        """Of a request that was answered; `facts` as they are logged."""
        self.requests.note((facts["method"], facts["route"], status), seconds)
        if owner := facts["owner"]:
            kind = "key" if facts["key"] else str(owner).partition(":")[0]
            self._by_kind[kind].inc()
            self.pace.note(owner)
            if status == TOO_MANY:
                self._limited_by_kind[kind].inc()

    def _count_kinds(self, name: str, says: str) -> dict[str, LoopCount]:
        counter = self._tally(name, says, "kind")
        return {kind: counter.labels(kind) for kind in OWNER_KINDS}

    def _tally(self, name: str, says: str, *labels: str) -> TallyCounter:
        counter = TallyCounter(name, says, labels)
        self.registry.register(counter)
        return counter

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

    async def collect(self, conn: Connection) -> list[Callable[[], None]]:
        """To be called when the transaction has ended well: then the taken events are ours."""
        if not self._begun:
            await self.begin(conn)
        return [await room.collect(conn) for room in self.rooms]

    def text(self) -> bytes:
        return generate_latest(self.registry)
