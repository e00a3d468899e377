"""The queue under 4 to 256 workers against one PostgreSQL, beside a session with an old snapshot.

`python -m bench.fleet`. A worker here is a task that claims and settles by docmill's own SQL and
sleeps for as long as a document takes; tasks are spread over several processes, and those of a
process share its connections, as workers share PgBouncer's. Prints claims a second and how long a
claim took, connection included.
"""

import argparse
import asyncio
import multiprocessing
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

import psycopg

from bench import filling
from bench.ground import Ground, prepared
from docmill.core.jobs import Claimed, Finished, Retry, StoredResult, settle
from docmill.db.pool import Pool, open_pool
from docmill.queue import claim
from docmill.queue.settle import Settlement, write_settlements

FLEETS: Final = (4, 8, 16, 32, 64, 128, 256)
OWNERS: Final = 1000
LEASE: Final = timedelta(minutes=5)
WAIT: Final = timedelta(minutes=2)
PIPELINES: Final = ("extract",)


@dataclass(frozen=True, slots=True)
class Load:
    """What every worker does, and for how long."""

    url: str
    slots: int
    document_seconds: float
    seconds: float
    connections: int


@dataclass(frozen=True, slots=True)
class Counted:
    jobs: int
    claims: tuple[float, ...]

    def percentile(self, share: float) -> float:
        ordered = sorted(self.claims)
        return ordered[min(int(share * len(ordered)), len(ordered) - 1)] if ordered else 0.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=20, help="how long each fleet works")
    parser.add_argument("--document", type=float, default=0.35, help="seconds a document takes")
    parser.add_argument("--slots", type=int, default=3)
    parser.add_argument("--processes", type=int, default=4)
    parser.add_argument("--connections", type=int, default=5, help="of each process")
    parser.add_argument("--workers", type=int, nargs="*", default=FLEETS)
    given = parser.parse_args()
    print("workers  jobs/s  wanted/s  claim p50 ms  claim p99 ms")
    with prepared(quick=False) as ground:
        for workers in given.workers:
            print(_measure(ground, workers, given), flush=True)


def _measure(ground: Ground, workers: int, given: argparse.Namespace) -> str:
    url = ground.migrated(f"fleet_{workers}")
    wanted = workers * given.slots / given.document
    with psycopg.connect(url) as conn:
        filling.owners(conn, OWNERS)
        filling.queued(conn, int(wanted * given.seconds * 1.2) + 1000)
    filling.settle_down(url)
    load = Load(url, given.slots, given.document, given.seconds, given.connections)
    shares = [len(range(turn, workers, given.processes)) for turn in range(given.processes)]
    with psycopg.connect(url) as old:
        old.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
        old.execute("SELECT count(*) FROM owners")  # from now on nothing that dies is removed
        counted = _run(load, [share for share in shares if share])
        old.rollback()
    rate = counted.jobs / given.seconds
    p50, p99 = (1000 * counted.percentile(share) for share in (0.5, 0.99))
    return f"{workers:7}  {rate:6.0f}  {wanted:8.0f}  {p50:12.1f}  {p99:12.1f}"


def _run(load: Load, shares: Sequence[int]) -> Counted:
    fresh = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(len(shares), mp_context=fresh) as pool:
        parts = list(pool.map(_work_apart, [load] * len(shares), shares))
    return Counted(
        sum(one.jobs for one in parts), tuple(took for one in parts for took in one.claims)
    )


def _work_apart(load: Load, workers: int) -> Counted:
    return asyncio.run(_work(load, workers))


async def _work(load: Load, workers: int) -> Counted:
    claims: list[float] = []
    async with open_pool(load.url, size=load.connections, wait=WAIT) as pool:
        until = time.monotonic() + load.seconds
        done = await asyncio.gather(
            *(_be_worker(pool, load, f"fleet-{number}", until, claims) for number in range(workers))
        )
    return Counted(sum(done), tuple(claims))


async def _be_worker(pool: Pool, load: Load, name: str, until: float, claims: list[float]) -> int:
    """How many jobs it settled in time."""
    done = 0
    while time.monotonic() < until:
        began_at = time.perf_counter()
        async with pool.connection() as conn:
            jobs = await claim.claim(conn, name, pipelines=PIPELINES, slots=load.slots, lease=LEASE)
        claims.append(time.perf_counter() - began_at)
        if not jobs:
            raise RuntimeError("the queue ran empty: what was measured is not the claim")
        await asyncio.sleep(load.document_seconds)
        async with pool.connection() as conn:
            written = await write_settlements(conn, [_finish(job) for job in jobs])
        done += len(written) if time.monotonic() < until else 0
    return done


def _finish(job: Claimed) -> Settlement:
    key = f"results/{job.id}.{job.claim}.gz"
    result = Finished(StoredResult(key, "application/json", 10, 8, "0" * 64, "1"))
    return Settlement(job, settle(job, result, retry=Retry(), chance=0))


if __name__ == "__main__":
    main()
