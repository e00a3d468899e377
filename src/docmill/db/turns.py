"""Fair turns: so many at a time, the others wait in line, first come, first served."""

import asyncio
import time
from collections import deque
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final
from weakref import WeakValueDictionary

import psycopg

from docmill.core.faults import DocmillError

# Nobody in line waits longer than this after the last turn that ended well: then nothing moves.
# With the wait for a lock that follows (see `pool`), an answer comes within 5 s.
STILL: Final = 3.5
# Patience is counted in looks, not by the clock: on a machine that lets us run but seldom each
# look comes late, and so does everything that the line waits for.
LOOK_SECONDS: Final = 0.1
# A line that moves is waited in to its end; who finds it so long is told to come later.
LONGEST_LINE: Final = 4000
RETRY_AFTER: Final = 2


@dataclass(frozen=True, slots=True)
class _Waiter:
    """In the line: taken at the look of this number."""

    given: asyncio.Future[None]
    look: int


class TurnQueue:
    """`turn` waits, or raises BUSY when the line does not move or is too long."""

    def __init__(self, places: int) -> None:
        self._free: int = places
        self._line: deque[_Waiter] = deque()
        self._looks: int = 0
        self._moved: int = 0  # the look that the last turn ended well after
        self._watching: asyncio.Task[None] | None = None
        # For who watches: how often and how long somebody waited, and how many were sent away.
        self.waits: int = 0
        self.waited: float = 0.0
        self.refused: int = 0

    @property
    def waiting(self) -> int:
        return len(self._line)

    @asynccontextmanager
    async def turn(self) -> AsyncGenerator[None]:
        await self._wait()
        moved = True
        try:
            yield
        except psycopg.Error:
            moved = False
            raise
        finally:
            self._leave(moved=moved)

    async def _wait(self) -> None:
        if self._free:
            self._free -= 1
            return
        if len(self._line) >= LONGEST_LINE:
            raise self._busy()
        place = _Waiter(asyncio.get_running_loop().create_future(), self._looks)
        self._line.append(place)
        if self._watching is None:
            self._watching = asyncio.create_task(self._watch())
        self.waits += 1
        began_at = time.monotonic()
        try:
            await place.given
        except asyncio.CancelledError:
            # The turn may have been given to who does not know it yet: it is given on.
            if not place.given.cancelled() and place.given.exception() is None:
                self._leave(moved=False)
            raise
        finally:
            self.waited += time.monotonic() - began_at

    def _leave(self, *, moved: bool) -> None:
        if moved:
            self._moved = self._looks
        while self._line:
            place = self._line.popleft()
            if not place.given.done():
                place.given.set_result(None)
                return
        self._free += 1

    async def _watch(self) -> None:
        """As long as somebody waits."""
        try:
            while self._line:
                await asyncio.sleep(LOOK_SECONDS)
                self._looks += 1
                self._shed()
        finally:
            self._watching = None

    def _shed(self) -> None:
        """The first in line has waited longest; who has left is taken out on the way."""
        while self._line:
            first = self._line[0]
            still = (self._looks - max(first.look, self._moved)) * LOOK_SECONDS
            if not first.given.done() and still < STILL:
                return
            self._line.popleft()
            if not first.given.done():
                first.given.set_exception(self._busy())

    def _busy(self) -> DocmillError:
        self.refused += 1
        return DocmillError("BUSY", f"{len(self._line)} in line", retryAfter=RETRY_AFTER)


class TurnQueueByKey:
    """One at a time for each key. Keys that nobody waits for are forgotten."""

    def __init__(self) -> None:
        self._known: WeakValueDictionary[str, TurnQueue] = WeakValueDictionary()

    @asynccontextmanager
    async def turn(self, key: str) -> AsyncGenerator[None]:
        turns = self._known.setdefault(key, TurnQueue(1))
        async with turns.turn():
            yield
