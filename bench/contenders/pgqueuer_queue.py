"""PGQueuer, one process, on psycopg as docmill is; on uvloop, as its own command runs."""

import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from multiprocessing.connection import Connection
from typing import Final

import psycopg
import uvloop
from pgqueuer.db import PsycopgDriver
from pgqueuer.models import Job
from pgqueuer.qm import QueueManager
from pgqueuer.queries import Queries
from pgqueuer.types import QueueExecutionMode

from bench import filling

NAME: Final = "PGQueuer"
ENDS: Final = "SELECT created FROM pgqueuer_log WHERE status = 'successful' ORDER BY created"
LEFT: Final = "SELECT count(*) FROM pgqueuer"


@asynccontextmanager
async def _queries(url: str) -> AsyncIterator[Queries]:
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as conn:
        yield Queries(PsycopgDriver(conn))


def prepare(url: str) -> None:
    uvloop.run(_prepare(url))


async def _prepare(url: str) -> None:
    async with _queries(url) as queries:
        await queries.install()


def fill(url: str, count: int) -> None:
    with psycopg.connect(url, autocommit=True) as conn:
        conn.execute("TRUNCATE pgqueuer, pgqueuer_log")
    uvloop.run(_fill(url, count))
    filling.settle_down(url)


async def _fill(url: str, count: int) -> None:
    async with _queries(url) as queries:
        for start in range(0, count, 1000):
            number = min(1000, count - start)
            await queries.enqueue(["nothing"] * number, [b"x"] * number, [0] * number)


def drain(url: str, batch: int) -> float:
    uvloop.run(_drain(url, batch))
    with psycopg.connect(url, autocommit=True) as conn:
        assert conn.execute(LEFT).fetchone() == (0,)
        return filling.speed(conn, ENDS)


async def _drain(url: str, batch: int) -> None:
    async with _queries(url) as queries:
        manager = QueueManager(queries)

        @manager.entrypoint("nothing")
        async def nothing(job: Job) -> None: ...

        await manager.run(batch_size=batch, mode=QueueExecutionMode.drain)


def work(url: str, report: Connection) -> None:
    uvloop.run(_work(url, report))


async def _work(url: str, report: Connection) -> None:
    async with _queries(url) as queries:
        manager = QueueManager(queries)

        @manager.entrypoint("nothing")
        async def nothing(job: Job) -> None:
            report.send(((job.payload or b"").decode(), time.monotonic()))

        await manager.run(batch_size=10)


@asynccontextmanager
async def enqueuing(url: str) -> AsyncIterator[Callable[[str], Awaitable[None]]]:
    async with _queries(url) as queries:

        async def enqueue(token: str) -> None:
            await queries.enqueue("nothing", token.encode())

        yield enqueue
