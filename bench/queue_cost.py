"""What claiming and settling a job costs PostgreSQL in CPU time, by statement.

`python -m bench.queue_cost [--jobs N]`. One connection claims and settles no-op jobs, 10 and 100 at
a time, by turns in two statements and in the one that does both; the median batch is told.
"""

import argparse
import asyncio
import shutil
import signal
import statistics
from asyncio.subprocess import PIPE
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Final

import psycopg

from bench.contenders import docmill_queue
from bench.ground import prepared
from docmill.core import jobs
from docmill.core.jobs import Claimed, Retry, Usage
from docmill.db.pool import Connection
from docmill.queue import claim, settle

BATCHES: Final = (10, 100)
WARM: Final = 12  # batches until nothing is planned anew
COUNTED: Final = 20
PLANS: Final = "SELECT sum(generic_plans), sum(custom_plans) FROM pg_prepared_statements"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--jobs", type=int, default=2500, help="jobs for each size of batch")
    given = parser.parse_args()
    with prepared(quick=False) as ground:
        url = ground.migrated("cost")
        for batch in BATCHES:
            docmill_queue.fill(url, given.jobs)
            print(asyncio.run(_measure(url, batch)))
        for batch in (1, *BATCHES) if shutil.which("perf") else ():
            docmill_queue.fill(url, (WARM + COUNTED + 2) * batch)
            print(asyncio.run(_count(url, batch)))


async def _measure(url: str, batch: int) -> str:
    claims: list[float] = []
    settlings: list[float] = []
    exchanges: list[float] = []
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as conn:
        while True:
            began = _cpu(conn)
            claimed = await _claim(conn, batch)
            taken = _cpu(conn)
            following = await _exchange(conn, claimed, batch)
            exchanged = _cpu(conn)
            if len(following) < batch:
                break
            await _settle(conn, following)
            claims.append(taken - began)
            exchanges.append(exchanged - taken)
            settlings.append(_cpu(conn) - exchanged)
        plans = await (await conn.execute(PLANS)).fetchone() or (0, 0)
    return (
        f"{batch} at a time: claim {_each(claims, batch):.0f} us a job, settling"
        f" {_each(settlings, batch):.0f} us, both at once {_each(exchanges, batch):.0f} us;"
        f" planned {plans[1]} of {sum(plans)} times"
    )


async def _count(url: str, batch: int) -> str:
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as conn:
        claimed = await _claim(conn, batch)
        for _ in range(WARM):
            claimed = await _exchange(conn, claimed, batch)
        async with _counting(conn.info.backend_pid) as counted:
            for _ in range(COUNTED):
                claimed = await _exchange(conn, claimed, batch)
    each = f"{counted[0] / COUNTED / batch / 1000:.0f}" if counted else "uncounted"
    return f"{batch} at a time: both at once {each} thousand instructions a job"


@asynccontextmanager
async def _counting(pid: int) -> AsyncGenerator[list[int]]:
    """Holds what the process has run when the block has ended; nothing where that is forbidden."""
    counted: list[int] = []
    words = ("perf", "stat", "-x,", "-e", "instructions", "-p", str(pid))
    counter = await asyncio.create_subprocess_exec(*words, stderr=PIPE)
    await asyncio.sleep(0.5)  # it says nothing when it begins
    try:
        yield counted
    finally:
        if counter.returncode is None:
            counter.send_signal(signal.SIGINT)
        _, told = await counter.communicate()
        number = told.decode().split(",")[0]
        if number.isdigit():
            counted.append(int(number))


async def _claim(conn: Connection, batch: int) -> list[Claimed]:
    lease = timedelta(minutes=5)
    return await claim.claim(conn, "bench", pipelines=["extract"], slots=batch, lease=lease)


async def _exchange(conn: Connection, claimed: Sequence[Claimed], batch: int) -> list[Claimed]:
    taker = claim.Claimer("bench", ["extract"], timedelta(minutes=5))
    room = claim.FreeSlots(batch, batch)
    moved, following = await settle.exchange(conn, _make_endings(claimed), taker, room)
    assert len(moved) == len(claimed)
    return following


async def _settle(conn: Connection, claimed: Sequence[Claimed]) -> None:
    assert len(await settle.write_settlements(conn, _make_endings(claimed))) == len(claimed)


def _make_endings(claimed: Sequence[Claimed]) -> list[settle.Settlement]:
    return [
        settle.Settlement(
            job,
            jobs.settle(job, docmill_queue.make_result(job), retry=Retry(), chance=0),
            Usage(1, 1, 1),
            timedelta(days=30),
        )
        for job in claimed
    ]


def _cpu(conn: Connection) -> float:
    """Microseconds that the server's process of this connection has run so far."""
    spent = Path(f"/proc/{conn.info.backend_pid}/schedstat").read_text().split()[0]
    return int(spent) / 1000


def _each(took: list[float], batch: int) -> float:
    return statistics.median(took) / batch


if __name__ == "__main__":
    main()
