"""The table of commands."""

import inspect
import subprocess
import sys
from pathlib import Path

import pytest

from docmill import __version__
from docmill.cli.commands import COMMANDS
from docmill.cli.program import load_command
from docmill.core.faults import CommandError
from docmill.processes.backup import make_folder
from terminal import Terminal


@pytest.mark.parametrize("name", COMMANDS)
def test_the_list_tells_of_a_command_what_its_own_help_says_first(name: str) -> None:
    help_text = inspect.cleandoc(load_command(name).help or "")
    assert help_text.partition("\n\n")[0].replace("\n", " ").startswith(COMMANDS[name].summary)


def imported(*words: str) -> set[str]:
    """What `docmill WORDS` had imported when it ended."""
    code = (
        "import atexit, sys, docmill.cli; sys.argv[1:] = sys.argv[1:]\n"
        "atexit.register(lambda: print(*sys.modules, file=sys.stderr))\n"
        "docmill.cli.main()"
    )
    told = subprocess.run(
        [sys.executable, "-c", code, *words], capture_output=True, check=True, text=True
    )
    return set(told.stderr.split())


def test_a_mistake_with_a_command_of_the_operator_is_told_in_two_lines(terminal: Terminal) -> None:
    ran = terminal.run("receipts", "keys", "--data", "nowhere")
    assert (ran.code, len(ran.err.splitlines())) == (1, 2)
    assert "No docmill runs with the folder nowhere" in ran.err
    ran = terminal.run("restore", "nobackup", "--data", "nowhere")
    assert (ran.code, ran.err.splitlines()[0]) == (1, "nobackup holds no whole backup.")
    ran = terminal.run("events", "restore", "--since", "2026-02-01", "--until", "2026-01-01")
    assert (ran.code, "later than --since" in ran.err) == (2, True)


def test_a_folder_that_cannot_be_made_is_no_place_for_a_backup(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(CommandError, match="can't be made: Not a directory"):
        make_folder(tmp_path / "file" / "backup")


def test_the_version_is_told_without_loading_anything() -> None:
    assert imported("--version").isdisjoint({"typer", "rich", "importlib.metadata", "asyncio"})


def test_listing_the_commands_loads_no_framework_of_pages_or_help_and_no_database() -> None:
    loaded = imported("--help")
    assert "docmill.cli.commands" in loaded
    assert loaded.isdisjoint({"fastapi", "psycopg", "pydantic", "typer", "rich", "httpx2"})


def test_without_a_command_the_list_is_shown_and_it_is_wrong_usage(terminal: Terminal) -> None:
    ran = terminal.run()
    assert (ran.code, "submit" in ran.out) == (2, True)


def test_help_has_three_panels(terminal: Terminal) -> None:
    ran = terminal.run("--help")
    assert ran.code == 0
    for panel in ("Run docmill", "Work with documents", "Look after it"):
        assert panel in ran.out


def test_the_version_is_told(terminal: Terminal) -> None:
    assert terminal.run("--version").out.strip() == __version__


def test_an_unknown_command_is_wrong_usage_and_gets_a_suggestion(terminal: Terminal) -> None:
    ran = terminal.run("serv")
    assert ran.code == 2
    assert "'serve'" in ran.err


def test_a_missing_argument_is_wrong_usage(terminal: Terminal) -> None:
    ran = terminal.run("submit")
    assert ran.code == 2
    assert "FILE" in ran.err
