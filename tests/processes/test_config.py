"""docmill config show and check."""

from pathlib import Path

from docmill.settings import fields
from terminal import Terminal

SECRET = "a-secret-of-more-than-32-bytes-0123456789"


def test_every_setting_is_shown_with_its_default(terminal: Terminal) -> None:
    rows = terminal.run("config", "show", "--json").json
    assert [row["name"] for row in rows] == [f"DOCMILL_{name.upper()}" for name in fields()]
    assert all(row["source"] == "default" and row["description"] for row in rows)


def test_a_value_says_where_it_comes_from(terminal: Terminal, tmp_path: Path) -> None:
    (tmp_path / "docmill.toml").write_text("port = 9000\nworker_slots = 5\n")
    rows = terminal.with_(DOCMILL_PORT="9001").run("config", "show", "--json").json
    found = {row["name"]: (row["value"], row["source"]) for row in rows}
    assert found["DOCMILL_PORT"] == (9001, "env DOCMILL_PORT")
    assert found["DOCMILL_WORKER_SLOTS"] == (5, "file docmill.toml")


def test_no_secret_is_shown(terminal: Terminal) -> None:
    url = "postgresql://ann:hunter2@db.example:5432/docs?sslpassword=hunter3"
    terminal = terminal.with_(DATABASE_URL=url, JWT_SECRET=SECRET, AUTH_MODE="jwt")
    for words in (["--json"], []):
        ran = terminal.run("config", "show", *words)
        assert ran.code == 0
        assert "postgresql://ann:********@db.example:5432/docs" in ran.out
        assert not any(secret in ran.out for secret in ("hunter2", "hunter3", SECRET))


def test_a_good_configuration_checks_out(terminal: Terminal) -> None:
    assert terminal.run("config", "check").code == 0
    assert terminal.run("config", "check", "--json").json == {"ok": True, "mistakes": []}


def test_every_mistake_is_told(terminal: Terminal) -> None:
    ran = terminal.with_(DOCMILL_PORT="high", DOCMILL_MAX_FILES="0").run("config", "check")
    assert ran.code == 1
    assert "DOCMILL_PORT: " in ran.err
    assert "DOCMILL_MAX_FILES: " in ran.err


def test_a_misspelt_name_gets_the_nearest_one(terminal: Terminal) -> None:
    for command in ("check", "show"):
        ran = terminal.with_(DOCMILL_WORKER_SLOT="4").run("config", command)
        assert ran.code == 1
        assert "Did you mean DOCMILL_WORKER_SLOTS?" in ran.err
        assert "Traceback" not in ran.err
