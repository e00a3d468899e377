"""docmill's own queue: the real worker, with runs that return at once; on uvloop, as it runs."""

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from multiprocessing.connection import Connection
from typing import Final
from uuid import UUID, uuid4

import psycopg
import structlog
import uvloop

from bench import filling
from docmill.core.documents import NewDocument
from docmill.core.jobs import (
    Claimed,
    DocumentId,
    Ending,
    Finished,
    Job,
    JobId,
    ReportProgress,
    StoredResult,
    Usage,
)
from docmill.core.owners import OwnerKey
from docmill.db import migrate
from docmill.db.notify import CHANGES, WORK, Notifier
from docmill.db.pool import open_pool
from docmill.documents.assignments import OwnerChoices
from docmill.documents.at_once import NewUpload, add_at_once
from docmill.queue import enqueue, leases
from docmill.queue.worker import Worker, WorkerConfig, WorkerLinks

NAME: Final = "docmill"
OWNERS: Final = 20
ENDS: Final = "SELECT completed_at FROM jobs ORDER BY 1"
LEFT: Final = "SELECT count(*) FROM jobs WHERE status <> 'complete'"


def prepare(url: str) -> None:
    asyncio.run(migrate.migrate(url))


def fill(url: str, count: int) -> None:
    with psycopg.connect(url) as conn:
        conn.execute("TRUNCATE owners CASCADE")
        filling.owners(conn, OWNERS)
        filling.enqueue(conn, count)
    filling.settle_down(url)


def drain(url: str, batch: int) -> float:
    """Logs are at the level of warnings, as the other queues' are by default."""
    _log_warnings()
    with psycopg.connect(url, autocommit=True) as conn:
        (left,) = conn.execute(LEFT).fetchone() or (0,)
        uvloop.run(_drain(url, batch, left))
        assert conn.execute(LEFT).fetchone() == (0,)
        return filling.speed(conn, ENDS)


async def _drain(url: str, slots: int, left: int) -> None:
    begun = 0

    async def run(job: Claimed, _note: ReportProgress) -> tuple[Ending, Usage | None]:
        nonlocal begun
        begun += 1
        return make_result(job), Usage(1, 1, 1)

    async with _worker(url, slots, run) as worker:
        while begun < left or not worker.idle:  # noqa: ASYNC110  a worker has no word for idle
            await asyncio.sleep(0.02)


@asynccontextmanager
async def _worker(
    url: str, slots: int, run: Callable[..., Awaitable[tuple[Ending, Usage | None]]]
) -> AsyncGenerator[Worker]:
    async with open_pool(url) as pool:
        changes = Notifier(pool, CHANGES)
        rules = WorkerConfig(["extract"], slots, poll=timedelta(seconds=5))
        worker = Worker(WorkerLinks(pool, url, changes), rules, run, leases.identify())
        working = asyncio.create_task(worker.run())
        try:
            yield worker
        finally:
            worker.stop()
            await working
            await changes.close()


def _log_warnings() -> None:
    """Otherwise as the processes configure it."""
    warnings = structlog.make_filtering_bound_logger(logging.WARNING)
    structlog.configure(wrapper_class=warnings, cache_logger_on_first_use=True)


def make_result(job: Claimed) -> Finished:
    key = f"results/{job.id}.{job.claim}.gz"
    return Finished(StoredResult(key, "application/json", 10, 8, "0" * 64, "1"))


def work(url: str, report: Connection) -> None:
    _log_warnings()
    uvloop.run(_work(url, report))


async def _work(url: str, report: Connection) -> None:
    async def run(job: Claimed, _note: ReportProgress) -> tuple[Ending, Usage | None]:
        report.send((str(job.id), time.monotonic()))
        return make_result(job), Usage(1, 1, 1)

    async with _worker(url, 10, run):
        await asyncio.Event().wait()


@asynccontextmanager
async def enqueuing(url: str) -> AsyncGenerator[Callable[[str], Awaitable[None]]]:
    """The one statement of an upload, which rings by itself where it is its turn."""
    owner = OwnerKey("session:0")
    async with open_pool(url) as pool:
        bell = Notifier(pool, WORK)

        async def add_one(token: str) -> None:
            document = NewDocument(
                DocumentId(uuid4()), "0" * 64, 1, "application/pdf", "a.pdf", "upload",
                f"uploads/{token}", {},
            )  # fmt: skip
            job = enqueue.NewJob(
                JobId(UUID(token)), document.id, owner, "extract", None, {}, 0, token
            )  # fmt: skip
            rings = bell.take_turn()
            upload = NewUpload(document, job, keep=None, believed=OwnerChoices())
            added = await add_at_once(pool, upload, rings=rings)
            assert isinstance(added, Job)
            if not rings:
                bell.ring()

        yield add_one
        await bell.close()
