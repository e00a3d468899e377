"""The table of commands."""

import inspect
import subprocess
import sys

import pytest

from docmill import __version__
from docmill.cli.commands import COMMANDS, load_command
from terminal import Terminal


@pytest.mark.parametrize("name", COMMANDS)
def test_the_list_tells_of_a_command_what_its_own_help_says_first(name: str) -> None:
    help_text = inspect.cleandoc(load_command(name).help or "")
    assert help_text.partition("\n\n")[0].replace("\n", " ").startswith(COMMANDS[name].summary)


def test_listing_the_commands_loads_no_web_framework_and_no_database() -> None:
    code = "import sys, docmill.cli; print(*{'fastapi', 'psycopg', 'pydantic'} & {*sys.modules})"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert told.stdout.strip() == b""


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
