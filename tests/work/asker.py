"""A worker whose runs may ask a service: for tests in their own process, and in one to be killed.

`python -m work.asker <database> <folder> <service> <failpoint>`
"""

import asyncio
import hashlib
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any
from uuid import uuid4

from docmill.clients.endpoint import Endpoint
from docmill.clients.openai import OpenAI
from docmill.core import failpoints
from docmill.core.documents import NewDocument
from docmill.core.jobs import DocumentId, JobId, Retry
from docmill.core.pipeline import TEXT
from docmill.db import documents, jobs, owners
from docmill.db.pool import Pool, open_pool
from docmill.db.signals import CHANGES, Bell
from docmill.storage import Store, open_store
from docmill.work import identity
from docmill.work.guard import Guard
from docmill.work.runs import ChildRunner, Outside
from docmill.work.services import Service
from docmill.work.worker import Links, Rules, Runner, Worker
from road import ANN
from work.nurseries import a_nursery

AT_ONCE = timedelta(milliseconds=20)
RULES = Rules(["call"], poll=AT_ONCE, retry=Retry(3, timedelta(), AT_ONCE))


async def add(pool: Pool, store: Store, **options: Any) -> JobId:
    """A queued job of the pipeline that does what its options say."""
    data = uuid4().bytes
    key = f"uploads/{uuid4()}"
    await store.put(key, data)
    sha256 = hashlib.sha256(data).hexdigest()
    document = NewDocument(DocumentId(uuid4()), sha256, len(data), TEXT, "a", "upload", key, {})
    job = jobs.NewJob(JobId(uuid4()), document.id, ANN, "call", None, options, 0, None)
    async with pool.connection() as conn:
        await owners.introduce(conn, ANN)
        await documents.add(conn, ANN, document, keep=timedelta(days=7))
        await jobs.add(conn, job)
        await jobs.enqueue(conn, job)
    return job.id


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
