"""Freezes a worker at each named point until another has its job, then thaws it and looks.

A late write must change nothing. `python -m bench.frozen --rounds 50` for the long version.
"""

import argparse
import asyncio
import hashlib
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import BinaryIO, Final
from uuid import uuid4

import psycopg

from bench import crew
from docmill.core import failpoints
from docmill.core.documents import NewDocument
from docmill.core.jobs import Claimed, DocumentId, JobId, ReportProgress, Usage
from docmill.core.owners import OwnerKey
from docmill.db import embedded, migrate
from docmill.db.pool import Pool
from docmill.documents import queries
from docmill.jobs.runner import JobRunner, RunnerParts
from docmill.queue import enqueue
from docmill.queue.worker import Runner
from docmill.sandbox.limits import RunLimits
from docmill.sandbox.outcome import RunOutcome, RunReturned
from docmill.sandbox.pool import SandboxPool
from docmill.storage.local import LocalStore

POINTS: Final = (
    "claim.before", "claim.after", "beat.before", "run.started", "result.stored", "settle.before",
    "settle.after", "rescue.before",
)  # fmt: skip
# These come round without a job; they are armed by the run, so that one is in hand.
IDLE: Final = frozenset({"beat.before", "rescue.before"})
RULES: Final = replace(
    crew.RULES, slots=1, lease=timedelta(seconds=2), heartbeat=timedelta(seconds=0.05),
    poll=timedelta(seconds=0.05),
)  # fmt: skip
# Who takes the job over keeps it, however seldom a busy machine lets it beat.
SUCCESSOR: Final = replace(RULES, lease=timedelta(minutes=10))
PATIENCE: Final = 180.0
BYTES: Final = b"%PDF-"


@dataclass(frozen=True, slots=True)
class Scene:
    url: str
    folder: Path

    @property
    def store(self) -> Path:
        return self.folder / "store"

    @property
    def gate(self) -> Path:
        """The second worker's run lasts until this exists."""
        return self.folder / "gate"


@dataclass(frozen=True, slots=True)
class Found:
    """A job's row as the database has it."""

    status: str
    claim: int
    result_key: str | None
    completions: int


LOOK: Final = """
SELECT status, claim, result_key,
       (SELECT count(*) FROM job_events WHERE job_id = jobs.id AND kind = 'complete')
  FROM jobs WHERE id = %s
"""


def look(scene: Scene, job_id: JobId) -> Found:
    with psycopg.connect(scene.url) as conn:
        row = conn.execute(LOOK, (job_id,)).fetchone()
    assert row is not None
    return Found(*row)


async def add(scene: Scene) -> JobId:
    document = NewDocument(
        DocumentId(uuid4()), hashlib.sha256(BYTES).hexdigest(), len(BYTES), "application/pdf",
        "a.pdf", "upload", f"uploads/{uuid4()}", {},
    )  # fmt: skip
    job_id, owner = JobId(uuid4()), OwnerKey("session:frozen")
    await LocalStore(scene.store).put(document.upload_key, BYTES)
    job = enqueue.NewJob(job_id, document.id, owner, "extract", None, {}, 0, str(job_id))
    async with await psycopg.AsyncConnection.connect(scene.url) as conn:
        await enqueue.ensure_owner(conn, owner)
        await queries.insert_document(conn, owner, document, keep=None)
        await enqueue.add_job(conn, job)
        await enqueue.enqueue(conn, job)
    return job_id


def runner(scene: Scene, run: Callable[[], "asyncio.Future[None]"]) -> Callable[[Pool], Runner]:
    """The real runner, with the child's part done here."""

    async def here(_job: Claimed, _file: BinaryIO, _note: ReportProgress) -> RunOutcome:
        await run()
        return RunReturned(b"{}", "1", Usage(1, 1, 1))

    def made(pool: Pool) -> Runner:
        sandbox = SandboxPool(RunLimits(), pipelines=())
        return JobRunner(pool, LocalStore(scene.store), sandbox, RunnerParts({"extract": here}))

    return made


def victim(scene: Scene, point: str, *, fence: bool) -> None:
    crew.hush()
    if not fence:
        crew.unfence()
    armed = f"{point}=stop"

    async def run() -> None:
        if point in IDLE:
            failpoints.arm(armed)
            await asyncio.sleep(RULES.lease.total_seconds())

    failpoints.arm("" if point in IDLE else armed)
    asyncio.run(crew.work(scene.url, RULES, scene.store, runner(scene, run)))


def successor(scene: Scene) -> None:
    crew.hush()

    async def run() -> None:
        await asyncio.to_thread(wait_for, scene.gate.exists, "the gate is open")

    asyncio.run(crew.work(scene.url, SUCCESSOR, scene.store, runner(scene, run)))


def wait_for(fact: Callable[[], bool], what: str) -> None:
    until = time.monotonic() + PATIENCE
    while not fact():
        if time.monotonic() > until:
            raise TimeoutError(f"{what}: not within {PATIENCE:.0f} s")
        time.sleep(0.01)


def wait_frozen(pid: int, point: str) -> None:
    def is_frozen() -> bool:
        gone, status = os.waitpid(pid, os.WUNTRACED | os.WNOHANG)
        assert not gone or os.WIFSTOPPED(status), "it ended instead"
        return bool(gone)

    wait_for(is_frozen, f"{point} was hit")


def thaw(pid: int) -> None:
    """Let it go on and end in its own time, however often it freezes again."""
    os.kill(pid, signal.SIGTERM)
    status = -1
    while status < 0 or os.WIFSTOPPED(status):
        os.kill(pid, signal.SIGCONT)
        _, status = os.waitpid(pid, os.WUNTRACED)


def freeze(scene: Scene, point: str, *, fence: bool) -> bool:
    """One worker frozen and thawed; True when it wrote although the job was another's."""
    scene.gate.unlink(missing_ok=True)
    job_id = asyncio.run(add(scene))
    first = crew.fork(lambda: victim(scene, point, fence=fence))
    wait_frozen(first, point)
    before = look(scene, job_id)
    second = crew.fork(lambda: successor(scene))
    claim = before.claim if before.status == "complete" else before.claim + 1
    wait_for(lambda: look(scene, job_id).claim == claim, "another worker has the job")
    held = look(scene, job_id)
    thaw(first)
    late = look(scene, job_id) != held
    scene.gate.touch()
    wait_for(lambda: look(scene, job_id).status == "complete", "the job is complete")
    thaw(second)
    end = look(scene, job_id)
    once = end.completions == 1 and f".{claim}." in (end.result_key or "")
    return late or not once


@contextmanager
def scene() -> Generator[Scene]:
    folder = Path(tempfile.mkdtemp(prefix="docmill-frozen-", dir="/tmp"))
    server = embedded.start(folder / "pg")
    try:
        asyncio.run(migrate.migrate(server.url))
        yield Scene(server.url, folder)
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=1, help="times each point is frozen at")
    parser.add_argument("--points", nargs="+", default=POINTS, choices=POINTS, metavar="POINT")
    parser.add_argument("--without-fence", action="store_true", help="the negative control")
    given = parser.parse_args()
    stale, began = 0, time.monotonic()
    with scene() as place:
        for point in given.points:
            late = [
                freeze(place, point, fence=not given.without_fence) for _ in range(given.rounds)
            ]
            print(f"{point}: frozen {len(late)} times, {sum(late)} late writes accepted")
            stale += sum(late)
    print(f"{stale} late writes accepted in {time.monotonic() - began:.0f} s")
    sys.exit(0 if bool(stale) == given.without_fence else 1)


if __name__ == "__main__":
    main()
