"""Fork servers of sandboxes for a docmill that tests only use, forked from a process that is warm.

A fork server imports every pipeline, which takes it two seconds of CPU; a forked command has them
imported already. So before it begins it forks spares of itself, each of which becomes a fork server
when one is wanted. It runs the same program, with the same parent, plan and confinement. Tests of
how docmill starts and restarts do not ask for this.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, Final, NoReturn

from docmill.sandbox import fork_server, pool

# Set for a command whose sandboxes may be warm; the command itself never sees it.
WANTED: Final = "TESTS_WARM_SANDBOXES"
WARM: Final = {WANTED: "1"}
# A site has two: for its jobs and for its pages. A further one, or another after a crash, is real.
SPARES: Final = 2
LONGEST_MESSAGE: Final = 1 << 17
CONTROL: Final = 3  # where its orders come from
_LOOK_SECONDS: Final = 0.01


class WarmForkServer:
    """What `docmill.sandbox.pool` uses of `subprocess.Popen`, for a child that was forked."""

    def __init__(self, pid: int) -> None:
        self.pid: int = pid
        self._is_collected: bool = False

    def kill(self) -> None:
        if not self._is_collected:
            os.kill(self.pid, signal.SIGKILL)

    def wait(self, timeout: float) -> None:
        until = time.monotonic() + timeout
        while not self._is_collected:
            collected, _ = os.waitpid(self.pid, os.WNOHANG)
            self._is_collected = bool(collected)
            if not collected:
                if time.monotonic() > until:
                    raise subprocess.TimeoutExpired("fork server", timeout)
                time.sleep(_LOOK_SECONDS)


def use_spares() -> None:
    """From now on this process starts its first fork servers from spares."""
    spares = [_fork_spare() for _ in range(SPARES)]

    def start(command: Sequence[str], **given: Any) -> Any:
        if not spares:
            return subprocess.Popen(command, **given)
        pid, link = spares.pop()
        told = {"words": command[-2:], "environment": given["env"]}
        with link:
            socket.send_fds(link, [json.dumps(told).encode()], given["pass_fds"])
        return WarmForkServer(pid)

    started = SimpleNamespace(**vars(subprocess) | {"Popen": start})
    pool.subprocess = started  # pyright: ignore[reportAttributeAccessIssue]


def _fork_spare() -> tuple[int, socket.socket]:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    pid = os.fork()
    if pid == 0:
        ours.close()
        try:
            _become_fork_server(theirs)
        finally:
            os._exit(1)
    theirs.close()
    return pid, ours


def _become_fork_server(link: socket.socket) -> NoReturn:
    """When it is told to; never, when the command ends first."""
    message, controls, _, _ = socket.recv_fds(link, LONGEST_MESSAGE, 1)
    if not controls:
        os._exit(0)
    told = json.loads(message)
    os.setsid()
    nothing = os.open(os.devnull, os.O_RDWR)
    for place, file in enumerate((nothing, nothing, 2, controls[0])):
        os.dup2(file, place)
    os.closerange(CONTROL + 1, os.sysconf("SC_OPEN_MAX"))
    os.environ.clear()
    os.environ.update(told["environment"])
    sys.argv = ["fork_server", str(CONTROL), told["words"][1]]
    fork_server.main()
