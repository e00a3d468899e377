"""Ten jobs of B behind ten thousand of A, against ten on an empty queue. `--help` for its size."""

import argparse
import asyncio
import shutil
import sys
import tempfile
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from statistics import quantiles
from typing import Final
from uuid import uuid4

from bench import crew
from docmill.core.documents import NewDocument
from docmill.core.jobs import (
    Claimed,
    DocumentId,
    Ending,
    Finished,
    JobId,
    ReportProgress,
    StoredResult,
    Usage,
)
from docmill.core.owners import OwnerKey
from docmill.db import embedded, migrate
from docmill.db.notify import CHANGES, WORK, Notifier
from docmill.db.pool import Pool, open_pool
from docmill.documents import queries
from docmill.queue import enqueue, leases
from docmill.queue.worker import Worker, WorkerConfig, WorkerLinks

A, B = OwnerKey("user:a"), OwnerKey("user:b")
FEW: Final = 10
WORKERS: Final = 2
RULES: Final = WorkerConfig(["extract"], slots=3, poll=timedelta(seconds=1))
FACTOR: Final = 3.0
ADD_MANY: Final = """
INSERT INTO jobs (id, document_id, owner, pipeline)
SELECT gen_random_uuid(), document_id, owner, pipeline FROM jobs, generate_series(2, %s)
 WHERE owner = 'user:a'
"""
# As if each had been enqueued by itself: one tag after the other.
QUEUE_MANY: Final = """
UPDATE jobs SET status = 'queued', queued_at = now(), start_tag = tags.tag FROM (
    SELECT id, (SELECT last_tag FROM owners WHERE owner = 'user:a') + row_number() OVER () AS tag
      FROM jobs WHERE status = 'uploaded') AS tags
 WHERE jobs.id = tags.id
"""
TOOK: Final = """
SELECT extract(epoch FROM started_at - queued_at)::float8,
       extract(epoch FROM completed_at - queued_at)::float8
  FROM jobs WHERE owner = 'user:b' AND id = ANY(%s) AND status = 'complete'
"""


@dataclass(frozen=True, slots=True)
class Waits:
    """Milliseconds at the 95th percentile: until a job of B began, and until it was done."""

    began: float
    done: float


class SteadyRunner:
    """Every job takes as long."""

    def __init__(self, seconds: float) -> None:
        self._seconds: float = seconds

    async def __call__(self, job: Claimed, _: ReportProgress) -> tuple[Ending, Usage | None]:
        await asyncio.sleep(self._seconds)
        key = f"results/{job.id}.{job.claim}.gz"
        return Finished(StoredResult(key, "application/json", 1, 1, "0" * 64, "1")), None


async def add(pool: Pool, owner: OwnerKey) -> JobId:
    new = NewDocument(
        DocumentId(uuid4()), "0" * 64, 1, "application/pdf", "a.pdf", "upload", f"u/{uuid4()}", {}
    )
    job = enqueue.NewJob(JobId(uuid4()), new.id, owner, "extract", None, {}, 0, None)
    async with pool.connection() as conn:
        await enqueue.ensure_owner(conn, owner)
        await queries.insert_document(conn, owner, new, keep=timedelta(days=7))
        await enqueue.add_job(conn, job)
        await enqueue.enqueue(conn, job)
    return job.id


async def flood(pool: Pool, many: int) -> None:
    await add(pool, A)
    async with pool.connection() as conn:
        await conn.execute(ADD_MANY, (many,))
        await conn.execute(QUEUE_MANY)


async def measure(pool: Pool) -> Waits:
    """B sends ten and waits for them."""
    ring = Notifier(pool, WORK)
    jobs = [await add(pool, B) for _ in range(FEW)]
    ring.ring()
    while True:
        async with pool.connection() as conn:
            took = await (await conn.execute(TOOK, (jobs,))).fetchall()
        if len(took) == FEW:
            break
        await asyncio.sleep(0.1)
    await ring.close()
    began, done = ([1000 * row[which] for row in took] for which in (0, 1))
    return Waits(quantiles(began, n=20)[-1], quantiles(done, n=20)[-1])


async def compare(url: str, many: int, seconds: float) -> tuple[Waits, Waits]:
    await migrate.migrate(url)
    async with open_pool(url, size=10) as pool:
        changes, runner = Notifier(pool, CHANGES), SteadyRunner(seconds)
        workers = [
            Worker(WorkerLinks(pool, url, changes), RULES, runner, leases.identify())
            for _ in range(WORKERS)
        ]
        working = [asyncio.create_task(worker.run()) for worker in workers]
        await measure(pool)  # all are awake
        alone = await measure(pool)
        await flood(pool, many)
        behind = await measure(pool)
        for worker in workers:
            worker.stop()
            worker.stop()
        await asyncio.gather(*working)
        await changes.close()
    return alone, behind


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--many", type=int, default=10_000)
    parser.add_argument("--seconds", type=float, default=0.3, help="how long each job takes")
    given = parser.parse_args()
    crew.hush()
    folder = Path(tempfile.mkdtemp(prefix="docmill-fairness-", dir="/tmp"))
    server = embedded.start(folder / "pg")
    try:
        alone, behind = asyncio.run(compare(server.url, given.many, given.seconds))
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)
    factor = behind.done / alone.done
    print(
        f"{FEW} jobs of B, each {given.seconds} s, {WORKERS} workers of {RULES.slots} slots, p95:"
    )
    print(f"  on an empty queue      began {alone.began:7.0f} ms  done {alone.done:7.0f} ms")
    print(
        f"  behind {given.many:6} of A    began {behind.began:7.0f} ms  done {behind.done:7.0f} ms"
    )
    print(f"  {factor:.1f} x as long (at most {FACTOR:.0f})")
    sys.exit(0 if factor < FACTOR else 1)


if __name__ == "__main__":
    main()
