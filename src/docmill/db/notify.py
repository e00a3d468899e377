"""NOTIFY and LISTEN: hints that make things start at once. Nothing depends on one arriving.

Behind a transaction pooler nobody can LISTEN; there the hints go through Redis, if there is one.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import suppress
from typing import Final

import psycopg
from psycopg import sql

from docmill import cache
from docmill.cache import Cache
from docmill.db.pool import Outage, Pool

WORK: Final = "docmill_work"
CHANGES: Final = "docmill_changes"
CANCELLED: Final = "docmill_cancelled"
# Rung by the database itself with the id of a job that had ended (migration 36).
ENDED_CHANGED: Final = "docmill_ended_changed"
QUIET: Final = 0.1
AGAIN: Final = 1.0

# Not worth a wait for the disk.
NOTIFY: Final = "SELECT set_config('synchronous_commit', 'off', true), pg_notify(%s, '')"


class Notifier:
    """Rings a channel after commits: at once, then at most every 100 ms.

    A NOTIFY inside every committing transaction would halve the throughput of many writers. One
    every 100 ms does no harm there, and saves its own way: see `take_turn`.
    """

    def __init__(self, pool: Pool, channel: str, redis: Cache | None = None) -> None:
        self._pool: Pool = pool
        self._channel: str = channel
        self._redis: Cache | None = redis
        self._wanted: asyncio.Event = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._is_resting: bool = False

    def ring(self) -> None:
        self._wanted.set()
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._run())

    def take_turn(self) -> bool:
        """Whether the caller may ring by the transaction that he commits next.

        Then nobody else does for 100 ms. He gives the turn back where he did not ring after all.
        """
        if self._redis or not (self._task is None or self._task.done()):
            return False
        self._is_resting = True
        self._task = asyncio.create_task(self._rest())
        return True

    def give_back(self) -> None:
        """What others wanted meanwhile is rung at once."""
        if not self._is_resting or self._task is None:
            return
        self._is_resting = False
        self._task.cancel()
        self._task = None
        if self._wanted.is_set():
            self.ring()

    async def _rest(self) -> None:
        await asyncio.sleep(QUIET)
        self._is_resting = False
        await self._run()

    async def _run(self) -> None:
        while self._wanted.is_set():
            self._wanted.clear()
            await self._notify()
            await asyncio.sleep(QUIET)

    async def _notify(self) -> None:
        if self._redis:
            await self._redis.publish(self._channel)
            return
        with suppress(psycopg.Error):
            async with self._pool.statements() as conn:
                await conn.execute(NOTIFY, (self._channel,))

    async def close(self) -> None:
        if self._task:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task


async def listen(url: str, *channels: str) -> AsyncGenerator[psycopg.Notify | None]:
    """Notifications for ever; None with every new connection, before which some may be missed."""
    if url.startswith("redis"):
        async for channel in cache.listen(url, *channels):
            yield psycopg.Notify(channel, "", 0) if channel else None
    outage = Outage("signals")
    while True:
        try:
            async for word in _listen_once(url, *channels):
                outage.end()
                yield word
        except psycopg.Error as exc:
            outage.begin(exc)
        await asyncio.sleep(AGAIN)


async def _listen_once(url: str, *channels: str) -> AsyncGenerator[psycopg.Notify | None]:
    """On a direct connection: behind a transaction pooler nothing would ever be heard."""
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as conn:
        for channel in channels:
            await conn.execute(sql.SQL("LISTEN {}").format(sql.Identifier(channel)))
        yield None
        async for word in conn.notifies():
            yield word
