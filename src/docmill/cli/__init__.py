"""Every command. A command reads the settings and starts a process, or asks one that runs."""

import sys

import typer

from docmill import __version__
from docmill.cli.commands import LazyCommands
from docmill.cli.console import complain, say
from docmill.core.faults import CommandError, DocmillError

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


def main() -> None:
    """Exit 0; 1 with two lines on what happened and what to do; 2 for wrong usage."""
    try:
        app()
    except DocmillError as exc:
        complain(exc.fault.final, exc.fault.advice)
        sys.exit(1)
    except CommandError as exc:
        what, _, advice = str(exc).partition("\n")
        complain(what, advice)
        sys.exit(1)
