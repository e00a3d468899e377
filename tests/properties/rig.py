"""Runs the real statements for tests that are not async themselves."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from docmill.core.jobs import Claimed, Ending, JobId, Retry, settle
from docmill.db.pool import Connection, Pool
from docmill.queue import leases
from docmill.queue import settle as queue_settle
from docmill.queue.rescue import take_back
from docmill.queue.worker import WorkerConfig

T = TypeVar("T")
Act = Callable[[Connection], Awaitable[T]]


class Do:
    """Each call is one transaction."""

    def __init__(self, runner: asyncio.Runner, pool: Pool) -> None:
        self._runner: asyncio.Runner = runner
        self._pool: Pool = pool

    def __call__(self, act: Act[T]) -> T:
        return self._runner.run(self._one(act))

    def together(self, *acts: Act[T]) -> list[T]:
        """Several transactions at the same time."""

        async def all_of_them() -> list[T]:
            return list(await asyncio.gather(*(self._one(act) for act in acts)))

        return self._runner.run(all_of_them())

    async def _one(self, act: Act[T]) -> T:
        async with self._pool.connection() as conn:
            return await act(conn)


async def write(conn: Connection, job: Claimed, ending: Ending) -> bool:
    move = settle(job, ending, retry=Retry(), chance=0.5)
    return job.id in await queue_settle.write_settlements(
        conn, [queue_settle.Settlement(job, move)]
    )


async def rescue(conn: Connection) -> set[JobId]:
    return {
        item.job.id for item in await take_back(conn, WorkerConfig(pipelines=[]), leases.identify())
    }
