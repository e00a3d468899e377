"""A worker whose runs may ask a service: for tests in their own process, and in one to be killed.

`python -m work.asker <database> <folder> <service> <failpoint>`
"""

import asyncio
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any
from uuid import uuid4

from docmill.core import failpoints
from docmill.core.jobs import JobId, Retry
from docmill.core.plugins import TEXT
from docmill.db.notify import CHANGES, Notifier
from docmill.db.pool import Pool, open_pool
from docmill.jobs.runner import JobRunner, RunnerParts
from docmill.queue import leases
from docmill.queue.worker import Runner, Worker, WorkerConfig, WorkerLinks
from docmill.services.breaker import ServiceGuard
from docmill.services.broker import Service
from docmill.services.endpoint import Endpoint
from docmill.services.openai import OpenAI
from docmill.storage import open_store
from docmill.storage.contract import Store
from road import add_stored_job
from sandbox.pools import make_pool
from waits import PATIENCE

AT_ONCE = timedelta(milliseconds=20)
RULES = WorkerConfig(["call"], poll=AT_ONCE, retry=Retry(3, timedelta(), AT_ONCE))


async def add(pool: Pool, store: Store, **options: Any) -> JobId:
    """A queued job of the pipeline that does what its options say."""
    return await add_stored_job(
        pool, store, uuid4().bytes, content_type=TEXT, pipeline="call", options=options
    )


@asynccontextmanager
async def working(pool: Pool, store: Store, url: str, guard: ServiceGuard) -> AsyncGenerator[None]:
    """One service, `embed`, at that address."""
    async with (
        Endpoint(url, timeout=timedelta(seconds=PATIENCE), trust_env=False) as opened,
        make_pool() as sandbox,
    ):
        client = OpenAI(opened, "m1")
        services = {"embed": Service(guard, lambda question: client.embed(question.request))}
        async with at_work(pool, JobRunner(pool, store, sandbox, RunnerParts(services=services))):
            yield


@asynccontextmanager
async def at_work(pool: Pool, runner: Runner, rules: WorkerConfig = RULES) -> AsyncGenerator[None]:
    """A worker, until the end of the block."""
    changes = Notifier(pool, CHANGES)
    worker = Worker(WorkerLinks(pool, None, changes), rules, runner, leases.identify())
    task = asyncio.create_task(worker.run())
    try:
        yield
    finally:
        worker.stop()
        await task
        await changes.close()


async def main(database: str, folder: str, url: str, failpoint: str) -> None:
    failpoints.arm(failpoint)
    async with (
        open_pool(database) as pool,
        working(pool, open_store(folder), url, ServiceGuard("embed")),
    ):
        await asyncio.sleep(2 * PATIENCE)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
