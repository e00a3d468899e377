"""The program itself: its commands, and how it ends."""

import sys
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from docmill import __version__
from docmill.cli.commands import COMMANDS, describe_commands
from docmill.cli.console import complain, say
from docmill.core.faults import CommandError, DocmillError
from docmill.core.plugins import resolve


class LazyCommands(TyperGroup):
    """Lists the table; loads the one command that is called."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.commands: dict[str, Any] = {name: _make_placeholder(name) for name in COMMANDS}

    def format_help(self, ctx: Any, formatter: Any) -> None:
        formatter.write(describe_commands(formatter.width))

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        name, _, rest = super().resolve_command(ctx, args)
        return name, load_command(name) if name else None, rest


def _make_placeholder(name: str) -> TyperCommand:
    entry = COMMANDS[name]
    return TyperCommand(name, help=entry.summary, rich_help_panel=entry.panel)


def load_command(name: str) -> Any:
    """The command itself, with its options and its help."""
    found = resolve(COMMANDS[name].target)
    if not isinstance(found, typer.Typer):
        alone = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
        alone.command(name)(found)
        found = alone
    command = get_command(found)
    command.name = name
    return command


app = typer.Typer(
    name="docmill",
    cls=LazyCommands,
    help="docmill turns documents into data, durably.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback(invoke_without_command=True)
def _print_version(
    version: bool = typer.Option(False, "--version", help="Print the version."),
) -> None:  # pyright: ignore[reportUnusedFunction]
    if version:
        say(__version__)
        raise typer.Exit


def run() -> None:
    """Call the command that was asked for, and say in two lines what went wrong."""
    try:
        app()
    except DocmillError as exc:
        complain(exc.fault.final, exc.fault.advice)
        sys.exit(1)
    except CommandError as exc:
        what, _, advice = str(exc).partition("\n")
        complain(what, advice)
        sys.exit(1)
