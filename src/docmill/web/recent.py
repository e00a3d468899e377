"""What was asked a moment ago: one question at a time, and an old answer while there is no new one.

Who a cookie or a key belongs to is asked with every request. A burst of them asks the database
once, and a database that is away does not shut out those who were let in just now.
"""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from docmill.core.faults import DocmillError
from docmill.db.pool import Pool

T = TypeVar("T")

# An older answer is not believed, even while there is no other: what was revoked since would be
# taken.
OLDEST: Final = 600.0
# So long after an operator ended a session or a key was revoked, another process may still take it.
SECONDS: Final = 2.0
MOST: Final = 10_000
AWAY: Final = frozenset({"DATABASE_DOWN", "BUSY"})


@dataclass(frozen=True, slots=True)
class _Answer(Generic[T]):
    value: T
    at: float


class RecentAnswers(Generic[T]):
    """`load` is asked for a name when the last answer is older than SECONDS.

    Who is known is not kept waiting for a database that is away.
    """

    def __init__(
        self, pool: Pool, load: Callable[[str], Awaitable[T]], seconds: float = SECONDS
    ) -> None:
        self._pool: Pool = pool
        self._load: Callable[[str], Awaitable[T]] = load
        self._seconds: float = seconds
        self._known: OrderedDict[str, _Answer[T]] = OrderedDict()
        self._asking: dict[str, asyncio.Task[T]] = {}

    def recall(self, name: str) -> T | None:
        """What need not be asked for again yet."""
        known = self._known.get(name)
        if known and time.monotonic() - known.at < self._seconds:
            return known.value
        return None

    async def find(self, name: str) -> T:
        known = self._known.get(name)
        if known and time.monotonic() - known.at < self._seconds:
            return known.value
        asking = self._asking.get(name)
        if asking is None:
            asking = self._asking[name] = asyncio.create_task(self._ask(name, known))
            asking.add_done_callback(self._let_go(name))
        return await asyncio.shield(asking)

    def forget(self, name: str) -> None:
        self._known.pop(name, None)

    def _let_go(self, name: str) -> Callable[[asyncio.Task[T]], None]:
        def end(task: asyncio.Task[T]) -> None:
            self._asking.pop(name, None)
            if not task.cancelled():
                task.exception()  # whoever waited has it; perhaps nobody waits any more

        return end

    async def _ask(self, name: str, known: _Answer[T] | None) -> T:
        if known is None or time.monotonic() - known.at > OLDEST:
            return self._note(name, await self._load(name))
        try:
            async with self._pool.absence.refused():
                return self._note(name, await self._load(name))
        except DocmillError as exc:
            if exc.fault.code not in AWAY:
                raise
            return self._note(name, known.value)

    def _note(self, name: str, value: T) -> T:
        self._known.pop(name, None)
        self._known[name] = _Answer(value, time.monotonic())
        if len(self._known) > MOST:
            self._known.popitem(last=False)
        return value
