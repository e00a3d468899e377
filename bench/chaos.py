"""Kills, freezes and restarts under load, then counts. `python -m bench.chaos --help`."""

import argparse
import asyncio
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from uuid import UUID, uuid4

import psycopg

from bench import crew
from bench.checker import Verdict, judge
from bench.crew import RULES, fork
from docmill.core.documents import NewDocument
from docmill.core.jobs import (
    Claimed,
    DocumentId,
    Ending,
    Finished,
    JobId,
    StoredResult,
    Usage,
)
from docmill.core.owners import OwnerKey
from docmill.db import documents, embedded, jobs, migrate, owners
from docmill.db.pool import OUTAGES, Pool, open_pool
from docmill.db.signals import WORK, Bell
from docmill.work.worker import Note

OWNERS: Final = 40
FEEDERS: Final = 6
LEASE: Final = RULES.lease.total_seconds()


@dataclass(frozen=True, slots=True)
class Plan:
    """How much trouble to make."""

    jobs: int = 10_000
    workers: int = 6
    kills: int = 1_000
    stops: int = 50
    restarts: int = 10
    seed: int = 1
    fence: bool = True
    limit: float = 600.0


async def pretend(job: Claimed, note: Note) -> tuple[Ending, Usage | None]:
    """A run that takes its time and says so."""
    note(50, "half of it")
    await asyncio.sleep(random.expovariate(40))
    key = f"results/{job.id}.{job.claim}.gz"
    return Finished(StoredResult(key, "application/json", 2, 2, "0" * 64, "1")), Usage(1, 1, 1)


def worker(url: str, store: Path, *, fence: bool) -> None:
    crew.hush()
    if not fence:
        crew.unfence()
    asyncio.run(crew.work(url, RULES, store, lambda _: pretend))


def enqueuer(url: str, plan: Plan, acknowledgements: Path) -> None:
    crew.hush()
    asyncio.run(_enqueue(url, plan, acknowledgements))


async def _enqueue(url: str, plan: Plan, acknowledgements: Path) -> None:
    """Adds jobs as web processes do; an id is written down only after its COMMIT was heard."""
    left = iter(range(plan.jobs))
    async with open_pool(url, size=FEEDERS) as pool:
        bell = Bell(pool, WORK)

        async def feed() -> None:
            for _ in left:
                told.write(f"{await _added(pool)}\n")
                told.flush()
                bell.ring()

        with acknowledgements.open("a") as told:
            await asyncio.gather(*(feed() for _ in range(FEEDERS)))
        await bell.close()


async def _added(pool: Pool) -> UUID:
    while True:
        with suppress(*OUTAGES, psycopg.errors.DeadlockDetected):
            return await _add(pool)
        await asyncio.sleep(0.1)


async def _add(pool: Pool) -> UUID:
    """Settles an unheard COMMIT by looking, as intake does."""
    job_id, document_id = JobId(uuid4()), DocumentId(uuid4())
    owner = OwnerKey(f"session:{random.randrange(OWNERS)}")
    document = NewDocument(
        document_id, "0" * 64, 1, "application/pdf", "a.pdf", "upload", f"uploads/{document_id}", {}
    )
    job = jobs.NewJob(job_id, document_id, owner, "extract", None, {}, 0, str(job_id))
    try:
        async with pool.connection() as conn:
            await owners.introduce(conn, owner)
            await documents.add(conn, owner, document, keep=None)
            await jobs.add(conn, job)
            await jobs.enqueue(conn, job)
    except OUTAGES:
        if not await _exists(pool, job_id):
            raise
    return job_id


async def _exists(pool: Pool, job_id: JobId) -> bool:
    while True:
        try:
            async with pool.connection() as conn:
                return await jobs.one(conn, job_id) is not None
        except OUTAGES:
            await asyncio.sleep(0.2)


class Storm:
    """The faults, in a random order that the seed decides."""

    def __init__(self, plan: Plan, folder: Path) -> None:
        self.plan: Plan = plan
        self._random: random.Random = random.Random(plan.seed)
        self._folder: Path = folder
        self._server: embedded.Server = embedded.start(folder / "pg")
        self.url: str = self._server.url
        self._pids: list[int] = []
        self._frozen: dict[int, float] = {}

    def begin(self) -> None:
        asyncio.run(migrate.migrate(self.url))
        self._pids = [self._fork() for _ in range(self.plan.workers)]

    def _fork(self) -> int:
        return fork(lambda: worker(self.url, self._folder / "store", fence=self.plan.fence))

    def faults(self) -> list[str]:
        plan = self.plan
        faults = ["kill"] * plan.kills + ["stop"] * plan.stops + ["restart"] * plan.restarts
        self._random.shuffle(faults)
        return faults

    def strike(self, fault: str) -> None:
        self._thaw()
        if fault == "restart":
            self._restart()
            return
        lively = [pid for pid in self._pids if pid not in self._frozen]
        if not lively:
            return
        pid = self._random.choice(lively)
        if fault == "kill":
            self._kill(pid)
        else:
            os.kill(pid, signal.SIGSTOP)
            self._frozen[pid] = time.monotonic() + LEASE * self._random.uniform(1.2, 2)

    def _kill(self, pid: int) -> None:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        self._pids[self._pids.index(pid)] = self._fork()

    def _restart(self) -> None:
        os.kill(self._server.pid, signal.SIGQUIT)
        self._server = embedded.start(self._folder / "pg")

    def _thaw(self, *, all_of_them: bool = False) -> None:
        for pid, until in list(self._frozen.items()):
            if all_of_them or time.monotonic() > until:
                os.kill(pid, signal.SIGCONT)
                del self._frozen[pid]

    def settle_down(self) -> None:
        while self._frozen:
            self._thaw()
            time.sleep(0.1)

    def end(self) -> None:
        self._thaw(all_of_them=True)
        for pid in self._pids:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        self._server.stop()


def waiting(url: str) -> int:
    query = "SELECT count(*) FROM jobs WHERE status IN ('uploaded', 'queued', 'processing')"
    with psycopg.connect(url) as conn:
        row = conn.execute(query).fetchone()
    return row[0] if row else 0


def run(plan: Plan, *, tell: Callable[[str], None] = lambda _: None) -> Verdict:
    """Make the storm, wait until the queue is drained, and judge."""
    folder = Path(tempfile.mkdtemp(prefix="docmill-chaos-", dir="/tmp"))
    told = folder / "acknowledged"
    told.touch()
    deadline = time.monotonic() + plan.limit
    storm = Storm(plan, folder)
    try:
        storm.begin()
        feeder = fork(lambda: enqueuer(storm.url, plan, told))
        for number, fault in enumerate(storm.faults()):
            storm.strike(fault)
            time.sleep(0.02)
            if number % 100 == 0:
                tell(f"{number} faults, {waiting(storm.url)} jobs open")
        storm.settle_down()
        os.waitpid(feeder, 0)
        while waiting(storm.url) and time.monotonic() < deadline:
            time.sleep(0.2)
        ids = [UUID(line) for line in told.read_text().split()]
        return judge(storm.url, ids)
    finally:
        storm.end()
        shutil.rmtree(folder, ignore_errors=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name, value in (("jobs", 10_000), ("kills", 1_000), ("stops", 50), ("restarts", 10)):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    parser.add_argument("--limit", type=float, default=600, help="seconds to drain the queue")
    parser.add_argument("--without-fence", action="store_true", help="the negative control")
    given = parser.parse_args()
    plan = Plan(
        jobs=given.jobs, kills=given.kills, stops=given.stops, restarts=given.restarts,
        seed=given.seed, limit=given.limit, fence=not given.without_fence,
    )  # fmt: skip
    print(f"seed {plan.seed}: {plan}")
    began = time.monotonic()
    verdict = run(plan, tell=print)
    print(f"{verdict} in {time.monotonic() - began:.0f} s")
    sys.exit(0 if verdict.clean == plan.fence else 1)


if __name__ == "__main__":
    main()
