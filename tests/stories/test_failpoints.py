"""kill -9 at every named step of a document's way: afterwards its job is done, and done once."""

import signal
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

import httpx2
import psycopg
import pytest
from bench.checker import judge

from cli.terminal import SOON, Served, Terminal, begin, letter, wait_for
from docmill.core import failpoints
from ingest.test_poller_crash import FILING, TAKING

# Where each is tried: in the process that accepts, in a worker, or in a worker's retention.
ACCEPTING = ("accept.stored", "accept.committed")
RETIRING = ("expire.deleted",)
WORKING = (
    "claim.before", "claim.after", "beat.before", "run.started", "result.stored",
    "settle.before", "settle.after", "rescue.before",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class House:
    """Web and workers as processes of their own over one database."""

    terminal: Terminal
    url: str

    @property
    def data(self) -> Path:
        return self.terminal.home / "data"

    @contextmanager
    def web(self, **variables: str) -> Generator[Served]:
        served = Served(self.terminal.with_(**variables), self.data, part="web")
        try:
            yield served
        finally:
            served.kill()

    @contextmanager
    def worker(self, **variables: str) -> Generator["subprocess.Popen[bytes]"]:
        log = self.terminal.home / "worker.log"
        worker = begin(self.terminal.with_(**variables), ("worker", "--data", self.data), log)
        try:
            yield worker
        finally:
            worker.kill()
            worker.wait(SOON)

    def worker_dies_at(self, point: str) -> None:
        with self.worker(DOCMILL_FAILPOINTS=f"{point}=kill") as worker:
            assert worker.wait(SOON) == -signal.SIGKILL

    def states(self) -> dict[UUID, str]:
        with psycopg.connect(self.url) as conn:
            return dict(conn.execute("SELECT id, status FROM jobs").fetchall())

    def count(self, kind: str) -> int:
        with psycopg.connect(self.url) as conn:
            asked = "SELECT count(*) FROM job_events WHERE kind = %s"
            row = conn.execute(asked, (kind,)).fetchone()
        assert row is not None
        return row[0]

    def finish(self, **variables: str) -> UUID:
        """An unharmed worker does the rest: one job, complete, and nothing done twice."""
        with self.worker(**variables):
            wait_for(
                lambda: set(self.states().values()) == {"complete"}, lambda: str(self.states())
            )
        (job_id,) = self.states()
        verdict = judge(self.url, [job_id])
        assert verdict.clean
        assert self.count("complete") == verdict.complete == 1
        return job_id


@pytest.fixture
def house(tmp_path: Path, database_url: str) -> House:
    return House(Terminal(tmp_path, {"DATABASE_URL": database_url}), database_url)


def send(client: httpx2.Client, served: Served) -> httpx2.Response:
    files = {"file": ("a.pdf", letter(), "application/pdf")}
    return client.post(
        f"{served.url}/api/upload", files=files, data={"pipeline": "extract"},
        headers={"Idempotency-Key": "once"},
    )  # fmt: skip


def acknowledged(house: House) -> None:
    with house.web() as served, httpx2.Client() as client:
        assert send(client, served).status_code == 200


def test_every_failpoint_is_tried() -> None:
    asked = {"answer.kept"}  # in test_services
    polled = {*TAKING, *FILING}  # in tests/ingest
    assert {*ACCEPTING, *WORKING, *RETIRING, *asked, *polled} == failpoints.NAMES


@pytest.mark.parametrize("point", WORKING)
def test_a_job_whose_worker_dies_is_done_once_by_another(house: House, point: str) -> None:
    acknowledged(house)
    house.worker_dies_at(point)
    house.finish()


@pytest.mark.parametrize("point", ACCEPTING)
def test_an_upload_cut_by_a_death_is_all_or_nothing_and_sent_again_gives_one_job(
    house: House, point: str
) -> None:
    with httpx2.Client() as client:
        with house.web(DOCMILL_FAILPOINTS=f"{point}=kill") as served:
            client.get(f"{served.url}/queue")
            with pytest.raises(httpx2.TransportError):
                send(client, served)
            assert served.process.wait(SOON) == -signal.SIGKILL
        kept = len(house.states())
        assert kept == (point == "accept.committed")
        with house.web() as served:
            told = send(client, served).json()["jobId"]
    assert house.finish() == UUID(told)


@pytest.mark.parametrize("point", RETIRING)
def test_retention_that_dies_in_between_goes_on_and_tells_of_it_once(
    house: House, point: str
) -> None:
    acknowledged(house)
    house.finish(DOCMILL_KEEP_RESULTS_DAYS="1e-9")
    house.worker_dies_at(point)
    assert house.count("expired") == 0
    with house.worker():
        wait_for(lambda: house.count("expired") > 0)
    with psycopg.connect(house.url) as conn:
        assert conn.execute("SELECT result_key FROM jobs").fetchall() == [(None,)]
    assert house.count("expired") == 1
