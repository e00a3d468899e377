"""Commands as people run them: real processes of the installed docmill, in a clean environment."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2

import pdfs
from command_server import ForkedCommand, can_fork, run_forked
from waits import PATIENCE, wait_for

DOCMILL = Path(sys.executable).with_name("docmill")
SOON = PATIENCE

Process = ForkedCommand | subprocess.Popen[bytes]


@dataclass(frozen=True, slots=True)
class Ran:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@dataclass(frozen=True, slots=True)
class Terminal:
    """A person with a home of their own, and variables set."""

    home: Path
    variables: dict[str, str] = field(default_factory=dict[str, str])

    @property
    def environment(self) -> dict[str, str]:
        ours = ("DOCMILL_", "DATABASE_URL", "XDG_", "JWT_", "AUTH_", "GATEWAY_")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
        mine = {"XDG_CONFIG_HOME": str(self.home), "COLUMNS": "200", "TERM": "dumb"}
        return kept | mine | self.variables

    def with_(self, **variables: str) -> "Terminal":
        return Terminal(self.home, self.variables | variables)

    def run(self, *words: str | Path) -> Ran:
        if can_fork(self.variables):
            said = [str(word) for word in words]
            return Ran(*run_forked(said, env=self.environment, cwd=self.home, timeout=SOON))
        ran = subprocess.run(
            [DOCMILL, *words], env=self.environment, cwd=self.home, capture_output=True, text=True,
            timeout=SOON, check=False,
        )  # fmt: skip
        return Ran(ran.returncode, ran.stdout, ran.stderr)


def begin(terminal: Terminal, words: Sequence[str | Path], log: Path) -> Process:
    """A command that goes on; what it says is in `log`."""
    with log.open("wb") as said:
        if can_fork(terminal.variables):
            given = [str(word) for word in words]
            return ForkedCommand(
                given, env=terminal.environment, cwd=terminal.home, outputs=(said, said)
            )
        return subprocess.Popen(
            [DOCMILL, *words], env=terminal.environment, cwd=terminal.home, stdout=said, stderr=said
        )


class Served:
    """A `docmill serve` of its own, or the web part alone, until it is stopped."""

    def __init__(self, terminal: Terminal, data: Path, port: int = 0, part: str = "serve") -> None:
        self.data = data
        self.log = data.with_suffix(".log")
        words = (part, "--port", str(port), "--data", data)
        self.process = begin(terminal, words, self.log)
        self.url = ""
        try:
            wait_for(self._is_up, self.log.read_text)
        except BaseException:
            self.kill()  # else the next test is blamed for a process left behind
            raise

    def _is_up(self) -> bool:
        assert self.process.poll() is None, self.log.read_text()
        _, found, rest = self.log.read_text().partition("docmill is at ")
        self.url = rest.partition("\n")[0] if found and "\n" in rest else ""
        return bool(self.url)

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    def job(self, terminal: Terminal, job_id: str) -> dict[str, Any]:
        """A job as its owner sees it, without the cost of a command."""
        kept = terminal.home / "docmill" / "sessions.json"
        sessions: dict[str, str] = json.loads(kept.read_bytes()) if kept.exists() else {}
        headers = {"cookie": f"docmill_session={sessions.get(self.url, '')}"}
        return httpx2.get(f"{self.url}/api/jobs/{job_id}", headers=headers, timeout=SOON).json()

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(SOON)

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(SOON)


def letter(words: str = "Invoice number: 42") -> bytes:
    return pdfs.make_pdf([[(72, 72, words)]])


def book(pages: int, title: str = "A book") -> bytes:
    """Full pages, some ten milliseconds of work each."""
    line = "the quick brown fox jumps over the lazy dog and comes back for more of the same"
    lines = [(50.0, 40 + 12.0 * row, f"{row} {line}") for row in range(60)]
    return pdfs.make_pdf([[(50.0, 30.0, f"{title} {page}"), *lines] for page in range(pages)])
