"""What commands say when docmill does not answer, or somebody else does."""

import http.server
import json
import stat
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from terminal import Terminal


class Stranger(http.server.BaseHTTPRequestHandler):
    """A web server that is not docmill; keeps what it was asked with."""

    def do_GET(self) -> None:
        self.server.seen.append(dict(self.headers))  # type: ignore[attr-defined]
        self.send_response(502)
        self.end_headers()
        self.wfile.write(b"<html>Bad gateway</html>")

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        pass


@pytest.fixture
def stranger() -> Iterator[http.server.HTTPServer]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Stranger) as server:
        server.seen = []  # type: ignore[attr-defined]
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


COMMANDS = (
    ["jobs"], ["show", "1a"], ["retry", "1a"], ["cancel", "1a"], ["result", "1a"], ["submit", "x"]
)  # fmt: skip


@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: words[0])
def test_when_nobody_answers_two_lines_say_so(terminal: Terminal, words: list[str]) -> None:
    ran = terminal.run(*words, "--url", "http://127.0.0.1:1")
    assert ran.code == 1
    assert ran.err.splitlines() == [
        "docmill does not answer at http://127.0.0.1:1.",
        "Start it with `docmill serve`, or give --url.",
    ]


def test_a_stranger_is_recognised(terminal: Terminal, stranger: http.server.HTTPServer) -> None:
    ran = terminal.run("jobs", "--url", f"http://127.0.0.1:{stranger.server_port}")
    assert ran.code == 1
    assert "answered 502, and not as docmill would" in ran.err
    assert len(ran.err.strip().splitlines()) == 2


def test_a_token_is_sent_and_no_session_is_made(
    terminal: Terminal, stranger: http.server.HTTPServer, tmp_path: Path
) -> None:
    url = f"http://127.0.0.1:{stranger.server_port}"
    terminal.with_(DOCMILL_URL=url, DOCMILL_TOKEN="abc").run("jobs")
    (asked,) = stranger.seen  # type: ignore[attr-defined]
    assert asked["authorization"] == "Bearer abc"
    assert "cookie" not in asked
    assert not (tmp_path / "docmill").exists()


@pytest.mark.parametrize("url", ["nonsense", "ftp://x", "http://"])
def test_what_is_no_address_is_told(terminal: Terminal, url: str) -> None:
    ran = terminal.run("jobs", "--url", url)
    assert ran.code == 1
    assert "is not an address of docmill" in ran.err


def test_the_session_is_kept_for_its_owner_alone(desk: Terminal, tmp_path: Path) -> None:
    desk.run("jobs")
    file = tmp_path / "docmill" / "sessions.json"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    kept = json.loads(file.read_bytes())
    assert list(kept) == [desk.variables["DOCMILL_URL"]]
    desk.run("jobs")
    assert json.loads(file.read_bytes()) == kept
