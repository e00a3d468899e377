"""kill -9 of any process of `docmill serve` during uploads. `python -m bench.havoc --help`.

Nobody but docmill starts anything again, save `docmill serve` itself when it was the one killed.
"""

import argparse
import asyncio
import math
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any, Final
from uuid import UUID, uuid4

import httpx2
import psycopg

from bench.checker import Verdict, judge
from bench.surroundings import find_port
from docmill.core.faults import CommandError
from docmill.processes.database import find_running
from eval.pdf import make_pdf

DOCMILL: Final = Path(sys.executable).with_name("docmill")
SENDERS: Final = 6
AGAIN_SECONDS: Final = 0.3
# How long a killed process may stay away; generous, as this machine may be busy with other things.
PATIENCE: Final = 120.0
# Files are sent as kills go on, about so many kills ahead.
AHEAD: Final = 5
# A lost job is found soon, and what is left of a minute is not spent on waiting for a retry.
SETTINGS: Final = {
    "DOCMILL_UPLOADS_PER_MINUTE": "0",
    "DOCMILL_DEFAULT_PIPELINE": "extract",
    "DOCMILL_PIPELINES": "extract",
    "DOCMILL_BUCKET": "none",
    "DOCMILL_RETRY_SECONDS": "0.2",
    "DOCMILL_RETRY_JITTER_SECONDS": "0.2",
    "DOCMILL_RESCUE_SECONDS": "1",
    "DOCMILL_POLL_SECONDS": "1",
}
KINDS: Final = ("serve", "fork server", "child", "postmaster", "backend")
OPEN: Final = "SELECT count(*) FROM jobs WHERE status IN ('uploaded', 'queued', 'processing')"
FAILED: Final = """
SELECT job_id, array_agg(a.error_code ORDER BY a.claim)
  FROM jobs JOIN job_attempts AS a ON job_id = id
 WHERE status = 'failed' AND outcome <> 'stopped' GROUP BY job_id
"""
# What a kill does to the attempt it hits: the child's end, or that of the worker.
BY_KILLS: Final = {"CRASHED", "WORKER_LOST"}
ATTEMPTS: Final = 3  # the default of `extract`
PROMISED: Final = 10.0  # seconds, within which PostgreSQL is back


@dataclass(frozen=True, slots=True)
class Plan:
    uploads: int = 2_000
    kills: int = 150
    seed: int = 1
    limit: float = 1_800.0


@dataclass(frozen=True, slots=True)
class Report:
    """`wrong` are complete jobs whose result is not that of the file that was sent, and failed
    ones that no kills explain. A kill costs a running job an attempt: the few jobs that were hit
    with every attempt they had are `used_up`, and neither lost nor wrong.
    """

    verdict: Verdict
    wrong: int
    used_up: Mapping[UUID, Sequence[str]]
    kills: Mapping[str, int]
    returns: Sequence["Return"]

    @property
    def clean(self) -> bool:
        return self.verdict.clean and not self.wrong

    def lines(self) -> Iterator[str]:
        verdict = self.verdict
        counts = f"lost={verdict.lost} doubled={verdict.doubled} wrong={self.wrong}"
        yield f"{counts} stuck={verdict.stuck} {verdict}"
        for job_id, codes in self.used_up.items():
            yield f"failed, as every attempt was hit by a kill: {job_id} {' '.join(codes)}"
        yield f"kills {dict(self.kills)}"
        alone = [one.seconds for one in self.returns if not one.with_serve]
        both = [one.seconds for one in self.returns if one.with_serve]
        yield f"database back after a kill of it alone: {_spread(alone)}"
        yield f"database back when `docmill serve` was starting as well: {_spread(both)}"


@dataclass(frozen=True, slots=True)
class Return:
    """How long the database was away; `with_serve`, while nobody was there to start it."""

    seconds: float
    with_serve: bool


def _spread(seconds: Sequence[float]) -> str:
    if not seconds:
        return "never"
    late = sum(one > PROMISED for one in seconds)
    middle = f"{median(seconds):.1f} s median, {max(seconds):.1f} s at most"
    return f"{middle}, {late} of {len(seconds)} later than {PROMISED:.0f} s"


class House:
    """A `docmill serve` on one port and one folder, through all its lives."""

    def __init__(self, folder: Path) -> None:
        self.data: Path = folder / "data"
        self.log: Path = folder / "serve.log"
        self._port: int = find_port()
        self.is_up: bool = False
        self._process: subprocess.Popen[bytes] = self._start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def answers(self) -> bool:
        """Whether this life of `docmill serve` has come so far; it then looks after its parts."""
        with suppress(httpx2.TransportError):
            self.is_up = self.is_up or httpx2.get(f"{self.url}/health").status_code > 0
        return self.is_up

    @property
    def database(self) -> str | None:
        with suppress(CommandError):
            return find_running(self.data)
        return None

    def _start(self) -> "subprocess.Popen[bytes]":
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("DOCMILL_", "DATABASE_"))}
        words = [DOCMILL, "serve", "--port", str(self._port), "--data", self.data]
        with self.log.open("ab") as log:
            return subprocess.Popen(words, env=kept | SETTINGS, stdout=log, stderr=log)

    def processes(self) -> dict[str, list[int]]:
        """The living ones by what they are."""
        parents = dict(_parents())
        found: dict[str, list[int]] = {"serve": [self._process.pid]}
        servers = [pid for pid, parent in parents.items() if parent == self._process.pid]
        forks = [pid for pid in servers if "docmill.sandbox.fork_server" in _words(pid)]
        found["fork server"] = forks
        found["child"] = [pid for pid, parent in parents.items() if parent in forks]
        with suppress(OSError, ValueError, IndexError):
            lines = (self.data / "postgres/cluster/pgdata/postmaster.pid").read_text().split()
            postmaster = int(lines[0])
            found["postmaster"] = [postmaster] if postmaster in parents else []
            found["backend"] = [pid for pid, parent in parents.items() if parent == postmaster]
        return {kind: pids for kind, pids in found.items() if pids}

    def kill(self, chance: random.Random) -> str:
        """One process, as soon as there is one of the kind that was drawn; the kind."""
        kind = chance.choice(KINDS)
        until = time.monotonic() + PATIENCE
        while not (found := self.processes().get(kind)) and time.monotonic() < until:
            time.sleep(0.01)
        assert found or kind == "child", f"no {kind} came back"
        with suppress(ProcessLookupError):
            if found:
                os.kill(chance.choice(sorted(found)), signal.SIGKILL)
        if kind == "serve":
            self._process.wait()
            self.is_up = False
            self._process = self._start()
        return kind if found else "nobody"

    def stop(self) -> None:
        self._process.send_signal(signal.SIGTERM)
        self._process.wait(120)


def _parents() -> Iterator[tuple[int, int]]:
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
            if fields[0] not in {"Z", "X"}:
                yield int(entry.name), int(fields[1])


def _words(pid: int) -> str:
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    return ""


class Stream:
    """Files on their way: every one is sent until it is acknowledged, under one key."""

    def __init__(self, house: House, plan: Plan) -> None:
        self.acknowledged: dict[str, tuple[UUID, httpx2.AsyncClient]] = {}
        self._house: House = house
        self._left: Iterator[int] = iter(range(plan.uploads))
        self._seed: int = plan.seed
        self._each: int = math.ceil(plan.uploads / max(plan.kills, 1))
        self._room: asyncio.Semaphore = asyncio.Semaphore(AHEAD * self._each)

    def let_more_go(self) -> None:
        for _ in range(self._each):
            self._room.release()

    async def send(self, client: httpx2.AsyncClient) -> None:
        await _ask(client, "GET", "/api/jobs")  # an answer that is lost must not cost the session
        for number in self._left:
            await self._room.acquire()
            words = f"document {self._seed}x{number}x"
            files = {"file": (f"{number}.pdf", make_pdf([[(72, 72, words)]]), "application/pdf")}
            key = {"idempotency-key": str(uuid4())}
            answer = await _ask(client, "POST", "/api/upload", files=files, headers=key)
            self.acknowledged[words] = UUID(answer.json()["jobId"]), client

    async def count_wrong(self) -> int:
        """Results that do not hold the words of their own file."""
        wrong = 0
        for words, (job_id, client) in self.acknowledged.items():
            answer = await _ask(client, "GET", f"/api/jobs/{job_id}/download", final={404, 409})
            wrong += answer.status_code == 200 and words not in answer.text
        return wrong


async def _ask(
    client: httpx2.AsyncClient,
    method: str,
    path: str,
    *,
    final: Collection[int] = (),
    **more: Any,
) -> httpx2.Response:
    """As clients should: what may succeed later is sent again."""
    while True:
        with suppress(httpx2.TransportError):
            answer = await client.request(method, path, **more)
            if answer.status_code == 200 or answer.status_code in final:
                return answer
            assert answer.status_code in {429, 503}, answer.text
        await asyncio.sleep(AGAIN_SECONDS)


class Killer:
    """Strikes now and then until its kills are used up."""

    def __init__(self, house: House, plan: Plan, strikes: Callable[[], None]) -> None:
        self._strikes: Callable[[], None] = strikes
        self.kills: Counter[str] = Counter()
        self.returns: list[Return] = []
        self._house: House = house
        self._random: random.Random = random.Random(plan.seed)
        self._left: int = plan.kills

    async def run(self) -> None:
        for _ in range(self._left):
            await asyncio.sleep(self._random.uniform(0.2, 2.5))
            self._strikes()  # whoever waits for a child to kill needs files that are read
            kind = await asyncio.to_thread(self._house.kill, self._random)
            self.kills[kind] += 1
            if kind == "postmaster":
                self.returns.append(await asyncio.to_thread(_wait, self._house))


def _wait(house: House) -> Return:
    """Until the database answers again."""
    began_at, struck_at = time.monotonic(), datetime.now(UTC)
    with_serve = not house.answers()
    while _open(house) is None:
        time.sleep(0.05)
    found = Return(time.monotonic() - began_at, with_serve)
    if found.seconds > PROMISED:
        print(f"{struck_at:%H:%M:%S}: postmaster killed, {found}", flush=True)
    return found


async def _storm(house: House, plan: Plan) -> Report:
    stream = Stream(house, plan)
    killer = Killer(house, plan, stream.let_more_go)
    clients = [httpx2.AsyncClient(base_url=house.url, timeout=60) for _ in range(SENDERS)]
    await _ask(clients[0], "GET", "/api/jobs")
    began_at = time.monotonic()
    striking = asyncio.create_task(killer.run())
    sending = [asyncio.create_task(stream.send(client)) for client in clients]
    tasks = {striking, *sending}
    while pending := [task for task in tasks if not task.done()]:
        await asyncio.wait(pending, timeout=10)
        took = time.monotonic() - began_at
        print(f"{took:.0f} s: {len(stream.acknowledged)} sent, {dict(killer.kills)}", flush=True)
    for task in tasks:
        task.result()
    until = time.monotonic() + plan.limit
    while _open(house) != 0 and time.monotonic() < until:
        time.sleep(1)  # noqa: ASYNC251  nothing else is under way
    wrong = await stream.count_wrong()
    for client in clients:
        await client.aclose()
    assert house.database
    verdict = judge(house.database, [job_id for job_id, _ in stream.acknowledged.values()])
    used_up = _used_up(house.database)
    wrong += verdict.failed - len(used_up)
    return Report(verdict, wrong, used_up, dict(killer.kills), killer.returns)


def _used_up(url: str) -> dict[UUID, list[str]]:
    """The failed jobs whose every attempt a kill has ended, with how each ended."""
    with psycopg.connect(url) as conn:
        failed: dict[UUID, list[str]] = dict(conn.execute(FAILED).fetchall())
    return {
        job_id: codes
        for job_id, codes in failed.items()
        if len(codes) >= ATTEMPTS and BY_KILLS.issuperset(codes)
    }


def _open(house: House) -> int | None:
    with suppress(psycopg.OperationalError):
        if url := house.database:
            with psycopg.connect(url) as conn:
                row = conn.execute(OPEN).fetchone()
            return row[0] if row else None
    return None


def run(plan: Plan, *, keep: bool = False) -> Report:
    folder = Path(tempfile.mkdtemp(prefix="docmill-havoc-", dir="/tmp"))
    house = House(folder)
    report = None
    try:
        report = asyncio.run(_storm(house, plan))
        return report
    finally:
        house.stop()
        if report and report.clean and not keep:
            shutil.rmtree(folder, ignore_errors=True)
        else:
            print(f"kept {folder}")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--uploads", type=int, default=2_000)
    parser.add_argument("--kills", type=int, default=150)
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    parser.add_argument("--limit", type=float, default=1_800, help="seconds to drain the queue")
    parser.add_argument("--keep", action="store_true", help="keep the folder with the log")
    given = parser.parse_args()
    plan = Plan(given.uploads, given.kills, given.seed, given.limit)
    print(f"seed {plan.seed}: {plan}", flush=True)
    began_at = time.monotonic()
    report = run(plan, keep=given.keep)
    print("\n".join(report.lines()))
    print(f"in {time.monotonic() - began_at:.0f} s")
    sys.exit(0 if report.clean else 1)


if __name__ == "__main__":
    main()
