"""Kills, freezes and restarts under load, then counts. `python -m bench.chaos --help`.

A freeze is no matter of luck: a worker is stopped while it runs a job that cannot end before, and
goes on only when another worker has claimed that job and the run may end for both.
"""

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
from dataclasses import dataclass, replace
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
    ReportProgress,
    StoredResult,
    Usage,
)
from docmill.core.owners import OwnerKey
from docmill.db import embedded, migrate
from docmill.db.notify import WORK, Notifier
from docmill.db.pool import OUTAGES, Connection, Pool, open_pool
from docmill.documents import queries
from docmill.queue import enqueue

OWNERS: Final = 40
# Of the workers so many are never frozen: somebody has to take the jobs of the others over.
LIVELY: Final = 2
PATIENCE: Final = 60.0
# A thawed worker is not killed so soon: it has something stale to write.
SPARED: Final = 1.0
FEEDERS: Final = 6
ACKNOWLEDGED: Final = "acknowledged"


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


async def pretend(job: Claimed, note: ReportProgress) -> tuple[Ending, Usage | None]:
    """A run that takes its time and says so; a bait waits until its gate is there."""
    note(50, "half of it")
    if gate := job.options.get("gate"):
        while not Path(gate).exists():  # noqa: ASYNC110, ASYNC240  another process opens it
            await asyncio.sleep(0.01)
    else:
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
    left = iter(range(plan.jobs - plan.stops))
    async with open_pool(url, size=FEEDERS) as pool:
        bell = Notifier(pool, WORK)

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
    job_id = JobId(uuid4())
    try:
        async with pool.connection() as conn:
            await _enter(conn, job_id, f"session:{random.randrange(OWNERS)}", {})
    except OUTAGES:
        if not await _exists(pool, job_id):
            raise
    return job_id


async def _enter(conn: Connection, job_id: JobId, who: str, options: dict[str, str]) -> None:
    owner, document_id = OwnerKey(who), DocumentId(uuid4())
    document = NewDocument(
        document_id, "0" * 64, 1, "application/pdf", "a.pdf", "upload", f"uploads/{document_id}", {}
    )
    priority = 100 if options else 0
    job = enqueue.NewJob(
        job_id, document_id, owner, "extract", None, options, priority, str(job_id)
    )
    await enqueue.ensure_owner(conn, owner)
    await queries.insert_document(conn, owner, document, keep=None)
    await enqueue.add_job(conn, job)
    await enqueue.enqueue(conn, job)


async def _exists(pool: Pool, job_id: JobId) -> bool:
    while True:
        try:
            async with pool.connection() as conn:
                return await enqueue.find_job(conn, job_id) is not None
        except OUTAGES:
            await asyncio.sleep(0.2)


@dataclass(frozen=True, slots=True)
class Bait:
    """A job whose run ends only when its gate is there, and the claim under which it was caught."""

    id: JobId
    gate: Path
    claim: int = 0


HOLDER: Final = """
SELECT claim, split_part(leased_by, '/', 3)::int FROM jobs WHERE id = %s AND status = 'processing'
"""
CLAIM: Final = "SELECT claim FROM jobs WHERE id = %s"
# Somebody who was stopped inside a transaction holds its locks, and nobody could go on.
HELD_UP: Final = """
SELECT count(*) FROM pg_stat_activity
 WHERE datname = current_database() AND state = 'idle in transaction'
   AND clock_timestamp() - state_change > interval '100 ms'
"""


class Storm:
    """The faults, in a random order that the seed decides."""

    def __init__(self, plan: Plan, folder: Path) -> None:
        self.plan: Plan = plan
        self._random: random.Random = random.Random(plan.seed)
        self._folder: Path = folder
        self._server: embedded.Server = embedded.start(folder / "pg")
        self.url: str = self._server.url
        self._pids: list[int] = []
        self._frozen: dict[int, Bait] = {}
        self._spared: dict[int, float] = {}
        self.caught: int = 0

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
        if fault == "stop":
            self._freeze()
            return
        now = time.monotonic()
        lively = [pid for pid in self._lively() if self._spared.get(pid, 0.0) < now]
        if lively:
            self._kill(self._random.choice(lively))

    def _has_room(self) -> bool:
        self._thaw()
        return len(self._lively()) > LIVELY

    def _is_thawed(self) -> bool:
        self._thaw()
        return not self._frozen

    def _lively(self) -> list[int]:
        return [pid for pid in self._pids if pid not in self._frozen]

    def _freeze(self) -> None:
        """Stop whoever runs the bait, in the middle of its run and outside any transaction."""
        wait_for(self._has_room, "another worker is free")
        bait = self._lay_bait()
        wait_for(lambda: self._catch(bait), "a worker runs the bait")

    def _lay_bait(self) -> Bait:
        job_id = JobId(uuid4())
        bait = Bait(job_id, self._folder / f"gate-{job_id}")

        async def enter() -> None:
            async with await psycopg.AsyncConnection.connect(self.url) as conn:
                await _enter(conn, job_id, f"session:bait-{job_id}", {"gate": str(bait.gate)})

        asyncio.run(enter())
        with (self._folder / ACKNOWLEDGED).open("a") as told:
            told.write(f"{job_id}\n")
        return bait

    def _catch(self, bait: Bait) -> bool:
        with psycopg.connect(self.url, autocommit=True) as conn:
            row = conn.execute(HOLDER, (bait.id,)).fetchone()
            if row is None or row[1] not in self._lively():
                return False
            claim, pid = row
            os.kill(pid, signal.SIGSTOP)
            time.sleep(0.15)
            held_up = conn.execute(HELD_UP).fetchone()
            if held_up != (0,) or conn.execute(HOLDER, (bait.id,)).fetchone() != row:
                os.kill(pid, signal.SIGCONT)
                return False
        self._frozen[pid] = replace(bait, claim=claim)
        return True

    def _kill(self, pid: int) -> None:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        self._pids[self._pids.index(pid)] = self._fork()

    def _restart(self) -> None:
        os.kill(self._server.pid, signal.SIGQUIT)
        self._server = embedded.start(self._folder / "pg")

    def _thaw(self) -> None:
        """Those whose job another worker has by now go on, and find that their run may end."""
        for pid, bait in list(self._frozen.items()):
            with psycopg.connect(self.url) as conn:
                row = conn.execute(CLAIM, (bait.id,)).fetchone()
            if row and row[0] > bait.claim:
                bait.gate.touch()
                os.kill(pid, signal.SIGCONT)
                del self._frozen[pid]
                self._spared[pid] = time.monotonic() + SPARED
                self.caught += 1

    def settle_down(self) -> None:
        wait_for(self._is_thawed, "others have the jobs of the frozen")
        time.sleep(SPARED)  # what the last of them has to write is written, or refused, by then

    def end(self) -> None:
        for pid in self._pids:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        self._server.stop()


def wait_for(fact: Callable[[], bool], what: str) -> None:
    until = time.monotonic() + PATIENCE
    while not fact():
        if time.monotonic() > until:
            raise TimeoutError(f"{what}: not within {PATIENCE:.0f} s")
        time.sleep(0.01)


def waiting(url: str) -> int:
    query = "SELECT count(*) FROM jobs WHERE status IN ('uploaded', 'queued', 'processing')"
    with psycopg.connect(url) as conn:
        row = conn.execute(query).fetchone()
    return row[0] if row else 0


def run(plan: Plan, *, tell: Callable[[str], None] = lambda _: None) -> Verdict:
    """Make the storm, wait until the queue is drained, and judge."""
    folder = Path(tempfile.mkdtemp(prefix="docmill-chaos-", dir="/tmp"))
    told = folder / ACKNOWLEDGED
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
        tell(f"{storm.caught} of {plan.stops} stops froze a run until another worker had its job")
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
