"""Who a worker is, told so that others on the same machine can see whether it is still alive."""

import hashlib
import os
import secrets
import socket
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Identity:
    """`machine` is one boot of one pid namespace: there, a pid and its start time are unique."""

    host: str
    machine: str
    pid: int
    started: str
    nonce: str

    def __str__(self) -> str:
        return f"{self.host}/{self.machine}/{self.pid}/{self.started}/{self.nonce}"


def me() -> Identity:
    pid = os.getpid()
    host = socket.gethostname().replace("/", "-")[:60]
    return Identity(host, _machine(), pid, _started(pid) or "0", secrets.token_hex(3))


def is_dead(worker: str, seen_from: Identity) -> bool:
    """True only when it is certain: same machine, and no such process any more."""
    parts = worker.split("/")
    if len(parts) != 5 or parts[1] != seen_from.machine or not seen_from.machine:
        return False
    return parts[4] != seen_from.nonce and _started(int(parts[2])) != parts[3]


def _machine() -> str:
    """Empty where this cannot be told; then nobody is ever certainly dead."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        namespace = str(Path("/proc/self/ns/pid").readlink())
    except OSError:
        return ""
    return hashlib.sha256(f"{boot} {namespace}".encode()).hexdigest()[:12]


def _started(pid: int) -> str | None:
    """The process's start time in clock ticks; None when it is gone or a zombie."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in {"Z", "X"} else fields[19]
