"""How long a claim takes behind few and many finished jobs, and behind a long unfair queue."""

import asyncio
import statistics
import time
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack
from datetime import timedelta
from typing import Final

import psycopg

from bench import filling
from bench.ground import Ground
from docmill.db.pool import Connection
from docmill.queue import claim
from eval.rows import Row

SLOTS: Final = 3
SAMPLES: Final = 200
OWNERS: Final = 1000
FEW: Final = 1000
# Growth of the table by a thousand may cost a claim no more than this.
FLAT: Final = 2.0


def measure(ground: Ground) -> Iterator[Row]:
    """Two databases claim in turn, so that whatever else the machine does slows both."""
    many, long = ground.count(1_000_000, 50_000), ground.count(50_000, 5_000)
    small, large = ground.migrated("claims_small"), ground.migrated("claims_large")
    _fill(small, FEW)
    _fill(large, many)
    yield _row(f"claim of {SLOTS}, 1,000 queued behind {many:,} ended", _claims(small, large))
    with psycopg.connect(large) as conn:
        filling.queued(conn, long - FEW, most_of_one=True)
    yield _row(f"claim of {SLOTS}, {long:,} queued, 90 % of one owner", _claims(small, large))


def _fill(url: str, ended: int) -> None:
    with psycopg.connect(url) as conn:
        filling.owners(conn, OWNERS)
        filling.finished(conn, ended)
        filling.queued(conn, FEW)


def _row(what: str, took: tuple[float, float]) -> Row:
    few, many = took
    return Row(
        what, f"{many:.2f} ms", f"behind 1,000: {few:.2f} ms", few / many,
        f"flat (< {FLAT:.0f} times)", many < FLAT * few, {"ms": many, "few": few},
    )  # fmt: skip


def _claims(*urls: str) -> tuple[float, ...]:
    for url in urls:
        filling.settle_down(url)
    return asyncio.run(_medians(urls))


async def _medians(urls: Sequence[str]) -> tuple[float, ...]:
    took: list[list[float]] = [[] for _ in urls]
    async with AsyncExitStack() as stack:
        connect = psycopg.AsyncConnection.connect
        conns = [await stack.enter_async_context(await connect(url)) for url in urls]
        for _ in range(SAMPLES):
            for mine, conn in zip(took, conns, strict=True):
                mine.append(await _claim(conn))
    return tuple(1000 * statistics.median(mine) for mine in took)


async def _claim(conn: Connection) -> float:
    """The claim alone: it is taken back, so that each one finds the same queue."""
    await conn.execute("SELECT")  # the transaction begins outside the clock
    began = time.perf_counter()
    claimed = await claim.claim(
        conn, "bench", pipelines=["extract"], slots=SLOTS, lease=timedelta(minutes=5)
    )
    took = time.perf_counter() - began
    assert len(claimed) == SLOTS
    await conn.rollback()
    return took
