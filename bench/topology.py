"""The processes of deploy/compose.yaml without containers, killed and rolled while documents come.

`python -m bench.topology --documents 200`. Real PostgreSQL, PgBouncer in transaction mode, Valkey,
and an emulator of S3; commands and settings are the file's, only addresses are of this machine. One
worker is of the last release, and the stored bytes move from a folder to S3 in the middle.
"""

import argparse
import asyncio
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final
from urllib.parse import quote
from uuid import UUID

import httpx2
import psycopg

from bench.checker import judge
from bench.compose import ComposeProcess, list_processes, read_compose
from bench.surroundings import (
    LIMIT,
    export_release,
    find_port,
    run_pgbouncer,
    run_s3,
    run_valkey,
    wait_for,
)
from docmill.db import embedded
from docmill.storage import open_store
from eval.pdf import make_pdf

DOCMILL: Final = str(Path(sys.executable).with_name("docmill"))
SECRETS: Final = {"POSTGRES_PASSWORD": "unused", "MINIO_ROOT_PASSWORD": "secret-of-the-store"}
BUCKETS: Final = ("docmill-store", "docmill-bucket")
SENDERS: Final = 4
TELL_SECONDS: Final = 10.0
# One in so many is read with passages and vectors; the others are cheap.
WITH_VECTORS: Final = 10
# A lost job is found soon and tried at once, so that a run takes minutes and not hours.
HURRIED: Final = {
    "DOCMILL_RETRY_SECONDS": "0",
    "DOCMILL_RETRY_JITTER_SECONDS": "0",
    "DOCMILL_RESCUE_SECONDS": "1",
    "DOCMILL_LEASE_SECONDS": "20",
    "DOCMILL_HEARTBEAT_SECONDS": "3",
    "DOCMILL_BUCKET_SECONDS": "1",
    "DOCMILL_BUCKET_STUCK_SECONDS": "10",
    "DOCMILL_UPLOADS_PER_MINUTE": "0",
    "DOCMILL_READS_PER_MINUTE": "0",
    "DOCMILL_LOG_LEVEL": "warning",
}


@dataclass(slots=True)
class TopologyProcess:
    """One process of the topology, which may be killed, or asked to stop and started again."""

    name: str
    words: Sequence[str]
    environment: dict[str, str]
    grace_seconds: float
    folder: Path
    port: int | None
    health_port: int
    process: "subprocess.Popen[bytes] | None" = None
    stops: list[float] = field(default_factory=list[float])
    pids: list[int] = field(default_factory=list[int])

    def start(self) -> None:
        with (self.folder / f"{self.name}.log").open("ab") as log:
            self.process = subprocess.Popen(
                [DOCMILL, *self.words], env=self.environment, cwd=self.folder,
                stdout=log, stderr=log,
            )  # fmt: skip
        self.pids.append(self.process.pid)

    def wait_until_ready(self) -> None:
        wait_for(self.is_ready, f"{self.name} is not ready; its log is in {self.folder}")

    def is_ready(self) -> bool:
        if self.process is None or self.process.poll() is not None:
            raise RuntimeError(f"{self.name} ended: {self.read_log()[-2000:]}")
        if not self.health_port:  # the last release has no such port
            return True
        try:
            url = f"http://127.0.0.1:{self.health_port}/ready"
            return httpx2.get(url, timeout=30, trust_env=False).is_success
        except httpx2.TransportError:
            return False

    def read_log(self) -> str:
        return (self.folder / f"{self.name}.log").read_text()

    def kill(self) -> None:
        assert self.process is not None
        self.process.kill()
        self.process.wait(LIMIT)

    def stop(self) -> None:
        assert self.process is not None
        began_at = time.monotonic()
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(LIMIT)
        self.stops.append(time.monotonic() - began_at)

    def set(self, **settings: str) -> None:
        self.environment.update(settings)


@dataclass(frozen=True, slots=True)
class Topology:
    """All of them. `direct_url` is PostgreSQL itself, `pooled_url` PgBouncer."""

    folder: Path
    direct_url: str
    pooled_url: str
    s3_port: int
    processes: dict[str, TopologyProcess]

    @property
    def web_url(self) -> str:
        return f"http://127.0.0.1:{self.processes['web-1'].port}"

    def s3_url(self, bucket: str) -> str:
        return f"s3://{bucket}?endpoint={quote(f'http://127.0.0.1:{self.s3_port}')}"


@contextmanager
def open_topology(
    folder: Path, direct_url: str, *, pool_size: int = 20, replicas: int | None = None
) -> Generator[Topology]:
    """`direct_url` is an empty database, or one that is migrated; nothing is started yet."""
    with ExitStack() as stack:
        pooled = stack.enter_context(run_pgbouncer(direct_url, folder, pool_size))
        s3_port = stack.enter_context(run_s3(folder, BUCKETS))
        valkey_port = stack.enter_context(run_valkey(folder))
        hosts = {
            "valkey:6379": f"127.0.0.1:{valkey_port}",
            "minio:9000": f"127.0.0.1:{s3_port}",
            "gateway:8000": f"127.0.0.1:{find_port()}",
        }
        urls = {"@postgres:": direct_url, "@pgbouncer:": pooled}
        found = list_processes(read_compose(), SECRETS)
        places = Places(folder, hosts, urls)
        processes = {
            f"{one.name}-{number}": places.make_process(one, number)
            for one in found
            for number in range(1, (replicas or one.replicas) + 1)
        }
        topology = Topology(folder, direct_url, pooled, s3_port, processes)
        try:
            yield topology
        finally:
            for one in processes.values():
                if one.process and one.process.poll() is None:
                    one.kill()


@dataclass(frozen=True, slots=True)
class Places:
    """Where on this machine the hosts of the file are."""

    folder: Path
    hosts: Mapping[str, str]
    urls: Mapping[str, str]

    def make_process(self, one: ComposeProcess, number: int) -> TopologyProcess:
        port, health = self._find_port(one), find_port()
        words = [
            str(port) if before == "--port" else word
            for before, word in zip(("", *one.command), one.command, strict=False)
        ]
        given = {name: self._translate(value) for name, value in one.environment.items()}
        given |= {"DOCMILL_HOST": "127.0.0.1", "DOCMILL_HEALTH_PORT": str(health), **HURRIED}
        given["DOCMILL_DATA"] = str(self.folder / "data")
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("DOCMILL_", "DATABASE_URL", "AWS_", "REDIS_", "GATEWAY_"))
        }
        name = f"{one.name}-{number}"
        return TopologyProcess(
            name, words, kept | given, one.grace_seconds, self.folder, port, health
        )

    def _find_port(self, one: ComposeProcess) -> int | None:
        if "--port" not in one.command:
            return None
        known = self.hosts.get(f"{one.name}:8000")
        return int(known.rpartition(":")[2]) if known else find_port()

    def _translate(self, value: str) -> str:
        for host, url in self.urls.items():
            if host in value:
                return url
        for host, place in self.hosts.items():
            value = value.replace(host, place)
        return value


def run_command(topology: Topology, like: str, *words: str) -> str:
    """A command to its end, with the settings of a process."""
    ran = subprocess.run(
        [DOCMILL, *words], env=topology.processes[like].environment, cwd=topology.folder,
        capture_output=True, text=True, check=False, timeout=LIMIT,
    )  # fmt: skip
    if ran.returncode:
        raise RuntimeError(f"docmill {' '.join(words)}: {ran.returncode}\n{ran.stdout}{ran.stderr}")
    return ran.stdout


def make_old(process: TopologyProcess, folder: Path) -> TopologyProcess | None:
    """The same process by the code of the last release, if this clone has it."""
    source = export_release(folder)
    if source is None:
        return None
    new = ("DOCMILL_HEALTH_PORT", "DOCMILL_WORKER_UPKEEP", "DOCMILL_STORE_ALSO")
    known = {name: value for name, value in process.environment.items() if name not in new}
    known["PYTHONPATH"] = str(source)
    return replace(
        process, name=f"old-{process.name}", environment=known, health_port=0, stops=[], pids=[]
    )


@dataclass(slots=True)
class Sent:
    """What was acknowledged: the bytes of each job's document."""

    documents: dict[UUID, bytes] = field(default_factory=dict[UUID, bytes])
    cookies: httpx2.Cookies = field(default_factory=httpx2.Cookies)


def make_document(number: int) -> bytes:
    return make_pdf([[(72, 72, f"Letter number {number}"), (72, 100, f"Reference: R-{number:06}")]])


async def send_documents(topology: Topology, sent: Sent, numbers: Sequence[int]) -> None:
    """Each until it is acknowledged once: a web process may die under it."""
    async with httpx2.AsyncClient(cookies=sent.cookies, timeout=60, trust_env=False) as http:
        await _send_some(topology, http, sent, numbers[:1])  # the others are of its session
        shares = [numbers[turn::SENDERS] for turn in range(1, SENDERS + 1)]
        await asyncio.gather(*(_send_some(topology, http, sent, share) for share in shares))
        sent.cookies = http.cookies


async def _send_some(
    topology: Topology, http: httpx2.AsyncClient, sent: Sent, numbers: Sequence[int]
) -> None:
    ports = [one.port for name, one in topology.processes.items() if name.startswith("web-")]
    for number in numbers:
        data = make_document(number)
        for turn in range(600):
            url = f"http://127.0.0.1:{ports[(number + turn) % len(ports)]}/api/upload"
            if job_id := await _send(http, url, data, number):
                sent.documents[UUID(job_id)] = data
                break
            await asyncio.sleep(0.2)
        else:
            raise RuntimeError(f"document {number} was never acknowledged")


async def _send(http: httpx2.AsyncClient, url: str, data: bytes, number: int) -> str | None:
    pipeline = "trades" if number % WITH_VECTORS else "extract"
    try:
        answer = await http.post(
            url, files={"file": (f"{number}.pdf", data, "application/pdf")},
            data={"pipeline": pipeline}, headers={"Idempotency-Key": f"document-{number}"},
        )  # fmt: skip
    except httpx2.TransportError:
        return None
    return answer.json()["jobId"] if answer.is_success else None


def count_wrong_bytes(topology: Topology, sent: Sent) -> int:
    """Originals that are not what was sent, and results that are not what their row says."""
    with (
        httpx2.Client(cookies=sent.cookies, timeout=60, trust_env=False) as http,
        ThreadPoolExecutor(SENDERS) as threads,
    ):

        def is_wrong(job_id: UUID) -> bool:
            place = f"{topology.web_url}/api/jobs/{job_id}"
            original, result = http.get(f"{place}/original"), http.get(f"{place}/download")
            return original.content != sent.documents[job_id] or not result.is_success

        return sum(threads.map(is_wrong, sent.documents))


def roll(topology: Topology, kinds: Sequence[str] = ("web", "worker", "poller", "upkeep")) -> None:
    """One after the other, as an orchestrator does it: asked to stop, then started again."""
    for name, one in topology.processes.items():
        if name.rpartition("-")[0] in kinds:
            one.stop()
            one.start()
            one.wait_until_ready()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=5000)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--seed", type=int, default=random.randrange(10_000))
    given = parser.parse_args()
    print(f"seed {given.seed}: {given.documents} documents, {given.kills} kills twice", flush=True)
    folder = Path(tempfile.mkdtemp(prefix="docmill-topology-", dir="/tmp"))
    server = embedded.start(folder / "pg")
    try:
        with open_topology(folder, server.url) as topology:
            clean = asyncio.run(_run_aloud(topology, given))
    finally:
        server.stop()
    if clean:
        shutil.rmtree(folder, ignore_errors=True)
    sys.exit(0 if clean else f"what the processes said is in {folder}")


async def _run_aloud(topology: Topology, given: argparse.Namespace) -> bool:
    sent = Sent()
    telling = asyncio.create_task(_tell(topology, sent, given.documents))
    try:
        return await _run(topology, sent, given)
    finally:
        telling.cancel()


async def _tell(topology: Topology, sent: Sent, documents: int) -> None:
    began_at = time.monotonic()
    while True:
        await asyncio.sleep(TELL_SECONDS)
        waiting = await asyncio.to_thread(_count_open, topology) if sent.documents else 0
        seconds, count = time.monotonic() - began_at, len(sent.documents)
        print(f"{seconds:.0f} s: {count} of {documents} sent, {waiting} to be read", flush=True)


def _count_open(topology: Topology) -> int:
    with psycopg.connect(topology.direct_url, autocommit=True) as conn:
        row = conn.execute(OPEN).fetchone()
    return row[0] if row else 0


async def _run(topology: Topology, sent: Sent, given: argparse.Namespace) -> bool:
    rng = random.Random(given.seed)
    disk, cloud = (topology.folder / "disk").as_uri(), topology.s3_url("docmill-store")
    _set_stores(topology, disk, cloud)
    await asyncio.to_thread(run_command, topology, "migrate-1", "migrate")
    old = await asyncio.to_thread(_start_all, topology)
    numbers = range(given.documents)
    first, rest = numbers[: given.documents // 3], numbers[given.documents // 3 :]
    second, third = rest[: len(rest) // 2], rest[len(rest) // 2 :]
    await asyncio.gather(
        send_documents(topology, sent, first),
        asyncio.to_thread(_kill_some, topology, rng, given.kills),
    )
    _, moved = await asyncio.gather(
        send_documents(topology, sent, second),
        asyncio.to_thread(_move_stores, topology, old, disk, cloud),
    )
    await asyncio.gather(
        send_documents(topology, sent, third),
        asyncio.to_thread(_kill_and_roll, topology, rng, given.kills, cloud),
    )
    return await asyncio.to_thread(_judge, topology, sent, moved)


def _move_stores(topology: Topology, old: TopologyProcess | None, disk: str, cloud: str) -> str:
    if old:
        old.stop()  # it knows one store: it goes before anything is written to the other
    _set_stores(topology, cloud, disk)
    roll(topology)
    return run_command(topology, "upkeep-1", "storage", "move", disk, cloud)


def _kill_and_roll(topology: Topology, rng: random.Random, kills: int, cloud: str) -> None:
    _kill_some(topology, rng, kills)
    _set_stores(topology, cloud, "")
    roll(topology, ("web", "worker", "poller", "upkeep", "gateway"))


def _set_stores(topology: Topology, store: str, also: str) -> None:
    for one in topology.processes.values():
        one.set(DOCMILL_STORE=store, DOCMILL_STORE_ALSO=also)


def _start_all(topology: Topology) -> TopologyProcess | None:
    """And a worker of the last release beside them."""
    for name, one in topology.processes.items():
        if not name.startswith("migrate"):
            one.start()
    old = make_old(topology.processes["worker-1"], topology.folder / "release")
    if old:
        old.start()
        topology.processes[old.name] = old
    for name, one in topology.processes.items():
        if not name.startswith("migrate"):
            one.wait_until_ready()
    return old


def _kill_some(topology: Topology, rng: random.Random, times: int) -> None:
    """Every kind at least once, if there are enough turns; the old worker is not spared."""
    names = [name for name in topology.processes if not name.startswith("migrate")]
    rng.shuffle(names)
    for turn in range(times):
        one = topology.processes[names[turn % len(names)]]
        if one.process is None or one.process.poll() is not None:
            continue
        one.kill()
        one.start()
        one.wait_until_ready()
        print(f"killed {one.name}", flush=True)


OPEN: Final = "SELECT count(*) FROM jobs WHERE status NOT IN ('complete', 'failed', 'cancelled')"
BY_OLD: Final = """
SELECT count(*) FROM job_attempts
 WHERE outcome = 'complete' AND split_part(worker, '/', 3)::int = ANY(%s)
"""


def _judge(topology: Topology, sent: Sent, moved: str) -> bool:
    with psycopg.connect(topology.direct_url, autocommit=True) as conn:
        wait_for(lambda: conn.execute(OPEN).fetchone() == (0,), "all jobs end", 1800)
        old = [pid for one in topology.processes.values() if "old" in one.name for pid in one.pids]
        print("jobs done by the last release:", conn.execute(BY_OLD, (old,)).fetchone())
    verdict = judge(topology.direct_url, sent.documents)
    wrong = count_wrong_bytes(topology, sent)
    late = [
        (one.name, round(seconds, 1), one.grace_seconds)
        for one in topology.processes.values()
        for seconds in one.stops
        if seconds > one.grace_seconds
    ]
    stops = [seconds for one in topology.processes.values() for seconds in one.stops]
    left = asyncio.run(_count_left(topology))
    print(moved.splitlines()[0])
    print(verdict)
    print(f"wrong bytes: {wrong}; left at the source: {left}")
    print(f"stops: {len(stops)}, longest {max(stops):.1f} s; later than their grace: {late}")
    return verdict.clean and not verdict.failed and not wrong and not late and not left


async def _count_left(topology: Topology) -> int:
    store = open_store(str(topology.folder / "disk"))
    return sum(
        [len(page) for folder in ("uploads", "results") async for page in store.pages(folder)]
    )


if __name__ == "__main__":
    main()
