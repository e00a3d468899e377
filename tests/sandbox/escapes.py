"""Attempts to escape from a child; run plainly, they are their own negative control."""

import ctypes
import fcntl
import json
import os
import resource
import socket
import struct
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from docmill.core.plugins import Output, Source, Tools


@dataclass(frozen=True, slots=True)
class Scene:
    """What an attempt is aimed at."""

    secret: str
    victim: str
    pid: int
    port: int


def _libc(name: str, *arguments: int | bytes) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc[name](*arguments) < 0:
        raise OSError(ctypes.get_errno(), "refused")


def _connect(scene: Scene) -> None:
    with socket.create_connection(("127.0.0.1", scene.port), timeout=60):
        pass


def _socket(kind: int) -> None:
    with socket.socket(socket.AF_INET, kind, socket.IPPROTO_ICMP if kind == RAW else 0):
        pass


RAW = int(socket.SOCK_RAW)


def _fork(_scene: Scene) -> None:
    if (pid := os.fork()) == 0:
        os._exit(0)
    os.waitpid(pid, 0)


def _ptrace(scene: Scene) -> None:
    seize = 0x4206
    _libc("ptrace", seize, scene.pid, 0, 0)


def _read_memory(scene: Scene) -> None:
    with Path(f"/proc/{scene.pid}/mem").open("rb"):
        pass


def _make_pidfd(scene: Scene) -> None:
    os.close(os.pidfd_open(scene.pid))


def _own_signal(scene: Scene) -> None:
    """F_SETOWN asks the kernel to send the signal: kill() by another name."""
    fcntl.fcntl(0, fcntl.F_SETOWN, scene.pid)


def _raise_limit(_scene: Scene) -> None:
    same = struct.pack("=QQ", *resource.getrlimit(resource.RLIMIT_NOFILE))
    _libc("setrlimit", resource.RLIMIT_NOFILE, same)


def _outlive(_scene: Scene) -> None:
    _libc("prctl", 1, 0, 0, 0, 0)


ATTEMPTS: dict[str, Callable[[Scene], object]] = {
    "read /etc/passwd": lambda _: Path("/etc/passwd").read_bytes(),
    "read the data folder": lambda scene: Path(scene.secret).read_bytes(),
    "read beside an imported module": lambda _: (
        Path(__file__).with_name("test_child.py").read_bytes()
    ),
    "list the data folder": lambda scene: os.listdir(Path(scene.secret).parent),  # noqa: PTH208
    "list the home folder": lambda _: os.listdir("/root" if os.getuid() == 0 else "/home"),  # noqa: PTH208
    "write /tmp": lambda scene: Path(scene.victim).with_suffix(".new").write_bytes(b"x"),
    "overwrite a file": lambda scene: Path(scene.victim).write_bytes(b"x"),
    "truncate a file": lambda scene: os.truncate(scene.victim, 0),
    "unlink a file": lambda scene: Path(scene.victim).unlink(),
    "rename a file": lambda scene: Path(scene.victim).rename(scene.victim + ".moved"),
    "change a mode": lambda scene: Path(scene.victim).chmod(0o777),
    "make a folder": lambda scene: Path(scene.victim + ".d").mkdir(),
    "connect 127.0.0.1": _connect,
    "open a UDP socket": lambda _: _socket(int(socket.SOCK_DGRAM)),
    "open a unix socket": lambda _: socket.socket(socket.AF_UNIX).close(),
    "exec /bin/sh": lambda _: subprocess.run(["/bin/sh", "-c", "true"], check=True),
    "exec in place": lambda _: os.execv("/bin/true", ["true"]),
    "fork": _fork,
    "signal the worker": lambda scene: os.kill(scene.pid, 0),
    "signal the parent": lambda _: os.kill(os.getppid(), 0),
    "signal everyone": lambda scene: os.killpg(os.getpgid(scene.pid), 0),
    "signal by F_SETOWN": _own_signal,
    "signal by pidfd": _make_pidfd,
    "read the worker's environment": lambda scene: Path(f"/proc/{scene.pid}/environ").read_bytes(),
    "read the parent's environment": lambda _: Path(f"/proc/{os.getppid()}/environ").read_bytes(),
    "read its own environment": lambda _: Path("/proc/self/environ").read_bytes(),
    "make a memory file": lambda _: os.close(os.memfd_create("x")),
    "raise a limit": _raise_limit,
    "outlive the parent": _outlive,
}
# These need root even without any confinement of ours.
PRIVILEGED: dict[str, Callable[[Scene], object]] = {
    "open a raw socket": lambda _: _socket(RAW),
    "ptrace the worker": _ptrace,
    "read the worker's memory": _read_memory,
    "unshare": lambda _: _libc("unshare", 0x00020000),
    "chroot": lambda _: _libc("chroot", b"/"),
}


def attempt(what: str, scene: Scene) -> str:
    """`did it`, or the errno that stopped it."""
    try:
        ({**ATTEMPTS, **PRIVILEGED})[what](scene)
    except OSError as exc:
        return f"refused: {type(exc).__name__}"
    return "did it"


@dataclass(frozen=True, slots=True)
class Escape:
    name: str = "escape"
    version: str = "1"
    accepts: tuple[str, ...] = ("text/plain",)

    def run(self, source: Source, tools: Tools) -> Output:
        tools.progress(0, "escaping")
        scene = Scene(**source.options["scene"])
        return Output({"outcome": attempt(source.options["attempt"], scene)})


escape = Escape()

if __name__ == "__main__":
    # The negative control: the same attempt in a plain process.
    sys.stdout.write(attempt(sys.argv[1], Scene(**json.loads(sys.argv[2]))))
