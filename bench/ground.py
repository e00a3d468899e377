"""What the measurements stand on: one PostgreSQL, databases in it, processes beside it."""

import asyncio
import multiprocessing
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Generator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, ParamSpec, TypeVar

import psycopg
from psycopg import sql
from psycopg.conninfo import make_conninfo

from docmill.db import embedded, migrate

P = ParamSpec("P")
T = TypeVar("T")

DOCMILL: Final = str(Path(sys.executable).with_name("docmill"))
ROOT: Final = Path(__file__).resolve().parents[1]
DURABLE: Final = ("fsync", "synchronous_commit", "full_page_writes")


@dataclass(frozen=True, slots=True)
class Ground:
    """A folder and a server of our own, gone when the bench ends."""

    folder: Path
    url: str
    quick: bool
    stop: Callable[[], None] = lambda: None  # the server, before the bench ends

    def database(self, name: str) -> str:
        """A new, empty database."""
        with psycopg.connect(self.url, autocommit=True) as conn:
            conn.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        return make_conninfo(self.url, dbname=name)

    def migrated(self, name: str) -> str:
        url = self.database(name)
        asyncio.run(migrate.migrate(url))
        return url

    def count(self, full: int, quick: int) -> int:
        return quick if self.quick else full


@contextmanager
def prepared(*, quick: bool) -> Generator[Ground]:
    """PostgreSQL as docmill runs it: what is acknowledged is on the disk."""
    folder = Path(tempfile.mkdtemp(prefix="docmill-bench-", dir="/tmp"))
    try:
        server = embedded.start(folder / "pg")
        try:
            with psycopg.connect(server.url) as conn:
                for name in DURABLE:
                    assert conn.execute(f"SHOW {name}").fetchone() == ("on",), name
            yield Ground(folder, server.url, quick, server.stop)
        finally:
            if server.running():
                server.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@dataclass(frozen=True, slots=True)
class Site:
    """A web server in its own process."""

    pid: int
    port: int

    def cpu_seconds(self) -> float:
        """What the process has used so far, by itself and in the kernel."""
        words = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def serving(*words: str, **environment: str) -> Generator[Site]:
    """Start a command that says `http://..:port` when it serves; stop it with the block."""
    with started(*words, **environment) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if found := re.search(r"http://[^:]+:(\d+)", line):
                yield Site(process.pid, int(found[1]))
                return
        raise RuntimeError(f"{' '.join(words)} ended with {process.wait()}")


@contextmanager
def started(*words: str, **environment: str) -> Generator[subprocess.Popen[str]]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("DOCMILL_")}
    process = subprocess.Popen(
        words,
        cwd=ROOT,
        env=kept | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def web(ground: Ground, url: str) -> Any:
    """`docmill web` with nothing changed but the limits of one owner, who is all of the load."""
    return serving(
        DOCMILL, "web", "--port", "0", "--data", str(ground.folder / "data"),
        DATABASE_URL=url, DOCMILL_UPLOADS_PER_MINUTE="0", DOCMILL_READS_PER_MINUTE="0",
    )  # fmt: skip


def apart(call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run in a process of its own, fresh, and take what it returns."""
    fresh = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=fresh) as pool:
        return pool.submit(call, *args, **kwargs).result()
