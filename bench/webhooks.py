"""Kills deliverers while the receiver fails, then counts. `python -m bench.webhooks --help`.

Jobs end as workers end them, each with its event; the receiver checks every signature with the
published library of Standard Webhooks. What has used up its ten tries is replayed, as its owner
would do it.
"""

import argparse
import asyncio
import json
import os
import random
import shutil
import signal
import socket
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Final
from uuid import uuid4

import psycopg
from standardwebhooks import Webhook as Verifier
from standardwebhooks import WebhookVerificationError

from bench import crew
from bench.crew import fork
from docmill.core.documents import NewDocument
from docmill.core.jobs import DocumentId, Finished, JobId, Retry, StoredResult, settle
from docmill.core.owners import OwnerKey
from docmill.db import embedded, migrate
from docmill.db.pool import Connection, open_pool
from docmill.documents import queries as documents_queries
from docmill.queue import claim, enqueue
from docmill.queue import settle as queue_settle
from docmill.services.outbound import OutboundClient, read_rules
from docmill.webhooks import queries, signing
from docmill.webhooks.deliver import Deliverer, DeliveryRules
from docmill.webhooks.queries import NewWebhook, WebhookId

OWNER: Final = OwnerKey("user:receiver")
# As shipped, but in hundredths of a second instead of days.
RULES: Final = DeliveryRules(
    delays=tuple(timedelta(milliseconds=20 * turn) for turn in range(1, 10)),
    timeout=timedelta(seconds=2),
    lease=timedelta(seconds=3),
    poll=timedelta(seconds=0.2),
)
DELIVERERS: Final = 3
TAKEN, REFUSED, FORGED = "taken", "refused", "forged"


@dataclass(frozen=True, slots=True)
class Storm:
    """How much trouble to make."""

    events: int = 2_000
    kills: int = 200
    fails: float = 0.6
    seed: int = 1
    limit: float = 600.0


@dataclass(frozen=True, slots=True)
class Counted:
    """What was found: `delivered` are distinct ids that the receiver has taken and verified."""

    events: int
    delivered: int
    requests: int
    refused: int
    forged: int
    unknown: int
    repeated: int
    replayed: int
    kills: int

    @property
    def clean(self) -> bool:
        return self.delivered == self.events and not self.forged and not self.unknown


class Receipts:
    """Decides on each request and writes down what came; in a process of its own."""

    def __init__(self, secret: str, storm: Storm, file: Path) -> None:
        self._verifier: Verifier = Verifier(secret)
        self._fails: float = storm.fails
        self._chance: random.Random = random.Random(storm.seed + 1)
        self._file: Path = file
        self._lock: threading.Lock = threading.Lock()

    def receive(self, body: bytes, headers: dict[str, str]) -> int:
        with self._lock:
            word, status = self._judge(body, headers)
            with self._file.open("a") as noted:
                noted.write(f"{word} {headers.get('webhook-id')}\n")
        return status

    def _judge(self, body: bytes, headers: dict[str, str]) -> tuple[str, int]:
        try:
            told = self._verifier.verify(body, headers)
        except WebhookVerificationError:
            return FORGED, 400
        if self._chance.random() < self._fails:
            return REFUSED, self._chance.choice([500, 503, 404, 302])
        assert told["type"] == "job.complete"
        return TAKEN, 200


def serve(listener: socket.socket, receipts: Receipts) -> None:
    class Receiver(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            length = int(self.headers["content-length"])
            body = self.rfile.read(length)
            if len(body) < length:  # who sent it was killed in the middle of it
                return
            known = {name.lower(): value for name, value in self.headers.items()}
            self.send_response(receipts.receive(body, known))
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Nothing to say."""

    server = ThreadingHTTPServer(listener.getsockname(), Receiver, bind_and_activate=False)
    server.socket.close()
    server.socket = listener
    server.serve_forever()


def read_receipts(file: Path) -> dict[str, Counter[str]]:
    """How often each id came to each end."""
    found = {word: Counter[str]() for word in (TAKEN, REFUSED, FORGED)}
    for line in file.read_text().splitlines():
        word, _, message = line.partition(" ")
        found[word][message] += 1
    return found


def deliver(url: str) -> None:
    crew.hush()
    asyncio.run(_deliver(url))


async def _deliver(url: str) -> None:
    allowed = read_rules("DOCMILL_WEBHOOK_ALLOW", ["127.0.0.0/8"])
    client = OutboundClient(allowed, timeout=RULES.timeout)
    async with open_pool(url, size=4) as pool, client:
        await Deliverer(pool, client, RULES, url).run()


def feed(url: str, events: int) -> None:
    crew.hush()
    asyncio.run(_feed(url, events))


async def _feed(url: str, events: int) -> None:
    async with open_pool(url, size=2) as pool:
        for _ in range(events):
            async with pool.connection() as conn:
                await end_job(conn)


async def end_job(conn: Connection) -> None:
    """A job of the owner, complete, with its event, in one transaction."""
    job_id, document_id = JobId(uuid4()), DocumentId(uuid4())
    document = NewDocument(
        document_id, "0" * 64, 1, "application/pdf", "a.pdf", "upload", f"uploads/{document_id}", {}
    )
    job = enqueue.NewJob(job_id, document_id, OWNER, "extract", None, {}, 0, str(job_id))
    await documents_queries.insert_document(conn, OWNER, document, keep=None)
    await enqueue.add_job(conn, job)
    await enqueue.enqueue(conn, job)
    (claimed,) = await claim.claim(
        conn, "feeder", pipelines=["extract"], slots=1, lease=timedelta(minutes=5)
    )
    result = StoredResult(f"results/{job_id}.gz", "application/json", 2, 2, "0" * 64, "1")
    move = settle(claimed, Finished(result), retry=Retry(1), chance=0)
    await queue_settle.write_settlements(conn, [queue_settle.Settlement(claimed, move)])


async def add_webhook(url: str, port: int, secret: str) -> WebhookId:
    async with await psycopg.AsyncConnection.connect(url) as conn:
        await enqueue.ensure_owner(conn, OWNER)
        address = f"http://127.0.0.1:{port}/"
        new = NewWebhook(OWNER, OWNER, address, ["job.complete"], secret)
        added = await queries.add_webhook(conn, new)
    assert added is not None
    return added.id


async def replay_failed(url: str, webhook_id: WebhookId) -> int:
    async with await psycopg.AsyncConnection.connect(url) as conn:
        await queries.enable_webhook(conn, webhook_id)
        start = datetime(2020, 1, 1, tzinfo=UTC)
        return await queries.replay_since(conn, webhook_id, start, missed=True)


def count_left(url: str) -> tuple[int, int]:
    """Deliveries there are, and those that are not delivered."""
    query = "SELECT count(*), count(*) FILTER (WHERE status <> 'delivered') FROM webhook_deliveries"
    with psycopg.connect(url) as conn:
        row = conn.execute(query).fetchone()
    assert row is not None
    return row[0], row[1]


def list_ids(url: str) -> set[str]:
    with psycopg.connect(url) as conn:
        return {
            signing.name_message(row[0]) for row in conn.execute("SELECT id FROM webhook_events")
        }


class Kills:
    """Deliverers, of which one is killed now and then and another put in its place."""

    def __init__(self, url: str, storm: Storm) -> None:
        self._url: str = url
        self._left: int = storm.kills
        self._chance: random.Random = random.Random(storm.seed)
        self._pids: list[int] = [self._fork() for _ in range(DELIVERERS)]

    def _fork(self) -> int:
        return fork(lambda: deliver(self._url))

    @property
    def left(self) -> int:
        return self._left

    def strike(self) -> None:
        if not self._left:
            return
        at = self._chance.randrange(len(self._pids))
        os.kill(self._pids[at], signal.SIGKILL)
        os.waitpid(self._pids[at], 0)
        self._pids[at] = self._fork()
        self._left -= 1

    def end(self) -> None:
        for pid in self._pids:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


def run(storm: Storm, *, tell: Callable[[str], None] = lambda _: None) -> Counted:
    folder = Path(tempfile.mkdtemp(prefix="docmill-webhooks-", dir="/tmp"))
    server = embedded.start(folder / "pg")
    try:
        asyncio.run(migrate.migrate(server.url))
        return measure(server.url, storm, tell=tell)
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)


def measure(url: str, storm: Storm, *, tell: Callable[[str], None] = lambda _: None) -> Counted:
    """On a migrated database."""
    secret, file = signing.make_secret(), Path(tempfile.mkstemp(prefix="docmill-receipts-")[1])
    listener = socket.create_server(("127.0.0.1", 0), backlog=128)
    webhook_id = asyncio.run(add_webhook(url, listener.getsockname()[1], secret))
    receiver = fork(lambda: serve(listener, Receipts(secret, storm, file)))
    kills = Kills(url, storm)
    feeder = fork(lambda: feed(url, storm.events))
    try:
        replayed = _endure(url, storm, kills, webhook_id, tell=tell)
        os.waitpid(feeder, 0)
        done = storm.kills - kills.left
        return count(list_ids(url), read_receipts(file), storm, replayed=replayed, kills=done)
    finally:
        kills.end()
        os.kill(receiver, signal.SIGKILL)
        os.waitpid(receiver, 0)
        listener.close()
        file.unlink()


def count(
    known: set[str],
    receipts: dict[str, Counter[str]],
    storm: Storm,
    *,
    replayed: int,
    kills: int,
) -> Counted:
    taken = receipts[TAKEN]
    return Counted(
        events=storm.events,
        delivered=len(known & taken.keys()),
        requests=sum(each.total() for each in receipts.values()),
        refused=receipts[REFUSED].total(),
        forged=receipts[FORGED].total(),
        unknown=len(taken.keys() - known),
        repeated=taken.total() - len(taken),
        replayed=replayed,
        kills=kills,
    )


def _endure(
    url: str, storm: Storm, kills: Kills, webhook_id: WebhookId, *, tell: Callable[[str], None]
) -> int:
    """Until all is delivered and every kill is done; how many were replayed."""
    deadline, replayed, turn = time.monotonic() + storm.limit, 0, 0
    while time.monotonic() < deadline:
        kills.strike()
        time.sleep(0.1)
        there, left = count_left(url)
        if turn % 50 == 0:
            tell(f"{there} events, {left} not delivered, {kills.left} kills to come")
            replayed += asyncio.run(replay_failed(url, webhook_id))
        turn += 1
        if there == storm.events and not left and not kills.left:
            break
    return replayed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    usual = Storm()
    parser.add_argument("--events", type=int, default=usual.events)
    parser.add_argument("--kills", type=int, default=usual.kills)
    parser.add_argument("--fails", type=float, default=usual.fails, help="share of requests")
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    parser.add_argument("--limit", type=float, default=usual.limit, help="seconds")
    storm = replace(usual, **vars(parser.parse_args()))
    print(storm)
    began_at = time.monotonic()
    counted = run(storm, tell=print)
    print(f"{json.dumps({name: getattr(counted, name) for name in Counted.__slots__})}")
    print(f"{'clean' if counted.clean else 'NOT CLEAN'} in {time.monotonic() - began_at:.0f} s")
    sys.exit(0 if counted.clean else 1)


if __name__ == "__main__":
    main()
