"""A real worker beside a test: `async with working(pool, store, ["extract"])`."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta

from docmill.core.jobs import Retry
from docmill.db.pool import Pool
from docmill.db.signals import CHANGES, WORK, Bell
from docmill.storage import Store
from docmill.work import identity
from docmill.work.child import Limits, Nursery
from docmill.work.runs import ChildRunner, Outside
from docmill.work.upkeep import Upkeep, sweep
from docmill.work.worker import Links, Rules, Worker

ONCE = timedelta(seconds=0.05)


@asynccontextmanager
async def working(
    pool: Pool, store: Store, pipelines: Sequence[str], outside: Outside | None = None
) -> AsyncGenerator[None]:
    changes = Bell(pool, CHANGES)
    async with Nursery(Limits(), pipelines=pipelines) as nursery:
        rules = Rules(pipelines, poll=ONCE, retry=Retry(2, ONCE, ONCE), grace=timedelta(seconds=5))
        runner = ChildRunner(pool, store, nursery, outside)
        worker = Worker(Links(pool, None, changes), rules, runner, identity.me())
        task = asyncio.create_task(worker.run())
        try:
            yield
        finally:
            worker.stop()
            await task
            await changes.close()


async def swept(pool: Pool, store: Store) -> None:
    """Retention, once."""
    work, changes = Bell(pool, WORK), Bell(pool, CHANGES)
    await sweep(Upkeep(pool, store, work, changes, Rules([]), identity.me()))
    await work.close()
    await changes.close()


async def until(holds: Callable[[], Awaitable[object]], seconds: float = 30) -> None:
    async with asyncio.timeout(seconds):
        while not await holds():
            await asyncio.sleep(0.05)
