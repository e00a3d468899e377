"""Writes endings: those that come together go in one statement; an outage is waited out."""

import asyncio
from contextlib import suppress

import psycopg
import structlog

from docmill.core import failpoints
from docmill.core.jobs import JobId
from docmill.db import queue, rows
from docmill.db.pool import OUTAGES, Pool
from docmill.db.queue import Settlement

log = structlog.get_logger()

Waiting = tuple[Settlement, asyncio.Future[bool]]
REFUSALS = (psycopg.IntegrityError, psycopg.DataError, psycopg.ProgrammingError)


class Settler:
    """One loop. `settle` returns when the ending is written: True if the job was still ours."""

    def __init__(self, pool: Pool) -> None:
        self._pool: Pool = pool
        self._pending: list[Waiting] = []
        self._task: asyncio.Task[None] | None = None

    async def settle(self, settlement: Settlement) -> bool:
        written: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._pending.append((settlement, written))
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._run())
        return await asyncio.shield(written)

    async def close(self) -> None:
        if self._task:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    async def _run(self) -> None:
        wait = 0.2
        while self._pending:
            batch, self._pending = self._pending, []
            try:
                await self._settle_all(batch)
                wait = 0.2
            except (*OUTAGES, psycopg.errors.DeadlockDetected) as exc:
                log.warning("settle.waits", error=type(exc).__name__, jobs=len(batch))
                self._pending = [item for item in batch if not item[1].done()] + self._pending
                await asyncio.sleep(wait)
                wait = min(wait * 2, 5)

    async def _settle_all(self, batch: list[Waiting]) -> None:
        """One ending the database refuses must not hold up the others: then each goes alone."""
        try:
            moved = await self._write([settlement for settlement, _ in batch])
        except REFUSALS as exc:
            if len(batch) == 1:
                batch[0][1].set_exception(exc)
                return
            for item in batch:
                await self._settle_all([item])
            return
        for settlement, written in batch:
            if not written.done():
                written.set_result(settlement.job.id in moved)

    async def _write(self, settlements: list[Settlement]) -> set[JobId]:
        failpoints.hit("settle.before")
        async with self._pool.connection() as conn:
            moved = await queue.settle(conn, settlements)
            for done in settlements:
                if done.job.id in moved and done.move.rows:
                    await rows.write(conn, done.job, done.move.rows)
        failpoints.hit("settle.after")
        return moved
