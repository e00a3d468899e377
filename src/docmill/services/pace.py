"""How often a service is called: so many calls at a time, so many in a minute. Others wait."""

import asyncio
import time
from collections import deque
from collections.abc import AsyncGenerator, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import Final, Literal

from docmill.cache import Cache
from docmill.core.faults import DocmillError
from docmill.services.breaker import RESTING

Rule = Mapping[Literal["at_a_time", "per_minute"], int]

MINUTE: Final = 60.0
# Who has waited so long goes back to the queue, which costs no attempt.
PATIENCE_SECONDS: Final = 60.0
LOOK_SECONDS: Final = 0.25


class ServicePace:
    """Of one service. Calls of a minute are counted for all workers where they share a Redis."""

    def __init__(
        self, name: str, rule: Rule, cache: Cache, *, patience: float = PATIENCE_SECONDS
    ) -> None:
        self._name: str = name
        self._most: int | None = rule.get("per_minute")
        self._cache: Cache = cache
        self._patience: float = patience
        slots = rule.get("at_a_time")
        self._slots: asyncio.Semaphore | None = asyncio.Semaphore(slots) if slots else None
        self._calls: deque[float] = deque()

    @asynccontextmanager
    async def turn(self) -> AsyncGenerator[None]:
        """Raises SERVICE_RESTING when it does not come in time."""
        try:
            async with asyncio.timeout(self._patience):
                if self._slots:
                    await self._slots.acquire()
        except TimeoutError as exc:
            raise self._refusal() from exc
        try:
            await self._wait_for_minute()
            yield
        finally:
            if self._slots:
                self._slots.release()

    async def _wait_for_minute(self) -> None:
        most = self._most
        if most is None:
            return
        try:
            async with asyncio.timeout(self._patience):
                while not await self._take(most):  # noqa: ASYNC110 - nobody tells
                    await asyncio.sleep(LOOK_SECONDS)
        except TimeoutError as exc:
            raise self._refusal() from exc

    async def _take(self, most: int) -> bool:
        name = f"service:{self._name}"
        shared = await self._cache.take(name, 1, step=MINUTE / most, burst=most)
        if shared:
            return shared[0] > 0
        now = time.monotonic()
        while self._calls and self._calls[0] <= now - MINUTE:
            self._calls.popleft()
        if len(self._calls) >= most:
            return False
        self._calls.append(now)
        return True

    def _refusal(self) -> DocmillError:
        return DocmillError(RESTING, f"{self._name} is at its limit", retryAfter=self._patience / 2)


def make_paces(
    names: Iterable[str], rules: Mapping[str, Rule], cache: Cache
) -> dict[str, ServicePace | None]:
    """By service; None for one without a limit."""
    return {
        name: ServicePace(name, rules[name], cache) if name in rules else None for name in names
    }
