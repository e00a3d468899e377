"""A guard before one service: calls go through unless it fails too often or asked for a pause."""

import time
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Final, TypeVar

import structlog

from docmill.core.breaker import Breaker, State
from docmill.core.faults import Faulted

log = structlog.get_logger()

Clock = Callable[[], float]
T = TypeVar("T")

PATIENCE: Final = timedelta(minutes=30)
# A service may ask for a pause, but not for the rest of the day.
LONGEST_PAUSE: Final = timedelta(hours=1)
# Nobody comes back sooner than so, however short the pause.
SHORTEST_PAUSE: Final = timedelta(seconds=1)


class Guard:
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
        self._said: State = State.CLOSED

    @property
    def state(self) -> State:
        return self._breaker.state(self._clock())

    @property
    def admits(self) -> bool:
        self._say()
        now = self._clock()
        return now >= self._paused_until and self._breaker.admits(now)

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
        except Faulted as exc:
            self._pause(exc)
            passing = exc.fault.retried
            (self._breaker.failed if passing else self._breaker.succeeded)(began, self._clock())
            self._say()
            raise
        except BaseException:
            self._breaker.abandoned(began)
            raise
        self._breaker.succeeded(began, self._clock())
        self._say()
        return answer

    def _refusal(self) -> Faulted:
        if self.failing > self._patience:
            minutes = self.failing.total_seconds() / 60
            return Faulted("SERVICE_GONE", f"{self.name} has been failing for {minutes:.0f} min")
        now = self._clock()
        rest = max(self._paused_until - now, self._breaker.rest(now))
        seconds = max(rest, SHORTEST_PAUSE.total_seconds())
        return Faulted("SERVICE_RESTING", f"{self.name} is left alone", retryAfter=seconds)

    def _pause(self, fault: Faulted) -> None:
        """A pause the service asked for is kept by every run of this worker."""
        if (seconds := pause(fault)) is not None:
            self._paused_until = self._clock() + seconds.total_seconds()

    def _say(self) -> None:
        """Log a state that was not told yet."""
        state = self.state
        if state is not self._said:
            log.warning("breaker.turned", service=self.name, was=self._said, now=state)
            self._said = state


def pause(fault: Faulted) -> timedelta | None:
    """How long the one who faulted wants to be left alone, within reason."""
    seconds = fault.facts.get("retryAfter")
    if not isinstance(seconds, int | float):
        return None
    return min(max(timedelta(), timedelta(seconds=seconds)), LONGEST_PAUSE)
