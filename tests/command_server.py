"""Forks `docmill COMMAND` from a process that has imported docmill once.

Every command is a real process with its own environment, folder and files. It only skips the second
of imports, which hundreds of commands pay otherwise. Run as a program it is that server; tests
use `run_forked`, and shell scripts the program that `write_program` makes.
"""

import gc
import json
import os
import select
import signal
import socket
import sys
import tempfile
import time
import traceback
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import IO, Any

from waits import PATIENCE

# What is read from the environment at import, and so can't be changed for one command.
FIXED = frozenset({"COLUMNS", "TERM", "NO_COLOR", "PYTHONPATH", "LD_PRELOAD"})
LONGEST_REQUEST = 1 << 20
# Among the variables of a command: see `warm_sandboxes`.
WARM_SANDBOXES = "TESTS_WARM_SANDBOXES"
WELCOME = b"!"
IDLE = 300  # seconds without a test process: whoever started it was killed
# Held open until this process ends.
_USING: list[socket.socket] = []


# For shell scripts: the command gets the program's own inputs, outputs, folder and variables.
PROGRAM = """\
#!{python} -IS
import json, os, socket, sys
server = socket.socket(socket.AF_UNIX)
server.connect({address!r})
request = {{"words": sys.argv[1:], "env": dict(os.environ), "cwd": os.getcwd()}}
socket.send_fds(server, [json.dumps(request).encode()], [0, 1, 2])
_, code = server.makefile("r")
sys.exit(int(code))
"""


def main(commands_fd: int, users_fd: int) -> None:
    """Fork one process a command, until the last of the test processes is gone."""
    _import_all()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    commands, coming = socket.socket(fileno=commands_fd), socket.socket(fileno=users_fd)
    users: set[socket.socket] = set()
    while True:
        ready, _, _ = select.select([commands, coming, *users], [], [], None if users else IDLE)
        if coming in ready:
            user, _ = coming.accept()
            with suppress(OSError):  # it was killed
                user.sendall(WELCOME)
            users.add(user)
        if commands in ready:
            connection, _ = commands.accept()
            with connection:
                if os.fork() == 0:
                    for each in (commands, coming, *users):
                        each.close()
                    _watch_command(connection)
        for user in users.intersection(ready):
            user.close()  # they never say a word
            users.discard(user)
        if not users:
            return


def _import_all() -> None:
    from docmill.cli.commands import COMMANDS  # noqa: PLC0415  only the server pays for imports
    from docmill.cli.program import load_command  # noqa: PLC0415

    gc.disable()  # nearly all that imports make stays
    for name in COMMANDS:
        load_command(name)
    _load_plugins()
    gc.enable()
    # Of what is alive now the commands share every page that no collection touches.
    gc.collect()
    gc.freeze()


def _load_plugins() -> None:
    """What `serve`, `web` and `worker` import when they look for pipelines and rooms.

    And what a fork server builds before its first run, for those that are forked from here.
    """
    from docmill.core import installed, plugins  # noqa: PLC0415

    import_module("warm_sandboxes")
    installed.load_pipelines(installed.find_installed(), warm=True)
    for room in installed.find_rooms().rooms.values():
        for router in room.routers:
            plugins.resolve(router)


def _watch_command(connection: socket.socket) -> None:
    """Start the command, tell its process id, and at its end its exit code."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    message, files, _, _ = socket.recv_fds(connection, LONGEST_REQUEST, 3)
    request = json.loads(message)
    pid = os.fork()
    if pid == 0:
        connection.close()
        _become_command(request, files)
    connection.sendall(f"{pid}\n".encode())
    _, status = os.waitpid(pid, 0)
    with suppress(OSError):
        connection.sendall(f"{os.waitstatus_to_exitcode(status)}\n".encode())
    os._exit(0)


def _become_command(request: Any, files: list[int]) -> None:
    import warm_sandboxes  # noqa: PLC0415
    from docmill.cli import main as run_command  # noqa: PLC0415

    code: object = 1
    try:
        os.setsid()
        for target, file in enumerate(files):
            os.dup2(file, target)
            os.close(file)
        os.chdir(request["cwd"])
        os.environ.clear()
        os.environ.update(request["env"])
        if os.environ.pop(WARM_SANDBOXES, ""):
            warm_sandboxes.use_spares()
        sys.argv = ["docmill", *request["words"]]
        run_command()
        code = 0
    except SystemExit as exc:
        code = exc.code
    except BaseException:  # noqa: BLE001  as the interpreter does at its top
        traceback.print_exc()
    finally:
        with suppress(OSError, ValueError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code if isinstance(code, int) else int(code is not None))


@cache
def _find_server() -> str:
    """The address of the server that the test processes of this run share."""
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID", str(os.getpid()))
    address = f"\0docmill-commands-{run}"
    _USING.append(_join(address))
    return address


def _join(address: str) -> socket.socket:
    """What tells the server of this process until it ends. The first to come starts it."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        user = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            user.connect(f"{address}-users")
            if user.recv(len(WELCOME)):  # else it has just ended
                return user
        except OSError:
            _start_server(address)
        user.close()
    raise TimeoutError("the server of forked commands does not start")


def _start_server(address: str) -> None:
    """Unless somebody else does."""
    with socket.socket(socket.AF_UNIX) as commands, socket.socket(socket.AF_UNIX) as coming:
        try:
            commands.bind(address)
        except OSError:
            time.sleep(0.02)
            return
        coming.bind(f"{address}-users")
        for listener in (commands, coming):
            listener.listen(64)
            listener.set_inheritable(True)
        env = {name: value for name, value in os.environ.items() if not name.startswith("DOCMILL_")}
        words = [sys.executable, __file__, str(commands.fileno()), str(coming.fileno())]
        os.posix_spawn(sys.executable, words, env | {"COLUMNS": "200", "TERM": "dumb"})


def can_fork(variables: Mapping[str, str]) -> bool:
    """Whether a command with these variables is the same when it is forked."""
    return not FIXED & variables.keys()


def write_program(folder: Path) -> None:
    """A `docmill` in this folder whose commands are forked: for a script that waits for each."""
    program = folder / "docmill"
    program.write_text(PROGRAM.format(python=sys.executable, address=_find_server()))
    program.chmod(0o755)


def run_forked(
    words: Sequence[str], *, env: Mapping[str, str], cwd: Path, timeout: float
) -> tuple[int, str, str]:
    """The exit code of `docmill WORDS`, and what it wrote to its two outputs."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        command = ForkedCommand(words, env=env, cwd=cwd, outputs=(out, err))
        try:
            code = command.wait(timeout)
        except TimeoutError:
            os.killpg(command.pid, signal.SIGKILL)
            raise
        return code, _read(out), _read(err)


class ForkedCommand:
    """A command under way: what tests use of `subprocess.Popen`, for a process of the server's."""

    def __init__(
        self,
        words: Sequence[str],
        *,
        env: Mapping[str, str],
        cwd: Path,
        outputs: tuple[IO[bytes], IO[bytes]],
    ) -> None:
        self._server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._server.connect(_find_server())
        request = json.dumps({"words": list(words), "env": dict(env), "cwd": str(cwd)}).encode()
        with Path(os.devnull).open("rb") as nothing:
            files = [nothing.fileno(), *(file.fileno() for file in outputs)]
            socket.send_fds(self._server, [request], files)
        self._told = self._server.makefile("r")
        self.pid = int(self._told.readline())
        self.returncode: int | None = None

    def wait(self, timeout: float | None = None) -> int:
        if self.returncode is None:
            ready, _, _ = select.select([self._server], [], [], timeout)
            if not ready:
                raise TimeoutError(f"process {self.pid} still runs after {timeout} s")
            self.returncode = int(self._told.readline())
            self._told.close()
            self._server.close()
        return self.returncode

    def poll(self) -> int | None:
        with suppress(TimeoutError):
            self.wait(0)
        return self.returncode

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


def _read(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode().replace("\r\n", "\n")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
