"""The table of commands. A command's module is imported when it is called, not to list it.

Importing everything takes over a second, the web framework most of it; `docmill --help` and
`docmill jobs` need none of that.
"""

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

RUN: Final = "Run docmill"
WORK: Final = "Work with documents"
CARE: Final = "Look after it"


@dataclass(frozen=True, slots=True)
class Entry:
    """Where a command is, and how the list of commands tells of it: its docstring's first line."""

    panel: str
    place: str
    summary: str


COMMANDS: Final[Mapping[str, Entry]] = {
    "serve": Entry(
        RUN, "processes:serve", "Run everything in one go: database, store, web, worker and poller."
    ),
    "web": Entry(RUN, "processes:web", "Run the web part alone, against DATABASE_URL."),
    "worker": Entry(
        RUN,
        "working:worker",
        "Run a worker alone, against DATABASE_URL. Start as many as you like, on any machine.",
    ),
    "poll": Entry(
        RUN,
        "buckets:poll",
        "Watch the bucket: files in incoming/ become jobs. Start as many as you like.",
    ),
    "gateway": Entry(
        RUN,
        "gateway:gateway",
        "Run the gateway alone: POST /process turns invoices into JSON or XML.",
    ),
    "migrate": Entry(
        RUN,
        "working:migrate_",
        "Bring the database of DATABASE_URL (or the embedded one) up to date.",
    ),
    "submit": Entry(WORK, "submit:submit", "Upload files to a running docmill."),
    "jobs": Entry(WORK, "jobs:jobs", "List your jobs, newest first."),
    "show": Entry(WORK, "jobs:show", "Show one job: its facts, its history, its attempts."),
    "result": Entry(WORK, "jobs:result", "Print the result of a job, or write it to a file."),
    "retry": Entry(WORK, "jobs:retry", "Queue failed jobs again."),
    "cancel": Entry(WORK, "jobs:cancel", "Cancel jobs that have not ended."),
    "read": Entry(
        WORK, "read:read", "Run a pipeline on files here, with no server and no database."
    ),
    "export": Entry(
        WORK, "export:export", "Write several complete invoices of one seller as one file."
    ),
    "search": Entry(
        WORK,
        "search:search",
        "Find passages of your documents by what they mean and by the words in them.",
    ),
    "review": Entry(WORK, "review:app", "Check and approve what was read."),
    "lessons": Entry(WORK, "lessons:app", "What docmill learned from your corrections."),
    "trades": Entry(WORK, "trades:app", "Trades read from broker notes."),
    "reprocess": Entry(
        WORK,
        "trades:reprocess",
        "Read documents again that are already here, each by a new job.",
    ),
    "profile": Entry(WORK, "profile:app", "The seller's identity and defaults."),
    "mapping": Entry(WORK, "mapping:app", "Which XML an invoice becomes."),
    "models": Entry(CARE, "models:app", "The models and word lists docmill reads with."),
    "doctor": Entry(CARE, "doctor:doctor", "Check the surroundings and say what to do."),
    "reconcile": Entry(
        CARE,
        "buckets:reconcile_",
        "Count the bucket's objects against the database; exit 1 when they disagree.",
    ),
    "config": Entry(CARE, "config:app", "Show and check the configuration."),
}


class Commands(TyperGroup):
    """Lists the table; loads the one command that is called."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.commands: dict[str, Any] = {name: _listed(name) for name in COMMANDS}

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        name, _, rest = super().resolve_command(ctx, args)
        return name, load(name) if name else None, rest


def _listed(name: str) -> TyperCommand:
    entry = COMMANDS[name]
    return TyperCommand(name, help=entry.summary, rich_help_panel=entry.panel)


def load(name: str) -> Any:
    """The command itself, with its options and its help."""
    module, _, attribute = COMMANDS[name].place.partition(":")
    found = getattr(importlib.import_module(f"docmill.cli.{module}"), attribute)
    if not isinstance(found, typer.Typer):
        alone = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
        alone.command(name)(found)
        found = alone
    command = get_command(found)
    command.name = name
    return command
