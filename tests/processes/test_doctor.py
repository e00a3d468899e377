"""docmill doctor."""

import asyncio
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from psycopg.conninfo import make_conninfo

from docmill.db import migrate
from terminal import Served, Terminal, letter
from warm_sandboxes import WARM


@pytest.fixture
def taken() -> Iterator[int]:
    """A port that something else listens on."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener.getsockname()[1]


def states(terminal: Terminal, *words: str) -> dict[str, tuple[str, str, str]]:
    rows = terminal.with_(**WARM).run("doctor", "--json", *words).json
    return {row["check"]: (row["state"], row["says"], row["advice"]) for row in rows}


def test_a_fresh_machine_is_fine_and_nothing_is_made(terminal: Terminal, tmp_path: Path) -> None:
    ran = terminal.with_(DOCMILL_PORT="0").run("doctor")
    assert ran.code == 0, ran.out
    assert "0 to fix." in ran.out
    assert list(tmp_path.iterdir()) == []


def test_a_database_that_does_not_answer_fails_with_advice(terminal: Terminal) -> None:
    terminal = terminal.with_(DATABASE_URL="postgresql://x@127.0.0.1:1/x")
    state, says, advice = states(terminal)["database"]
    assert state == "fail"
    assert "can't be reached" in says
    assert "DATABASE_URL" in advice
    assert terminal.with_(**WARM).run("doctor").code == 1


def test_missing_migrations_are_told(terminal: Terminal, server_url: str) -> None:
    state, _, advice = states(terminal.with_(DATABASE_URL=server_url))["migrations"]
    assert (state, advice) == ("fail", "Run `docmill migrate`.")
    assert asyncio.run(migrate.find_pending(server_url)), "doctor changes nothing"


def test_a_good_database_is_fine(terminal: Terminal, database_url: str) -> None:
    found = states(terminal.with_(DATABASE_URL=database_url))
    for check in ("database", "clock", "commits", "migrations", "snapshots"):
        assert found[check][0] == "ok", found[check]


def test_commits_that_may_be_forgotten_fail_unless_allowed(
    terminal: Terminal, database_url: str
) -> None:
    url = make_conninfo(database_url, options="-c synchronous_commit=off")
    terminal = terminal.with_(DATABASE_URL=url)
    assert states(terminal)["commits"][0] == "fail"
    assert states(terminal.with_(DOCMILL_ALLOW_ASYNC_COMMIT="true"))["commits"][0] == "warn"


def test_a_port_of_somebody_else_is_told(terminal: Terminal, taken: int) -> None:
    state, says, _ = states(terminal.with_(DOCMILL_PORT=str(taken)))["port"]
    assert state == "warn"
    assert "Address already in use" in says


def test_a_docmill_that_serves_is_recognised(terminal: Terminal, served: Served) -> None:
    found = states(
        terminal.with_(DOCMILL_PORT=str(served.port)), "--data", str(served.log.with_suffix(""))
    )
    assert found["port"][:2] == ("ok", f"docmill answers on 127.0.0.1:{served.port}")
    assert f"in use by process {served.process.pid}" in found["data"][1]
    assert found["migrations"][0] == found["store"][0] == "ok"


def test_wrong_settings_end_the_examination(terminal: Terminal) -> None:
    ran = terminal.with_(DOCMILL_PORT="high").run("doctor")
    assert ran.code == 1
    assert "DOCMILL_PORT" in ran.out


def test_deep_finds_what_is_damaged_and_what_is_missing_with_ids(
    terminal: Terminal, served: Served, tmp_path: Path
) -> None:
    data, terminal = served.log.with_suffix(""), terminal.with_(**WARM)
    whole = terminal.run("doctor", "--deep", "--json", "--data", data).json[-1]
    assert (whole["check"], whole["state"]) == ("objects", "ok")
    jobs: list[str] = []
    for number in range(3):
        file = tmp_path / f"{number}.pdf"
        file.write_bytes(letter() + f"%{number}".encode())
        ran = terminal.run("submit", file, "--pipeline", "extract", "--json",
                           "--watch", "--url", served.url)  # fmt: skip
        jobs.append(ran.json[0]["job_id"])
    results = {job: next((data / "store" / "results").rglob(f"{job}*.gz")) for job in jobs}
    results[jobs[0]].write_bytes(b"")
    results[jobs[1]].unlink()
    original = next(path for path in (data / "store" / "uploads").rglob("*") if path.is_file())
    original.write_bytes(b"x" * original.stat().st_size)
    ran = terminal.run("doctor", "--deep", "--json", "--data", data)
    assert ran.code == 1
    found = [row["ids"] for row in ran.json if row["check"] == "object"]
    told = {(each["kind"], each["trouble"], each.get("job")) for each in found}
    assert told == {
        ("original", "damaged", None),
        ("result", "damaged", jobs[0]),
        ("result", "missing", jobs[1]),
    }
    assert any(each["document"] == original.name for each in found)
    assert ran.json[-1]["says"].endswith("read, 2 damaged, 1 missing")
    assert jobs[1] in terminal.run("doctor", "--deep", "--data", data).out
