"""docmill serve keeps its parts alive, tells of it, and obeys a stop at every moment."""

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import psycopg
import pytest

from docmill.processes.database import find_running
from terminal import Served, Terminal, begin, letter, wait_for
from waits import PATIENCE

QUICK = {
    "DOCMILL_UPLOADS_PER_MINUTE": "0",
    "DOCMILL_DEFAULT_PIPELINE": "extract",
    "DOCMILL_PIPELINES": "extract",
    "DOCMILL_POLL_SECONDS": "0.5",
    "DOCMILL_RESCUE_SECONDS": "0.5",
    "DOCMILL_RETRY_SECONDS": "0",
    "DOCMILL_RETRY_JITTER_SECONDS": "0",
}
LONG = PATIENCE


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    # pytest's own temporary folders are too deep for a socket's path.
    folder = Path(tempfile.mkdtemp(prefix="docmill-alive-", dir="/tmp"))
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def served(folder: Path) -> Iterator[Served]:
    """One for all: each story leaves it as well as it was."""
    served = Served(Terminal(folder, QUICK), folder / "data")
    wait_for(lambda: told(served, "/ready")[0] == 200, served.log.read_text, LONG)
    yield served
    assert served.stop() == 0


def told(served: Served, path: str) -> tuple[int, dict[str, Any]]:
    answer = httpx2.get(f"{served.url}{path}", timeout=PATIENCE)
    return answer.status_code, answer.json()


def is_done(served: Served, words: str) -> str:
    """A file goes the whole road; its job."""
    with httpx2.Client(base_url=served.url, timeout=PATIENCE) as client:
        files = {"file": ("a.pdf", letter(words), "application/pdf")}
        job: dict[str, Any] = {}

        def sent() -> bool:
            answer = client.post("/api/upload", files=files)
            job.update(answer.json())
            return answer.status_code == 200

        def ended() -> bool:
            answer = client.get(f"/api/jobs/{job['jobId']}")
            job.update(answer.json())
            return job["status"] in {"complete", "failed"}

        wait_for(sent, served.log.read_text, LONG)
        wait_for(ended, served.log.read_text, LONG)
        assert job["status"] == "complete", job
    return job["jobId"]


def postmaster(served: Served) -> int:
    cluster = served.log.with_suffix("") / "postgres" / "cluster" / "pgdata"
    return int((cluster / "postmaster.pid").read_text().split()[0])


def fork_servers(served: Served) -> list[int]:
    ran = subprocess.run(
        ["pgrep", "-P", str(served.process.pid), "-f", "docmill.sandbox.fork_server"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    return [int(word) for word in ran.stdout.split()]


def fork_server(served: Served) -> int | None:
    """The worker's, before the web has one."""
    return next(iter(fork_servers(served)), None)


def lines(served: Served, words: str) -> list[str]:
    return [line for line in served.log.read_text().splitlines() if words in line]


def test_a_killed_postmaster_is_back_by_itself_and_meanwhile_it_is_said(served: Served) -> None:
    url = find_running(served.log.with_suffix(""))
    assert url
    for _ in range(2):
        before = postmaster(served)
        os.kill(before, signal.SIGKILL)
        wait_for(lambda: told(served, "/health")[0] == 503, served.log.read_text)
        wait_for(lambda: told(served, "/health")[0] == 200, served.log.read_text, LONG)
        assert postmaster(served) != before
        wait_for(lambda: _answers(url), served.log.read_text, LONG)  # at the same address
    wait_for(lambda: told(served, "/ready")[0] == 200, served.log.read_text, LONG)
    is_done(served, "after the postmaster was killed")
    assert lines(served, '"part": "postgres"')


def test_a_postmaster_that_somebody_asked_to_end_is_replaced(served: Served) -> None:
    """SIGTERM makes it wait for its sessions for ever, and let nobody in meanwhile."""
    url = find_running(served.log.with_suffix(""))
    assert url
    before = postmaster(served)
    os.kill(before, signal.SIGTERM)
    wait_for(lambda: _answers(url), served.log.read_text, LONG)
    assert postmaster(served) != before
    wait_for(lambda: told(served, "/ready")[0] == 200, served.log.read_text, LONG)
    is_done(served, "after the postmaster was asked to end")


def _answers(url: str) -> bool:
    try:
        psycopg.connect(url, connect_timeout=10).close()
    except psycopg.OperationalError:
        return False
    return True


def test_a_killed_session_of_the_database_costs_nothing(served: Served) -> None:
    for _ in range(2):
        ran = subprocess.run(
            ["pgrep", "-P", str(postmaster(served))], capture_output=True, text=True, check=True
        )
        os.kill(int(ran.stdout.split()[-1]), signal.SIGKILL)
        is_done(served, f"after a session was killed {time.monotonic()}")


def test_a_killed_fork_server_is_started_again_and_named(served: Served) -> None:
    wait_for(lambda: fork_server(served), served.log.read_text, LONG)
    before = fork_server(served)
    assert before
    os.kill(before, signal.SIGKILL)
    # Back so soon that a look at /ready may miss it; the log does not.
    wait_for(lambda: lines(served, '"part": "fork server"'), served.log.read_text, LONG)
    wait_for(lambda: fork_server(served) not in {None, before}, served.log.read_text, LONG)
    wait_for(lambda: told(served, "/health")[0] == 200, served.log.read_text, LONG)
    is_done(served, "after the fork server was killed")
    assert len(lines(served, '"part": "fork server"')) == 1


def test_the_webs_fork_server_is_started_again_once_it_was_used(served: Served) -> None:
    job_id = is_done(served, "to be looked at")
    page = f"{served.url}/api/jobs/{job_id}/pages/1.png"
    others = set(fork_servers(served))
    assert httpx2.get(page, timeout=LONG).status_code == 200
    (before,) = set(fork_servers(served)) - others
    os.kill(before, signal.SIGKILL)
    wait_for(lambda: lines(served, '"part": "web fork server"'), served.log.read_text, LONG)
    wait_for(lambda: set(fork_servers(served)) - others - {before}, served.log.read_text, LONG)
    wait_for(lambda: told(served, "/health")[0] == 200, served.log.read_text, LONG)
    assert httpx2.get(page, timeout=LONG).status_code == 200
    assert len(lines(served, '"part": "web fork server"')) == 1


def test_a_database_that_turns_read_only_is_waited_out(served: Served) -> None:
    url = find_running(served.log.with_suffix(""))
    assert url
    _read_only(url, on=True)
    try:
        wait_for(
            lambda: told(served, "/ready")[1]["parts"]["database"] == "READ_ONLY",
            served.log.read_text,
        )
        files = {"file": ("a.pdf", letter("refused"), "application/pdf")}
        answer = httpx2.post(f"{served.url}/api/upload", files=files, timeout=PATIENCE)
        assert (answer.status_code, answer.json()["code"]) == (503, "DATABASE_DOWN")
        assert told(served, "/health")[0] == 200
        wait_for(lambda: lines(served, "claim.waits"), served.log.read_text)
    finally:
        _read_only(url, on=False)
    is_done(served, "after the database was read-only")
    waits = [line for line in lines(served, "claim.waits") if "ReadOnly" in line]
    assert len(waits) == 1  # said once, not with every try
    wait_for(lambda: told(served, "/ready")[0] == 200, served.log.read_text, LONG)


def _read_only(url: str, *, on: bool) -> None:
    with psycopg.connect(url, autocommit=True) as conn:
        conn.execute("SET default_transaction_read_only = off")
        conn.execute(f"ALTER DATABASE postgres SET default_transaction_read_only = {on}".encode())
        conn.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'"
        )


@pytest.mark.parametrize(
    "moment", ["initdb", "cluster/pgdata/postmaster.pid", "worker.started", "docmill is at"]
)
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_stop_is_obeyed_at_every_moment_of_the_start(
    tmp_path: Path, moment: str, number: signal.Signals
) -> None:
    data, log = tmp_path / "data", tmp_path / "log"
    process = begin(Terminal(tmp_path, QUICK), ("serve", "--port", "0", "--data", data), log)
    try:
        if moment == "initdb":
            wait_for((data / "postgres" / "cluster.new" / "pgdata").exists, log.read_text)
        elif "/" in moment:
            wait_for((data / "postgres" / moment).exists, log.read_text)
        else:
            wait_for(lambda: moment in log.read_text(), log.read_text)
        process.send_signal(number)
        assert process.wait(PATIENCE) == 0
        assert "Traceback" not in log.read_text()
        assert not (data / "postgres" / "cluster" / "pgdata" / "postmaster.pid").exists()
    finally:
        process.kill()
        process.wait()


def a_file(home: Path, _: Path) -> Path:
    (home / "file").write_text("a file")
    return home / "file"


def below_a_file(home: Path, _: Path) -> Path:
    return a_file(home, home) / "data"


def nobody_may_write(_: Path, __: Path) -> Path:
    return Path("/proc/docmill")  # closed to root as well


def without_a_password(home: Path, made: Path) -> Path:
    shutil.copytree(made, home / "data", symlinks=True)
    (home / "data" / "postgres" / "cluster" / "password").unlink()
    return home / "data"


def of_no_version(home: Path, made: Path) -> Path:
    shutil.copytree(made, home / "data", symlinks=True)
    (home / "data/postgres/cluster/pgdata/PG_VERSION").write_bytes(b"\xff\x00 garbage")
    return home / "data"


@pytest.fixture(scope="module")
def made() -> Iterator[Path]:
    """A data folder with a database in it that does not run."""
    home = Path(tempfile.mkdtemp(prefix="docmill-made-", dir="/tmp"))
    assert Terminal(home).run("migrate", "--data", home / "data").code == 0
    yield home / "data"
    shutil.rmtree(home)


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (a_file, "is not a folder: a file is in its place."),
        (below_a_file, "is not a folder: a file is in its place."),
        (nobody_may_write, "Nothing can be written to the data folder"),
        (without_a_password, "The database's password can't be read from"),
        (of_no_version, "is damaged: PG_VERSION holds no version."),
    ],
)
def test_a_folder_that_will_not_do_is_told_in_two_lines(
    tmp_path: Path, made: Path, spoil: Any, says: str
) -> None:
    ran = Terminal(tmp_path).run("serve", "--port", "0", "--data", spoil(tmp_path, made))
    assert ran.code == 1
    assert says in ran.err
    assert (len(ran.err.splitlines()), "Traceback" in ran.err) == (2, False)
