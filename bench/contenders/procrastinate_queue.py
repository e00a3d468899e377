"""Procrastinate, one worker process, as its documentation runs it."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from multiprocessing.connection import Connection
from typing import Final

import procrastinate
import psycopg

from bench import filling

NAME: Final = "Procrastinate"
CONNECTIONS: Final = 10  # what docmill's worker may use as well
ENDS: Final = "SELECT at FROM procrastinate_events WHERE type = 'succeeded' ORDER BY at"
LEFT: Final = "SELECT count(*) FROM procrastinate_jobs WHERE status <> 'succeeded'"


def _app(url: str) -> procrastinate.App:
    connector = procrastinate.PsycopgConnector(conninfo=url, max_size=CONNECTIONS)
    return procrastinate.App(connector=connector)


def prepare(url: str) -> None:
    asyncio.run(_prepare(url))


async def _prepare(url: str) -> None:
    async with _app(url).open_async() as app:
        await app.schema_manager.apply_schema_async()


def fill(url: str, count: int) -> None:
    with psycopg.connect(url, autocommit=True) as conn:
        conn.execute("TRUNCATE procrastinate_jobs CASCADE")
    asyncio.run(_fill(url, count))
    filling.settle_down(url)


async def _fill(url: str, count: int) -> None:
    app = _app(url)

    @app.task(name="nothing")
    async def nothing(token: str) -> None: ...

    async with app.open_async():
        for start in range(0, count, 1000):
            rows = [{"token": str(n)} for n in range(start, min(start + 1000, count))]
            await nothing.batch_defer_async(*rows)


def drain(url: str, batch: int) -> float:
    asyncio.run(_drain(url, batch))
    with psycopg.connect(url, autocommit=True) as conn:
        assert conn.execute(LEFT).fetchone() == (0,)
        return filling.speed(conn, ENDS)


async def _drain(url: str, concurrency: int) -> None:
    app = _app(url)

    @app.task(name="nothing")
    async def nothing(token: str) -> None: ...

    async with app.open_async():
        await app.run_worker_async(
            concurrency=concurrency, wait=False, install_signal_handlers=False
        )


def work(url: str, report: Connection) -> None:
    asyncio.run(_work(url, report))


async def _work(url: str, report: Connection) -> None:
    app = _app(url)

    @app.task(name="nothing")
    async def nothing(token: str) -> None:
        report.send((token, time.monotonic()))

    async with app.open_async():
        await app.run_worker_async(concurrency=10, install_signal_handlers=False)


@asynccontextmanager
async def enqueuing(url: str) -> AsyncIterator[Callable[[str], Awaitable[None]]]:
    app = _app(url)

    async def enqueue(token: str) -> None:
        await app.configure_task("nothing").defer_async(token=token)

    async with app.open_async():
        yield enqueue
