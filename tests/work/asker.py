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

from docmill.clients.endpoint import Endpoint
from docmill.clients.openai import OpenAI
from docmill.core import failpoints
from docmill.core.jobs import JobId, Retry
from docmill.core.pipeline import TEXT
from docmill.db.pool import Pool, open_pool
from docmill.db.signals import CHANGES, Bell
from docmill.storage import Store, open_store
from docmill.work import identity
from docmill.work.guard import Guard
from docmill.work.runs import ChildRunner, Outside
from docmill.work.services import Service
from docmill.work.worker import Links, Rules, Runner, Worker
from road import add_stored_job
from work.nurseries import a_nursery

AT_ONCE = timedelta(milliseconds=20)
RULES = Rules(["call"], poll=AT_ONCE, retry=Retry(3, timedelta(), AT_ONCE))


async def add(pool: Pool, store: Store, **options: Any) -> JobId:
    """A queued job of the pipeline that does what its options say."""
    return await add_stored_job(
        pool, store, uuid4().bytes, content_type=TEXT, pipeline="call", options=options
    )


@asynccontextmanager
async def working(pool: Pool, store: Store, url: str, guard: Guard) -> AsyncGenerator[None]:
    """One service, `embed`, at that address."""
    async with (
        Endpoint(url, timeout=timedelta(seconds=20), trust_env=False) as opened,
        a_nursery() as nursery,
    ):
        client = OpenAI(opened, "m1")
        services = {"embed": Service(guard, lambda question: client.embed(question.request))}
        async with at_work(pool, ChildRunner(pool, store, nursery, Outside(services=services))):
            yield


@asynccontextmanager
async def at_work(pool: Pool, runner: Runner, rules: Rules = RULES) -> AsyncGenerator[None]:
    """A worker, until the end of the block."""
    changes = Bell(pool, CHANGES)
    worker = Worker(Links(pool, None, changes), rules, runner, identity.me())
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
        working(pool, open_store(folder), url, Guard("embed")),
    ):
        await asyncio.sleep(60)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
