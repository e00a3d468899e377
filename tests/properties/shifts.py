"""Real workers for a while, over runs that a test makes."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from typing import Final

from docmill.core.jobs import ENDED, JobId, Retry
from docmill.db.pool import Pool
from docmill.db.signals import CHANGES, Bell
from docmill.work import identity
from docmill.work.worker import Links, Rules, Runner, Worker
from road import the

RULES: Final = Rules(
    pipelines=["extract", "echo"],
    poll=timedelta(seconds=0.05),
    grace=timedelta(seconds=5),
    retry=Retry(3, timedelta(), timedelta(milliseconds=1)),
)


@asynccontextmanager
async def shift(
    pool: Pool, url: str | None, runner: Runner, workers: int = 1
) -> AsyncGenerator[None]:
    """So many workers at the same queue."""
    changes = Bell(pool, CHANGES)
    people = [
        Worker(Links(pool, url, changes), replace(RULES), runner, identity.me())
        for _ in range(workers)
    ]
    tasks = [asyncio.create_task(worker.run()) for worker in people]
    try:
        yield
    finally:
        for worker in people:
            worker.stop()
        await asyncio.gather(*tasks)
        await changes.close()


async def ended(pool: Pool, ids: Sequence[JobId], seconds: float = 20) -> None:
    """Until all of them have ended."""
    async with asyncio.timeout(seconds):
        for job_id in ids:
            while True:
                async with pool.connection() as conn:
                    if (await the(conn, job_id)).status in ENDED:
                        break
                await asyncio.sleep(0.01)
