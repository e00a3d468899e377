"""A circuit breaker: leaves a service alone while most calls to it fail. Clocks are passed in."""

from collections import deque
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum


class State(StrEnum):
    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half_open"


@dataclass(frozen=True, slots=True)
class BreakerRules:
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

    def __init__(self, rules: BreakerRules | None = None) -> None:
        self._rules: BreakerRules = rules or BreakerRules()
        self._ended: deque[tuple[float, bool]] = deque()
        self._failures: int = 0
        self._opened_at: float | None = None
        self._failing_from: float | None = None
        self._probing: bool = False
        self._era: int = 0

    def state(self, now: float) -> State:
        if self._opened_at is None:
            return State.CLOSED
        cooled_at = self._opened_at + self._rules.cool_down.total_seconds()
        return State.HALF_OPEN if now >= cooled_at else State.OPEN

    def admits(self, now: float) -> bool:
        """Whether `begin` would let a call through now."""
        state = self.state(now)
        return state is State.CLOSED or (state is State.HALF_OPEN and not self._probing)

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

    def succeeded(self, call: Call, now: float) -> None:
        if call.era != self._era:
            return
        if call.is_probe:
            self._turn(None)
        else:
            self._count(now, failed=False)

    def failed(self, call: Call, now: float) -> None:
        if call.era != self._era:
            return
        if call.is_probe:
            self._turn(now)
            return
        self._count(now, failed=True)
        calls = len(self._ended)
        if calls >= self._rules.fewest and self._failures >= self._rules.share * calls:
            self._turn(now)

    def abandoned(self, call: Call) -> None:
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
