"""Awa, one process: its worker is Rust, its jobs are Python functions; with its own settings."""

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any, Final
from urllib.parse import quote

import awa
import psycopg
from psycopg.conninfo import conninfo_to_dict

from bench import filling

NAME: Final = "Awa"
QUEUE: Final = "bench"
SCHEMA: Final = "awa"
ENDS: Final = "SELECT finalized_at FROM awa.jobs WHERE state = 'completed' ORDER BY 1"
STATES: Final = "SELECT state::text, count(*) FROM awa.jobs GROUP BY 1"
# It writes endings in batches: those of the last jobs may come after their functions.
STOP_MS: Final = 20_000
# What it finished goes with its ring of tables, which it empties in turn, a second each; it keeps
# them here until they are counted.
ROTATE_MS: Final = 3_600_000


@dataclass
class Nothing:
    token: str


@asynccontextmanager
async def _client(url: str) -> AsyncGenerator[Any]:
    client = awa.AsyncClient(_address(url))
    try:
        yield client
    finally:
        await client.close()


def _address(url: str) -> str:
    """It knows no address but a URL, with the folder of the socket where the host is."""
    parts = conninfo_to_dict(url)
    who = f"{parts['user']}:{quote(str(parts['password']), safe='')}"
    port = f":{parts['port']}" if "port" in parts else ""
    return f"postgresql://{who}@{quote(str(parts['host']), safe='')}{port}/{parts['dbname']}"


def prepare(url: str) -> None:
    asyncio.run(_prepare(url))


async def _prepare(url: str) -> None:
    """Its storage of queues takes jobs in bulk only after a first worker has been there."""
    await awa.migrate(_address(url))
    async with _client(url) as client:
        await _start(client, 1, _ignore)
        await client.shutdown(STOP_MS)


async def _start(client: Any, slots: int, run: Callable[[Any], Awaitable[None]]) -> None:
    client.task(Nothing, queue=QUEUE)(run)
    await client.start([(QUEUE, slots)], queue_storage_queue_rotate_interval_ms=ROTATE_MS)


async def _ignore(job: Any) -> None: ...


def fill(url: str, count: int) -> None:
    asyncio.run(_fill(url, count))
    filling.settle_down(url)


async def _fill(url: str, count: int) -> None:
    """Its own way to begin anew: it keeps its place in rings of tables, and they must agree."""
    async with _client(url) as client:
        await client.install_queue_storage(schema=SCHEMA, reset=True)
        await client.enqueue_many_copy([Nothing(str(n)) for n in range(count)], queue=QUEUE)


def drain(url: str, batch: int) -> float:
    with psycopg.connect(url, autocommit=True) as conn:
        (left,) = dict(conn.execute(STATES).fetchall()).values()
        asyncio.run(_drain(url, batch, left))
        states = dict(conn.execute(STATES).fetchall())
        assert states == {"completed": left}, states
        return filling.speed(conn, ENDS)


async def _drain(url: str, slots: int, left: int) -> None:
    begun, all_begun = 0, asyncio.Event()

    async def nothing(job: Any) -> None:
        nonlocal begun
        begun += 1
        if begun == left:
            all_begun.set()

    async with _client(url) as client:
        await _start(client, slots, nothing)
        await all_begun.wait()
        await client.shutdown(STOP_MS)


def work(url: str, report: Connection) -> None:
    asyncio.run(_work(url, report))


async def _work(url: str, report: Connection) -> None:
    async def nothing(job: Any) -> None:
        report.send((job.args.token, time.monotonic()))

    async with _client(url) as client:
        await _start(client, 10, nothing)
        await asyncio.Event().wait()


@asynccontextmanager
async def enqueuing(url: str) -> AsyncGenerator[Callable[[str], Awaitable[None]]]:
    async with _client(url) as client:

        async def enqueue(token: str) -> None:
            await client.insert(Nothing(token), queue=QUEUE)

        yield enqueue
