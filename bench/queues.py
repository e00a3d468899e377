"""What a no-op job costs in the queue, and how soon one starts: docmill, its peers, the limit."""

import asyncio
import multiprocessing
import random
import time
from collections.abc import Iterator
from dataclasses import asdict
from multiprocessing.connection import Connection
from types import ModuleType
from typing import Final
from uuid import uuid4

from bench.contenders import (
    awa_queue,
    bare_loop,
    docmill_queue,
    pgqueuer_queue,
    procrastinate_queue,
)
from bench.ground import Ground, apart
from eval.rows import Row, Spread, compare, spread

PEERS: Final = (procrastinate_queue, pgqueuer_queue, awa_queue, bare_loop)
BATCHES: Final = (10, 100)
# Enough to know the speed of the slowest.
FEWER: Final = {procrastinate_queue: 1500}
# All of them in turn, so many times: other work on the machine meets them all.
ROUNDS: Final = 3
# Longer than any queue's own pause between two notifications.
PAUSE: Final = 0.12


def measure(ground: Ground) -> Iterator[Row]:
    urls = {module: _database(ground, module) for module in (docmill_queue, *PEERS)}
    for batch in BATCHES:
        yield from _drains(ground, urls, batch)
    yield from _starts(ground, urls)


def _database(ground: Ground, module: ModuleType) -> str:
    url = ground.database(module.__name__.rpartition(".")[2])
    module.prepare(url)
    return url


def _drains(ground: Ground, urls: dict[ModuleType, str], batch: int) -> Iterator[Row]:
    count = ground.count(5000, 600)
    counts = {module: min(count, FEWER.get(module, count)) for module in urls}
    speeds: dict[ModuleType, list[float]] = {module: [] for module in urls}
    for _ in range(ROUNDS):
        for module, url in urls.items():
            speeds[module].append(_speed(module, url, batch, counts[module]))
    what = f"queue, no-op jobs, {batch} at a time: jobs/s"
    for module in PEERS:
        yield compare(what, speeds[docmill_queue], speeds[module], show=_cost, name=module.NAME)


def _cost(speed: float) -> str:
    return f"{speed:.0f}/s ({1000 / speed:.2f} ms)"


def _speed(module: ModuleType, url: str, batch: int, count: int) -> float:
    """The fill may be anybody's; the drain is one fresh process."""
    module.fill(url, count)
    return apart(module.drain, url, batch)


def _starts(ground: Ground, urls: dict[ModuleType, str]) -> Iterator[Row]:
    samples = ground.count(200, 15)
    ours = _latency(docmill_queue, urls[docmill_queue], samples)
    for module in (procrastinate_queue, pgqueuer_queue, awa_queue):
        its = _latency(module, urls[module], samples)
        yield Row(
            "queue, enqueue to start when idle", _two(ours), f"{module.NAME} {_two(its)}",
            its.p50 / ours.p50, "push and pop < 50 ms", ours.p99 < 50,
            {"ms": asdict(ours), "other": asdict(its), "name": module.NAME},
        )  # fmt: skip


def _two(took: Spread) -> str:
    return f"p50 {took.p50:.1f}, p99 {took.p99:.1f} ms"


def _latency(module: ModuleType, url: str, samples: int) -> Spread:
    """From the call that enqueues to the first line of the run, in another process."""
    fresh = multiprocessing.get_context("spawn")
    heard, report = fresh.Pipe(duplex=False)
    worker = fresh.Process(target=module.work, args=(url, report))
    worker.start()
    try:
        return spread(asyncio.run(_sample(module, url, heard, samples)))
    finally:
        worker.kill()
        worker.join()


async def _sample(module: ModuleType, url: str, heard: Connection, samples: int) -> list[float]:
    took: list[float] = []
    async with module.enqueuing(url) as enqueue:
        for number in range(samples + 5):
            token, began = str(uuid4()), time.monotonic()
            await enqueue(token)
            told, started = await asyncio.to_thread(_heard, heard)
            assert told == token
            if number >= 5:  # the first ones wait for the worker to come up
                took.append(started - began)
            await asyncio.sleep(PAUSE + random.random() / 50)
    return took


def _heard(heard: Connection) -> tuple[str, float]:
    assert heard.poll(20), "no start within 20 s"
    return heard.recv()
