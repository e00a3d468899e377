"""A team's installation under trouble, counted. `PYTHONPATH=tests python -m bench.team --help`.

Two web processes and four workers on PostgreSQL, Valkey and an S3 emulator. While documents come
in and people poll, workers and webs are restarted one after another and Valkey is killed and hung.
At the end PostgreSQL is stopped, and statuses of ended jobs must still be answered.
"""

import argparse
import asyncio
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from uuid import UUID, uuid4

import httpx2
import psycopg

from bench.checker import Verdict, judge
from bench.surroundings import find_port
from docmill.db import embedded, migrate
from emulators import s3
from eval.pdf import make_pdf
from valkeys import Valkey, running_valkey

DOCMILL: Final = Path(sys.executable).with_name("docmill")
WEBS, WORKERS, SENDERS, POLLERS = 2, 4, 6, 3
AGAIN_SECONDS: Final = 0.2
AWAY_SECONDS: Final = 4.0
PATIENCE: Final = 900.0
# So many statuses are asked for at once, and once, when PostgreSQL is stopped.
MOST_ASKED: Final = 1000
OPEN: Final = "SELECT count(*) FROM jobs WHERE status IN ('uploaded', 'queued', 'processing')"
SETTINGS: Final = {
    "AUTH_MODE": "session",
    "DOCMILL_UPLOADS_PER_MINUTE": "0",
    "DOCMILL_READS_PER_MINUTE": "0",
    "DOCMILL_DEFAULT_PIPELINE": "extract",
    "DOCMILL_PIPELINES": "extract",
    "DOCMILL_BUCKET": "none",
    "DOCMILL_RETRY_SECONDS": "0.2",
    "DOCMILL_RETRY_JITTER_SECONDS": "0.2",
    "DOCMILL_RESCUE_SECONDS": "2",
    "DOCMILL_WORKER_SLOTS": "2",
}


@dataclass(frozen=True, slots=True)
class Plan:
    documents: int = 5_000
    seed: int = 1
    limit: float = 3_600.0


@dataclass(slots=True)
class Counts:
    """What was seen on the way."""

    polls: int = 0
    false_404: int = 0
    wrong: list[str] = field(default_factory=list[str])
    retried: Counter[str] = field(default_factory=Counter[str])
    restarts: int = 0
    bridged: int = 0
    slowest: float = 0.0
    not_bridged: Counter[str] = field(default_factory=Counter[str])


class Process:
    """One process of docmill, through all its lives."""

    def __init__(self, words: list[str], variables: dict[str, str], log: Path) -> None:
        self._words: list[str] = words
        self._variables: dict[str, str] = variables
        self._log: Path = log
        self._process: subprocess.Popen[bytes] = self._start()

    def _start(self) -> "subprocess.Popen[bytes]":
        ours = ("DOCMILL_", "DATABASE_", "REDIS_", "AUTH_")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
        words = [str(DOCMILL), *self._words]
        with self._log.open("ab") as log:
            return subprocess.Popen(words, env=kept | self._variables, stdout=log, stderr=log)

    def restart(self) -> None:
        self.stop()
        self._process = self._start()

    def stop(self) -> None:
        self._process.terminate()
        self._process.wait(PATIENCE)


class Team:
    def __init__(self, folder: Path, url: str, places: dict[str, str]) -> None:
        variables = {**SETTINGS, "DATABASE_URL": url, **places}
        self.ports: list[int] = [find_port() for _ in range(WEBS)]
        data = ["--data", str(folder / "data")]
        self.webs: list[Process] = [
            Process(["web", "--port", str(port), *data], variables, folder / f"web{number}.log")
            for number, port in enumerate(self.ports)
        ]
        self.workers: list[Process] = [
            Process(["worker", *data], variables, folder / f"worker{number}.log")
            for number in range(WORKERS)
        ]

    def stop_workers(self) -> None:
        for worker in self.workers:
            worker.stop()
        self.workers.clear()

    def stop(self) -> None:
        self.stop_workers()
        for web in self.webs:
            web.stop()


class People:
    """They send, each under a key until it is acknowledged, and ask what became of it."""

    def __init__(self, team: Team, plan: Plan, counts: Counts) -> None:
        self.jobs: dict[str, httpx2.AsyncClient] = {}
        self.ended: set[str] = set()
        self.done: bool = False
        self._team: Team = team
        self._counts: Counts = counts
        self._seed: int = plan.seed
        self._left: Iterator[int] = iter(range(plan.documents))
        self._chance: random.Random = random.Random(plan.seed)

    def address(self, path: str) -> str:
        return f"http://127.0.0.1:{self._chance.choice(self._team.ports)}{path}"

    async def send(self, client: httpx2.AsyncClient) -> None:
        await self._ask(client, "GET", "/api/jobs")
        for number in self._left:
            pdf = make_pdf([[(72, 72, f"document {self._seed}x{number}x")]])
            files = {"file": (f"{number}.pdf", pdf, "application/pdf")}
            key = {"idempotency-key": str(uuid4())}
            answer = await self._ask(client, "POST", "/api/upload", files=files, headers=key)
            self.jobs[answer.json()["jobId"]] = client

    async def _ask(
        self, client: httpx2.AsyncClient, method: str, path: str, **more: Any
    ) -> httpx2.Response:
        """What may succeed later is sent again, to whichever web."""
        while True:
            try:
                answer = await client.request(method, self.address(path), **more)
            except httpx2.TransportError:
                self._counts.retried["connection"] += 1
            else:
                if answer.status_code == 200:
                    return answer
                self._counts.retried[str(answer.status_code)] += 1
                assert answer.status_code in {429, 503}, answer.text
            await asyncio.sleep(AGAIN_SECONDS)

    async def poll(self) -> None:
        while not self.done:
            if self.jobs:
                await self.look(self._chance.choice(list(self.jobs)))
            await asyncio.sleep(0.02)

    async def look(self, job_id: str) -> str | None:
        """One status, held against what was said before; None when nobody could say."""
        path = f"/api/job-status/{job_id}"
        with suppress(httpx2.TransportError):
            answer = await self.jobs[job_id].get(self.address(path))
            self._counts.polls += 1
            if answer.status_code == 404:
                self._counts.false_404 += 1
            elif answer.status_code == 200:
                return self._check(job_id, answer.json()["status"])
            else:
                self._counts.retried[str(answer.status_code)] += 1
        return None

    def _check(self, job_id: str, status: str) -> str:
        if status == "failed" or (job_id in self.ended and status != "completed"):
            self._counts.wrong.append(f"{job_id} {status}")
        if status == "completed":
            self.ended.add(job_id)
        return status


class Trouble:
    """At shares of the way, each thing once."""

    def __init__(self, team: Team, valkey: Valkey, people: People, counts: Counts) -> None:
        self._team: Team = team
        self._valkey: Valkey = valkey
        self._people: People = people
        self._counts: Counts = counts

    async def make(self, documents: int) -> None:
        plan = [
            (0.15, self._roll_workers), (0.35, self._kill_valkey), (0.55, self._hang_valkey),
            (0.7, self._roll_webs), (0.85, self._roll_workers),
        ]  # fmt: skip
        for share, act in plan:
            while len(self._people.jobs) < share * documents:  # noqa: ASYNC110
                await asyncio.sleep(0.1)
            print(f"{share:.0%} sent: {act.__name__.strip('_')}", flush=True)
            await act()

    async def _roll_workers(self) -> None:
        for worker in self._team.workers:
            await asyncio.to_thread(worker.restart)
            self._counts.restarts += 1

    async def _roll_webs(self) -> None:
        """The next only when the last answers again, as a cluster does it."""
        for web, port in zip(self._team.webs, self._team.ports, strict=True):
            await asyncio.to_thread(web.restart)
            self._counts.restarts += 1
            await wait_until_ready(port)

    async def _kill_valkey(self) -> None:
        await asyncio.to_thread(self._valkey.kill)
        await asyncio.sleep(AWAY_SECONDS)
        await asyncio.to_thread(self._valkey.start)

    async def _hang_valkey(self) -> None:
        self._valkey.freeze()
        await asyncio.sleep(AWAY_SECONDS)
        self._valkey.thaw()


async def wait_until_ready(port: int) -> None:
    async with httpx2.AsyncClient(timeout=10) as client:
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            with suppress(httpx2.TransportError):
                if (await client.get(f"http://127.0.0.1:{port}/ready")).status_code == 200:
                    return
            await asyncio.sleep(AGAIN_SECONDS)
    raise TimeoutError(f"the web at {port} is not ready")


async def storm(team: Team, valkey: Valkey, url: str, plan: Plan) -> tuple[Counts, People]:
    counts = Counts()
    people = People(team, plan, counts)
    for port in team.ports:
        await wait_until_ready(port)
    crowd = httpx2.Limits(max_connections=None)
    clients = [httpx2.AsyncClient(timeout=60, limits=crowd) for _ in range(SENDERS)]
    polling = [asyncio.create_task(people.poll()) for _ in range(POLLERS)]
    trouble = Trouble(team, valkey, people, counts)
    await asyncio.gather(trouble.make(plan.documents), *(people.send(one) for one in clients))
    until = time.monotonic() + plan.limit
    while count_open(url) and time.monotonic() < until:  # noqa: ASYNC110
        await asyncio.sleep(1)
    people.done = True
    await asyncio.gather(*polling)
    for job_id in people.jobs:  # everybody asks once more, now that all have ended
        if await people.look(job_id) != "completed":
            counts.wrong.append(f"{job_id} has not ended")
    return counts, people


async def ask_without_database(people: People, counts: Counts) -> None:
    """All at once, each with one try."""

    async def ask(job_id: str, client: httpx2.AsyncClient) -> None:
        began_at = time.monotonic()
        answer = await client.get(people.address(f"/api/job-status/{job_id}"))
        counts.slowest = max(counts.slowest, time.monotonic() - began_at)
        if answer.status_code == 200 and answer.json()["status"] == "completed":
            counts.bridged += 1
        else:
            counts.not_bridged[str(answer.status_code)] += 1

    await asyncio.gather(*(ask(*one) for one in [*people.jobs.items()][:MOST_ASKED]))


def count_open(url: str) -> int:
    with psycopg.connect(url) as conn:
        row = conn.execute(OPEN).fetchone()
    return row[0] if row else 0


def run(plan: Plan, folder: Path) -> tuple[Verdict, Counts]:
    server = embedded.start(folder / "pg")
    try:
        with s3(folder) as (store, keys), running_valkey() as valkey, asyncio.Runner() as runner:
            runner.run(migrate.migrate(server.url))
            places = {"REDIS_URL": valkey.url, "DOCMILL_STORE": store, **keys}
            team = Team(folder, server.url, places)
            try:
                counts, people = runner.run(storm(team, valkey, server.url, plan))
                verdict = judge(server.url, [UUID(job_id) for job_id in people.jobs])
                team.stop_workers()
                server.stop()
                runner.run(ask_without_database(people, counts))
            finally:
                team.stop()
        return verdict, counts
    finally:
        with suppress(Exception):
            server.stop()


def count_cpu() -> float:
    """Of this process and of those it has started and seen ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def tell(verdict: Verdict, counts: Counts, seconds: float) -> bool:
    asked = counts.bridged + counts.not_bridged.total()
    table: list[tuple[str, object, bool]] = [
        ("documents acknowledged", verdict.acknowledged, True),
        ("complete", verdict.complete, verdict.complete == verdict.acknowledged),
        ("lost, unexpected, doubled, stuck, illegal",
         (verdict.lost, verdict.unexpected, verdict.doubled, verdict.stuck, verdict.illegal),
         verdict.clean),
        ("status polls", counts.polls, counts.polls > 0),
        ("false 404", counts.false_404, not counts.false_404),
        ("wrong statuses", len(counts.wrong), not counts.wrong),
        ("restarts of processes", counts.restarts, True),
        ("requests that had to be sent again", dict(counts.retried), True),
        ("statuses answered without PostgreSQL", f"{counts.bridged} of {asked}",
         counts.bridged == asked > 0),
        ("the slowest of them, in seconds", round(counts.slowest, 2), True),
        ("seconds", round(seconds), True),
        ("CPU seconds of all but PostgreSQL", round(count_cpu()), True),
    ]  # fmt: skip
    for name, value, is_kept in table:
        print(f"{'ok  ' if is_kept else 'FAIL'} {name:<44} {value}")
    for line in counts.wrong[:10]:
        print(f"     wrong: {line}")
    return all(is_kept for _, _, is_kept in table)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--documents", type=int, default=5_000)
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    parser.add_argument("--limit", type=float, default=3_600, help="seconds to drain the queue")
    given = parser.parse_args()
    plan = Plan(given.documents, given.seed, given.limit)
    print(plan, flush=True)
    folder = Path(tempfile.mkdtemp(prefix="docmill-team-", dir="/tmp"))
    began_at = time.monotonic()
    verdict, counts = run(plan, folder)
    is_clean = tell(verdict, counts, time.monotonic() - began_at)
    if is_clean:
        shutil.rmtree(folder, ignore_errors=True)
    else:
        print(f"kept {folder}")
    sys.exit(0 if is_clean else 1)


if __name__ == "__main__":
    main()
