"""Parts of a docmill serve that fail in the middle of their work, again and again, and its stop."""

import json
import os
import shutil
import signal
import socket
import tempfile
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx2
import psycopg
import pytest

from docmill.core.parts import DOWN, OK
from docmill.db import embedded
from stories.test_alive import LONG, QUICK, fork_servers, is_done, told
from terminal import SOON, Served, Terminal, letter, wait_for

# Asked ten times a second, each fails every few seconds.
WEAK = ("web", "worker", "poller", "rescue", "retention", "services", "webhooks")
POINTS = ",".join(f"part.{name}=fail:0.03" for name in WEAK)

JOB = "SELECT status, attempt_count, outcome FROM jobs JOIN job_attempts ON job_id = id"


@pytest.fixture
def folder() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="docmill-parts-", dir="/tmp"))
    yield folder
    shutil.rmtree(folder)


def test_parts_that_fail_are_named_and_started_again_and_the_others_go_on(folder: Path) -> None:
    served = Served(Terminal(folder, QUICK | {"DOCMILL_FAILPOINTS": POINTS}), folder / "data")
    try:
        is_done(served, "while every part fails now and then")
        _all_fall_and_rise(served)
        is_done(served, "and after all have")
        ended = _ended(served)
        assert {line["part"] for line in ended} == {*WEAK}
        assert {line["error"] for line in ended} == {"OSError: failpoint"}
    finally:
        served.process.send_signal(signal.SIGTERM)
        assert served.process.wait(SOON) == 0


def _all_fall_and_rise(served: Served) -> None:
    """Every weak part was seen down and then up; the web itself is silent while it is down."""
    fallen, risen = set[str](), set[str]()
    until = time.monotonic() + SOON
    while risen != {*WEAK}:
        assert time.monotonic() < until, f"{fallen} {risen}\n{served.log.read_text()}"
        fallen |= {"web"} if any(line["part"] == "web" for line in _ended(served)) else set()
        try:
            answer = httpx2.get(f"{served.url}/health", timeout=LONG)
        except httpx2.TransportError:
            continue  # cut short by the end of the web part
        states: dict[str, str] = answer.json()["parts"]
        assert answer.status_code == (503 if DOWN in states.values() else 200)
        fallen |= {name for name, state in states.items() if state == DOWN}
        risen |= {name for name in fallen if states[name] == OK}


def _ended(served: Served) -> list[dict[str, str]]:
    told = (line for line in served.log.read_text().splitlines() if '"part.ended"' in line)
    return [json.loads(line) for line in told]


def test_a_second_stop_gives_back_at_once_what_the_first_waits_for(folder: Path) -> None:
    patient = {"DOCMILL_GRACE_SECONDS": "100000"}
    served = Served(Terminal(folder, QUICK | patient), folder / "data")
    files = {"file": ("a.pdf", letter(), "application/pdf")}
    try:
        wait_for(lambda: told(served, "/ready")[0] == 200, served.log.read_text, LONG)
        with _holding(fork_servers(served)[0]):
            answer = httpx2.post(f"{served.url}/api/upload", files=files, timeout=LONG)
            job_id = answer.json()["jobId"]
            wait_for(lambda: _status(served, job_id) == "processing", served.log.read_text)
            served.process.send_signal(signal.SIGTERM)
            wait_for(lambda: not _listens(served), served.log.read_text)
            assert served.process.poll() is None
            served.process.send_signal(signal.SIGTERM)
            wait_for(lambda: '"job.settled"' in served.log.read_text(), served.log.read_text)
        assert served.process.wait(SOON) == 0
    finally:
        served.kill()
    server = embedded.start(folder / "data" / "postgres")
    try:
        with psycopg.connect(server.url) as conn:
            asked = (
                "SELECT status, attempt_count, outcome FROM jobs JOIN job_attempts ON job_id = id"
            )
            assert conn.execute(asked).fetchall() == [("queued", 0, "stopped")]
    finally:
        server.stop()


@contextmanager
def _holding(pid: int) -> Generator[None]:
    """Nothing of the fork server goes on, as if a document took long."""
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)


def _status(served: Served, job_id: str) -> str:
    return httpx2.get(f"{served.url}/api/jobs/{job_id}", timeout=LONG).json()["status"]


def _listens(served: Served) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", served.port)) == 0
