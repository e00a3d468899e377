"""A real worker beside a test: `async with working(pool, store, ["extract"])`."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta

from docmill.core.jobs import Retry
from docmill.core.retention import RetentionRules
from docmill.db.notify import CHANGES, WORK, Notifier
from docmill.db.pool import Pool
from docmill.jobs.retention import sweep
from docmill.jobs.runner import JobRunner, RunnerParts
from docmill.queue import leases
from docmill.queue.rescue import Upkeep
from docmill.queue.worker import Worker, WorkerConfig, WorkerLinks
from docmill.sandbox.limits import RunLimits
from docmill.sandbox.pool import SandboxPool
from docmill.storage.contract import Store
from waits import PATIENCE, until

# `until` is told here too, beside what it is waited for.
__all__ = ["LIMITS", "ONCE", "swept", "until", "working"]

ONCE = timedelta(seconds=0.05)
LIMITS = RunLimits(stall=timedelta(seconds=PATIENCE))


@asynccontextmanager
async def working(
    pool: Pool, store: Store, pipelines: Sequence[str], outside: RunnerParts | None = None
) -> AsyncGenerator[None]:
    changes = Notifier(pool, CHANGES)
    async with SandboxPool(LIMITS, pipelines=pipelines) as sandbox:
        rules = WorkerConfig(
            pipelines, poll=ONCE, retry=Retry(2, ONCE, ONCE), grace=timedelta(minutes=1)
        )
        runner = JobRunner(pool, store, sandbox, outside)
        worker = Worker(WorkerLinks(pool, None, changes), rules, runner, leases.identify())
        task = asyncio.create_task(worker.run())
        try:
            yield
        finally:
            worker.stop()
            await task
            await changes.close()


async def swept(pool: Pool, store: Store, rules: RetentionRules | None = None) -> None:
    """Retention, once; without rules by what the rows say."""
    work, changes = Notifier(pool, WORK), Notifier(pool, CHANGES)
    me = leases.identify()
    await sweep(Upkeep(pool, store, work, changes, WorkerConfig([]), me, retention=rules))
    await work.close()
    await changes.close()
