"""Who waits for changes is woken: one LISTEN and one query for all waiting owners per wake."""

import asyncio
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager, suppress
from datetime import datetime
from typing import Final

import psycopg
import structlog

from docmill.core.faults import DocmillError
from docmill.core.owners import OwnerKey
from docmill.db.notify import CHANGES, ENDED_CHANGED, listen
from docmill.db.pool import Pool, read_connection
from docmill.jobs import queries
from docmill.jobs.kept import KeptStatuses

log = structlog.get_logger()

# A notification is only a hint; looking unasked finds what a lost one would have told.
LOOK_SECONDS: Final = 10.0
LOOK_SECONDS_DEAF: Final = 2.0


class Waiter:
    """One place in line: `wait` returns when the owner's jobs may have changed."""

    def __init__(self) -> None:
        self._moved: asyncio.Event = asyncio.Event()

    def wake(self) -> None:
        self._moved.set()

    async def wait(self, seconds: float) -> bool:
        """False when nothing happened in time. What happens from now on wakes the next call."""
        try:
            async with asyncio.timeout(max(seconds, 0)):
                await self._moved.wait()
        except TimeoutError:
            return False
        self._moved.clear()
        return True


class LiveChanges:
    """The waiters of one process, and the statuses it keeps: both hear what has changed."""

    def __init__(self, pool: Pool, listen_url: str | None, kept: KeptStatuses) -> None:
        self.closed: bool = False
        self._pool: Pool = pool
        self._listen_url: str | None = listen_url
        self._kept: KeptStatuses = kept
        self._rung: asyncio.Event = asyncio.Event()
        self._waiters: dict[OwnerKey, set[Waiter]] = {}
        self._clocks: dict[OwnerKey, datetime] = {}

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        tasks = [asyncio.create_task(self._look())]
        if self._listen_url:
            tasks.append(asyncio.create_task(self._listen(self._listen_url)))
        try:
            yield
        finally:
            self.close()
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def close(self) -> None:
        """Wake everybody for the last time: the server is stopping."""
        self.closed = True
        for waiters in self._waiters.values():
            for waiter in waiters:
                waiter.wake()

    @contextmanager
    def waiting(self, owner: OwnerKey) -> Generator[Waiter]:
        """Stand in line first, then look at the database, then wait: so no change is missed."""
        waiter = Waiter()
        self._waiters.setdefault(owner, set()).add(waiter)
        try:
            yield waiter
        finally:
            self._waiters[owner].discard(waiter)
            if not self._waiters[owner]:
                del self._waiters[owner]
                self._clocks.pop(owner, None)

    async def _look(self) -> None:
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(LOOK_SECONDS if self._listen_url else LOOK_SECONDS_DEAF):
                    await self._rung.wait()
            self._rung.clear()
            if self._waiters:
                with suppress(DocmillError, psycopg.Error):
                    await self._wake_moved()

    async def _wake_moved(self) -> None:
        async with read_connection(self._pool) as conn:
            clocks = await queries.read_clocks(conn, list(self._waiters))
        for owner, clock in clocks.items():
            waiters = self._waiters.get(owner)
            if waiters is None or self._clocks.get(owner) == clock:
                continue
            self._clocks[owner] = clock
            for waiter in waiters:
                waiter.wake()

    async def _listen(self, url: str) -> None:
        has_listened = False
        async for word in listen(url, CHANGES, ENDED_CHANGED):
            if word and word.channel == ENDED_CHANGED:
                await self._kept.forget(word.payload)
                continue
            if word is None and has_listened:
                self._kept.note_gap()
            has_listened = True
            self._rung.set()
