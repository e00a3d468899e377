"""Real workers for a while, over runs that a test makes."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from typing import Final

from docmill.core.jobs import ENDED, JobId, Retry
from docmill.db.notify import CHANGES, Notifier
from docmill.db.pool import Pool
from docmill.queue import leases
from docmill.queue.worker import Runner, Worker, WorkerConfig, WorkerLinks
from road import the
from waits import PATIENCE

RULES: Final = WorkerConfig(
    pipelines=["extract", "echo"],
    poll=timedelta(seconds=0.05),
    grace=timedelta(minutes=1),
    retry=Retry(3, timedelta(), timedelta(milliseconds=1)),
)


@asynccontextmanager
async def shift(
    pool: Pool, url: str | None, runner: Runner, workers: int = 1
) -> AsyncGenerator[None]:
    """So many workers at the same queue."""
    changes = Notifier(pool, CHANGES)
    people = [
        Worker(WorkerLinks(pool, url, changes), replace(RULES), runner, leases.identify())
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


async def ended(pool: Pool, ids: Sequence[JobId], seconds: float = PATIENCE) -> None:
    """Until all of them have ended."""
    async with asyncio.timeout(seconds):
        for job_id in ids:
            while True:
                async with pool.connection() as conn:
                    if (await the(conn, job_id)).status in ENDED:
                        break
                await asyncio.sleep(0.01)
