"""Web and workers as processes of their own, which a story may kill."""

import signal
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

import psycopg

from bench.checker import judge
from terminal import SOON, Process, Served, Terminal, begin, wait_for

# A lost job is found soon, and tried again at once.
HURRIED = {
    "DOCMILL_RETRY_SECONDS": "0",
    "DOCMILL_RETRY_JITTER_SECONDS": "0",
    "DOCMILL_RESCUE_SECONDS": "0.5",
    "DOCMILL_POLL_SECONDS": "0.5",
    "DOCMILL_BUCKET": "none",
    "DOCMILL_PIPELINES": "extract",
}


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
    def worker(self, **variables: str) -> Generator[Process]:
        log = self.terminal.home / "worker.log"
        worker = begin(self.terminal.with_(**variables), ("worker", "--data", self.data), log)
        try:
            yield worker
        finally:
            worker.kill()
            worker.wait(SOON)

    def worker_dies_at(self, point: str, **variables: str) -> None:
        with self.worker(DOCMILL_FAILPOINTS=f"{point}=kill", **variables) as worker:
            assert worker.wait(SOON) == -signal.SIGKILL

    def states(self) -> dict[UUID, str]:
        with psycopg.connect(self.url) as conn:
            return dict(conn.execute("SELECT id, status FROM jobs").fetchall())

    def removals(self) -> int:
        """Objects that a sweep has noted and not deleted yet."""
        with psycopg.connect(self.url) as conn:
            return len(conn.execute("SELECT key FROM removals").fetchall())

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
