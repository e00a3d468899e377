"""A database that is away, known at once: as soon as one attempt to connect has failed."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Final

import psycopg

from docmill.core.faults import DocmillError

PROBE_SECONDS: Final = 0.2


class Absence:
    """Of one pool. `probe` asks the database something small, or raises what psycopg raises.

    It is asked until it answers: one connection may fail, say because there are too many, while
    the others work.
    """

    def __init__(self, probe: Callable[[], Awaitable[None]]) -> None:
        self._probe: Callable[[], Awaitable[None]] = probe
        self._lasts: bool = False
        self._probing: asyncio.Task[None] | None = None
        self._impatient: set[asyncio.Timeout] = set()

    def begin(self) -> None:
        self._lasts = True
        for limit in self._impatient:
            limit.reschedule(0)
        if self._probing is None or self._probing.done():
            self._probing = asyncio.create_task(self._watch())

    def end(self) -> None:
        self._lasts = False

    @asynccontextmanager
    async def refused(self) -> AsyncGenerator[None]:
        """What is done inside ends with DATABASE_DOWN as soon as nobody can connect."""
        if self._lasts:
            raise DocmillError("DATABASE_DOWN", "known to be away", retryAfter=60)
        try:
            async with asyncio.timeout(None) as limit:
                self._impatient.add(limit)
                try:
                    yield
                finally:
                    self._impatient.discard(limit)
        except TimeoutError as exc:
            raise DocmillError("DATABASE_DOWN", "it went away", retryAfter=60) from exc

    async def _watch(self) -> None:
        while self._lasts:
            with suppress(psycopg.Error):
                await self._probe()
                self._lasts = False
            await asyncio.sleep(PROBE_SECONDS)
