"""The warm parent: imports the pipelines once, encloses itself, then forks a child for each run.

`python -m docmill.sandbox.fork_server <control fd> <plan>`: started by `docmill.sandbox.pool`
alone. Plain and single-threaded, because it forks; it reads no document and outlives every crash.
"""

import gc
import json
import os
import select
import signal
import socket
import struct
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from types import FrameType
from typing import Any, Final, NoReturn

from docmill.core import installed
from docmill.sandbox import child, confine, huge_pages, protocol
from docmill.sandbox.protocol import FrameKind

# Sent to a whole group or control group at shutdown: the worker decides when its runs end.
_IGNORED: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_NOT_STARTED: Final = -1
COLLECT_AFTER: Final = 20_000  # objects: one page is read with less, and a run is soon over


@dataclass(frozen=True, slots=True)
class _RunningChild:
    run: int
    at_ns: int


def _ignore_signal(_number: int, _frame: FrameType | None) -> None:
    """Python writes to the wake-up pipe only for signals that have a handler."""


class ForkServer:
    """The loop: orders in, children out, endings back."""

    def __init__(
        self, control: socket.socket, loaded: installed.LoadedPipelines, rules: child.SandboxConfig
    ) -> None:
        self._control = control
        self._loaded = loaded
        self._rules = rules
        self._births: dict[int, _RunningChild] = {}
        self._pid = os.getpid()
        self._wake, self._wakes = os.pipe()
        os.set_blocking(self._wake, False)
        os.set_blocking(self._wakes, False)
        signal.set_wakeup_fd(self._wakes, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, _ignore_signal)

    def serve(self) -> NoReturn:
        poll = select.poll()
        poll.register(self._control, select.POLLIN)
        poll.register(self._wake, select.POLLIN)
        while True:
            for fd, _ in poll.poll():
                if fd == self._wake:
                    os.read(fd, 4096)
                else:
                    self._obey()
            self._reap()

    def _obey(self) -> None:
        try:
            order, fds, _, _ = socket.recv_fds(self._control, protocol.ORDER.size, 2)
            what, run, cpu_seconds = protocol.ORDER.unpack(order)
        except (OSError, struct.error):
            self._leave()
        if what == protocol.KILL:
            for pid, birth in self._births.items():
                if birth.run == run:
                    os.kill(pid, signal.SIGKILL)
        else:
            self._start(run, fds, cpu_seconds)
        for fd in fds:
            os.close(fd)

    def _leave(self) -> NoReturn:
        """The worker is gone or done with us: nobody waits for what the children find."""
        for pid in self._births:
            os.kill(pid, signal.SIGKILL)
        for pid in self._births:
            os.waitpid(pid, 0)
        os._exit(0)

    def _start(self, run: int, fds: Sequence[int], cpu_seconds: int) -> None:
        try:
            channel, document = fds
            pid = os.fork()
        except (OSError, ValueError) as exc:
            number = getattr(exc, "errno", None) or 0
            self._tell(FrameKind.ENDED, protocol.ENDED.pack(run, _NOT_STARTED, number, 0, 0, 0))
            return
        if pid == 0:
            self._become_child(channel, document, cpu_seconds)
        self._births[pid] = _RunningChild(run, time.monotonic_ns())
        self._tell(FrameKind.BORN, protocol.BORN.pack(run, pid))

    def _become_child(self, channel: int, document: int, cpu_seconds: int) -> NoReturn:
        try:
            confine.tie_to(self._pid)
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            for fd in (self._control.fileno(), self._wake, self._wakes):
                os.close(fd)
            # Libraries write what they read to stderr; a log is no place for it.
            os.dup2(0, 2)
            caps = replace(self._rules.caps, cpu_seconds=cpu_seconds)
            rules = replace(self._rules, caps=caps)
            child.run_child(channel, document, loaded=self._loaded, rules=rules)
        finally:
            os._exit(1)

    def _reap(self) -> None:
        while self._births:
            pid, status, usage = os.wait4(-1, os.WNOHANG)
            if pid == 0:
                return
            birth = self._births.pop(pid)
            code = os.waitstatus_to_exitcode(status)
            lived = (time.monotonic_ns() - birth.at_ns) // 1000
            cpu = int((usage.ru_utime + usage.ru_stime) * 1_000_000)
            # Linux counts in KiB, macOS in bytes.
            memory = usage.ru_maxrss * (1024 if confine.LINUX else 1)
            ended = protocol.ENDED.pack(birth.run, code, 0, lived, cpu, memory)
            self._tell(FrameKind.ENDED, ended)

    def _tell(self, kind: FrameKind, payload: bytes) -> None:
        try:
            self._control.sendall(protocol.pack(kind, payload))
        except OSError:
            self._leave()


def main() -> NoReturn:
    control = socket.socket(fileno=int(sys.argv[1]))
    plan: dict[str, Any] = json.loads(sys.argv[2])
    os.environ.pop("PYTHONPATH", None)
    for number in _IGNORED:
        signal.signal(number, signal.SIG_IGN)
    confine.tie_to(plan["worker"])
    gc.disable()  # nearly all that is made while pipelines are imported stays
    loaded = installed.load_pipelines(plan["pipelines"], warm=True)
    gc.enable()
    huge_pages.gather_memory()
    base = confine.mapped_bytes()
    confinement = confine.enclose(plan["readable"])
    hello = {
        "in_force": confinement.in_force,
        "missing": confinement.missing,
        "broken": loaded.broken,
        "versions": {name: one.version for name, one in loaded.pipelines.items()},
    }
    caps = confine.Caps(plan["memory_bytes"], 0, base)
    rules = child.SandboxConfig(caps, filtered="seccomp" in confinement.in_force)
    sandbox = ForkServer(control, loaded, rules)
    # What is alive now is shared by all children: collecting it would copy every page of it.
    gc.collect()
    gc.freeze()
    gc.set_threshold(COLLECT_AFTER)
    control.sendall(protocol.pack(FrameKind.HELLO, json.dumps(hello).encode()))
    sandbox.serve()


if __name__ == "__main__":
    main()
