"""A circuit breaker: leaves a service alone while most calls to it fail. Clocks are passed in."""

import asyncio
import time
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final, TypeVar

import psycopg
import structlog
from psycopg.rows import class_row

from docmill.core.faults import DocmillError
from docmill.core.meters import Meter
from docmill.db.pool import Connection, Outage, Pool


class CircuitState(StrEnum):
    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half_open"


@dataclass(frozen=True, slots=True)
class BreakerConfig:
    """When to open, and how long to stay so before one call may try again."""

    window: timedelta = timedelta(minutes=5)
    share: float = 0.5
    fewest: int = 10
    cool_down: timedelta = timedelta(seconds=30)


@dataclass(frozen=True, slots=True)
class Call:
    """A call let through. `era` says since which opening or closing, for calls that come late."""

    era: int
    is_probe: bool = False


class Breaker:
    """One per external service and process. Instants are seconds of any clock that only grows."""

    def __init__(self, rules: BreakerConfig | None = None) -> None:
        self._rules: BreakerConfig = rules or BreakerConfig()
        self._ended: deque[tuple[float, bool]] = deque()
        self._failures: int = 0
        self._opened_at: float | None = None
        self._failing_from: float | None = None
        self._probing: bool = False
        self._era: int = 0

    def state(self, now: float) -> CircuitState:
        if self._opened_at is None:
            return CircuitState.CLOSED
        cooled_at = self._opened_at + self._rules.cool_down.total_seconds()
        return CircuitState.HALF_OPEN if now >= cooled_at else CircuitState.OPEN

    def admits(self, now: float) -> bool:
        """Whether `begin` would let a call through now."""
        state = self.state(now)
        return state is CircuitState.CLOSED or (
            state is CircuitState.HALF_OPEN and not self._probing
        )

    def failing(self, now: float) -> float:
        """Seconds since it first opened without having closed again; 0 while it is closed."""
        return 0.0 if self._failing_from is None else now - self._failing_from

    def rest(self, now: float) -> float:
        """Seconds until a call may be tried again, as far as that is known."""
        if self._opened_at is None:
            return 0.0
        return max(0.0, self._opened_at + self._rules.cool_down.total_seconds() - now)

    def begin(self, now: float) -> Call | None:
        """None: refused. Each call given out must come back to one of the three below."""
        if not self.admits(now):
            return None
        self._probing = self._opened_at is not None
        return Call(self._era, is_probe=self._probing)

    def record_success(self, call: Call, now: float) -> None:
        if call.era != self._era:
            return
        if call.is_probe:
            self._turn(None)
        else:
            self._count(now, failed=False)

    def record_failure(self, call: Call, now: float) -> None:
        if call.era != self._era:
            return
        if call.is_probe:
            self._turn(now)
            return
        self._count(now, failed=True)
        calls = len(self._ended)
        if calls >= self._rules.fewest and self._failures >= self._rules.share * calls:
            self._turn(now)

    def reset(self) -> None:
        """Closed, whatever was before: somebody says that the service is well."""
        self._turn(None)

    def abandon(self, call: Call) -> None:
        """It ended without telling anything about the service, say by a shutdown."""
        if call.era == self._era and call.is_probe:
            self._probing = False

    def _count(self, now: float, *, failed: bool) -> None:
        self._ended.append((now, failed))
        self._failures += failed
        oldest = now - self._rules.window.total_seconds()
        while self._ended[0][0] <= oldest:
            self._failures -= self._ended.popleft()[1]

    def _turn(self, opened_at: float | None) -> None:
        """Open or close; what was counted before, and calls still under way, no longer count."""
        self._opened_at, self._probing = opened_at, False
        if opened_at is None or self._failing_from is None:
            self._failing_from = opened_at
        self._ended.clear()
        self._failures = 0
        self._era += 1


log = structlog.get_logger()

Clock = Callable[[], float]
T = TypeVar("T")

# The fault of a call that was not made; its job has lost nothing.
RESTING: Final = "SERVICE_RESTING"
PATIENCE: Final = timedelta(minutes=30)
# A service may ask for a pause, but not for the rest of the day.
LONGEST_PAUSE: Final = timedelta(hours=1)
# While an operator has paused a service, its jobs look again so seldom.
PAUSED_SECONDS: Final = 30.0
# Nobody comes back sooner than so, however short the pause.
SHORTEST_PAUSE: Final = timedelta(seconds=1)


class ServiceGuard:
    """Faults that may pass count against the service, refusals do not."""

    def __init__(
        self,
        name: str,
        breaker: Breaker | None = None,
        *,
        patience: timedelta = PATIENCE,
        clock: Clock = time.monotonic,
    ) -> None:
        self.name: str = name
        self._breaker: Breaker = breaker or Breaker()
        self._patience: timedelta = patience
        self._clock: Clock = clock
        self._paused_until: float = clock()
        self._said: CircuitState = CircuitState.CLOSED
        self.turns: Counter[CircuitState] = Counter()
        self._is_held: bool = False

    def hold(self, *, held: bool) -> None:
        """An operator paused the service, or resumes it: then with a closed circuit."""
        if self._is_held and not held:
            self._breaker.reset()
        if self._is_held != held:
            log.warning("service.paused" if held else "service.resumed", service=self.name)
        self._is_held = held

    @property
    def state(self) -> CircuitState:
        return self._breaker.state(self._clock())

    @property
    def admits(self) -> bool:
        self._say()
        now = self._clock()
        return not self._is_held and now >= self._paused_until and self._breaker.admits(now)

    @property
    def failing(self) -> timedelta:
        """Since when the circuit has not been closed; nothing while it is."""
        return timedelta(seconds=self._breaker.failing(self._clock()))

    async def through(self, call: Callable[[], Awaitable[T]]) -> T:
        """What the call gives, or SERVICE_RESTING, SERVICE_GONE when it was not even made."""
        began = self._breaker.begin(self._clock()) if self.admits else None
        if began is None:
            raise self._refusal()
        try:
            answer = await call()
        except DocmillError as exc:
            self._pause(exc)
            passing = exc.fault.retried
            record = self._breaker.record_failure if passing else self._breaker.record_success
            record(began, self._clock())
            self._say()
            raise
        except BaseException:
            self._breaker.abandon(began)
            raise
        self._breaker.record_success(began, self._clock())
        self._say()
        return answer

    def _refusal(self) -> DocmillError:
        if self._is_held:
            return DocmillError(RESTING, f"{self.name} is paused", retryAfter=PAUSED_SECONDS)
        if self.failing > self._patience:
            minutes = self.failing.total_seconds() / 60
            return DocmillError(
                "SERVICE_GONE", f"{self.name} has been failing for {minutes:.0f} min"
            )
        now = self._clock()
        rest = max(self._paused_until - now, self._breaker.rest(now))
        seconds = max(rest, SHORTEST_PAUSE.total_seconds())
        return DocmillError(RESTING, f"{self.name} is left alone", retryAfter=seconds)

    def _pause(self, fault: DocmillError) -> None:
        """A pause the service asked for is kept by every run of this worker."""
        if (seconds := read_pause(fault)) is not None:
            self._paused_until = self._clock() + seconds.total_seconds()

    def _say(self) -> None:
        """Log a state that was not told yet."""
        state = self.state
        if state is not self._said:
            log.warning("breaker.turned", service=self.name, was=self._said, now=state)
            self.turns[state] += 1
            self._said = state


def count_turns(guards: Sequence[ServiceGuard]) -> Meter:
    """How often each circuit of this process opened, half opened and closed."""

    def read() -> dict[tuple[str, ...], float]:
        return {(one.name, str(to)): one.turns[to] for one in guards for to in CircuitState}

    says = "Times the circuit of a service turned in this worker, by the state it came to"
    return Meter("breaker_turns", says, read, ("service", "to"), counts=True)


def read_pause(fault: DocmillError) -> timedelta | None:
    """How long the one who faulted wants to be left alone, within reason."""
    seconds = fault.facts.get("retryAfter")
    if not isinstance(seconds, int | float):
        return None
    return min(max(timedelta(), timedelta(seconds=seconds)), LONGEST_PAUSE)


@dataclass(frozen=True, slots=True)
class BreakerReport:
    service: str
    state: CircuitState
    failing: timedelta


# Without the worker's own row there is nobody to speak for.
SAVE_STATES: Final = """
INSERT INTO breakers (worker, service, state, failing_from)
SELECT workers.id, b.service, b.state,
       CASE WHEN b.state <> 'closed' THEN now() - b.failing END
  FROM workers, unnest(%(services)s::text[], %(states)s::text[], %(failing)s::interval[])
                AS b(service, state, failing)
 WHERE workers.id = %(worker)s
ON CONFLICT (worker, service)
   DO UPDATE SET state = excluded.state, failing_from = excluded.failing_from
"""


async def save_states(conn: Connection, worker: str, breakers: Sequence[BreakerReport]) -> bool:
    """False while the worker itself is not known yet."""
    args = {
        "worker": worker,
        "services": [one.service for one in breakers],
        "states": [str(one.state) for one in breakers],
        "failing": [one.failing for one in breakers],
    }
    return (await conn.execute(SAVE_STATES, args)).rowcount > 0


@dataclass(frozen=True, slots=True)
class ServiceState:
    """A service as its worst-off living worker sees it: 0 closed, 1 half open, 2 open.

    `paused_at` is since when an operator has it paused, with who did and why.
    """

    service: str
    level: int
    failing_from: datetime | None
    paused_at: datetime | None = None
    paused_by: str | None = None
    pause_reason: str | None = None


READ_STATES: Final = """
WITH seen AS (
    SELECT b.service,
           max(CASE b.state WHEN 'open' THEN 2 WHEN 'half_open' THEN 1 ELSE 0 END) AS level,
           min(b.failing_from) AS failing_from
      FROM breakers b JOIN workers w ON w.id = b.worker
     WHERE w.seen_at > now() - interval '2 minutes'
     GROUP BY b.service)
SELECT coalesce(seen.service, p.service) AS service, coalesce(seen.level, 0) AS level,
       seen.failing_from, p.paused_at, p.paused_by, p.reason AS pause_reason
  FROM seen FULL JOIN service_pauses p ON p.service = seen.service ORDER BY 1
"""


async def read_states(conn: Connection) -> list[ServiceState]:
    async with conn.cursor(row_factory=class_row(ServiceState)) as cur:
        return await (await cur.execute(READ_STATES)).fetchall()


PAUSE: Final = """
INSERT INTO service_pauses (service, paused_by, reason) VALUES (%(service)s, %(by)s, %(reason)s)
    ON CONFLICT (service) DO UPDATE SET paused_by = excluded.paused_by, reason = excluded.reason
"""


async def pause_service(conn: Connection, service: str, *, by: str, reason: str) -> None:
    """Every process that asks it sees so within seconds; jobs that need it wait."""
    await conn.execute(PAUSE, {"service": service, "by": by, "reason": reason})


async def resume_service(conn: Connection, service: str) -> bool:
    """False where it was not paused."""
    done = await conn.execute("DELETE FROM service_pauses WHERE service = %s", (service,))
    return done.rowcount == 1


async def list_paused(pool: Pool) -> set[str]:
    async with pool.connection() as conn:
        rows = await (await conn.execute("SELECT service FROM service_pauses")).fetchall()
    return {row[0] for row in rows}


REPORT_SECONDS: Final = 1.0


async def report_breakers(
    pool: Pool, worker: str, guards: Sequence[ServiceGuard], every: float = REPORT_SECONDS
) -> None:
    """Until cancelled: what the circuits say, and what an operator says to them."""
    told: list[str] = []
    outage = Outage("watch")
    while True:
        now = [BreakerReport(guard.name, guard.state, guard.failing) for guard in guards]
        states = [str(one.state) for one in now]
        try:
            paused = await list_paused(pool) if guards else set[str]()
            for guard in guards:
                guard.hold(held=guard.name in paused)
            if states != told and await _report(pool, worker, now):
                told = states
            outage.end()
        except psycopg.Error as exc:
            outage.begin(exc)
        await asyncio.sleep(every)


async def _report(pool: Pool, worker: str, now: Sequence[BreakerReport]) -> bool:
    """False when the database does not know the worker yet: then once more."""
    async with pool.connection() as conn:
        return await save_states(conn, worker, now)
