"""The table of commands: docmill's own and those of the rooms.

A command's module is imported when it is called, not to list it: importing everything takes over
a second, the web framework most of it.
"""

import shutil
import sys
import textwrap
from collections.abc import Mapping
from typing import Final

from docmill.core.installed import find_rooms
from docmill.core.plugins import Command

RUN: Final = "Run docmill"
CARE: Final = "Look after it"
# For commands that need the operator's mappings or read stored documents again; imported late.
MAPPINGS_DIR: Final = "docmill.processes.config:find_mappings_dir"
REREAD: Final = "docmill.processes.reread:reread_documents"


_OWN: Final = (
    Command(
        "try",
        "docmill.processes.tryout:try_samples",
        "Read a sample invoice and a sample trade note, and open the page.",
        RUN,
    ),
    Command(
        "serve",
        "docmill.processes.web:serve",
        "Run everything in one go: database, store, web, worker and poller.",
        RUN,
    ),
    Command(
        "web", "docmill.processes.web:run_web", "Run the web part alone, against DATABASE_URL.", RUN
    ),
    Command(
        "worker",
        "docmill.processes.worker:run_worker",
        "Run a worker alone, against DATABASE_URL. Start as many as you like, on any machine.",
        RUN,
    ),
    Command(
        "poll",
        "docmill.processes.poll:poll_bucket",
        "Watch the buckets: files in incoming/ become jobs. Start as many as you like.",
        RUN,
    ),
    Command(
        "gateway",
        "docmill.processes.gateway:run_gateway",
        "Run the gateway alone: POST /process turns invoices into JSON or XML.",
        RUN,
    ),
    Command(
        "upkeep",
        "docmill.processes.upkeep:run_upkeep",
        "Look after jobs, files and webhooks: rescue lost jobs, enforce retention, deliver.",
        RUN,
    ),
    Command(
        "migrate",
        "docmill.processes.database:migrate_database",
        "Bring the database of DATABASE_URL (or the embedded one) up to date.",
        RUN,
    ),
    Command(
        "submit",
        "docmill.jobs.submit_commands:submit",
        "Upload files and folders to a running docmill.",
    ),
    Command("jobs", "docmill.jobs.commands:list_jobs", "List your jobs, newest first."),
    Command(
        "show",
        "docmill.jobs.commands:show_job",
        "Show one job: its facts, its history, its attempts.",
    ),
    Command(
        "result",
        "docmill.jobs.commands:write_result",
        "Print the result of a job, or write it to a file.",
    ),
    Command("retry", "docmill.jobs.commands:retry_jobs", "Queue failed jobs again."),
    Command("cancel", "docmill.jobs.commands:cancel_jobs", "Cancel jobs that have not ended."),
    Command(
        "boost",
        "docmill.jobs.commands:boost_jobs",
        "Move queued jobs ahead: of your other jobs, or as an administrator of everybody's.",
    ),
    Command(
        "link",
        "docmill.jobs.commands:make_link",
        "Print a link to a job's result that anybody may open until it expires.",
    ),
    Command(
        "eval",
        "docmill.processes.evaluate:evaluate",
        "Score a folder of documents whose values you know.",
        CARE,
    ),
    Command(
        "replay",
        "docmill.processes.replay:replay_reviews",
        "Read all that was approved with the installed version, and show what would change.",
        CARE,
    ),
    Command(
        "compare",
        "docmill.processes.compare:compare_readings",
        "Compare two readings of the same documents, value by value; nothing is written.",
        CARE,
    ),
    Command(
        "read",
        "docmill.processes.read:read_files",
        "Run a pipeline on files here, with no server and no database.",
    ),
    Command(
        "batch",
        "docmill.processes.batch:run_batch",
        "Read millions of documents from a folder or a bucket into Parquet.",
    ),
    Command(
        "export",
        "docmill.jobs.commands:export_jobs",
        "Write several complete invoices of one seller as one file.",
    ),
    Command(
        "reprocess",
        "docmill.documents.commands:reprocess",
        "Read documents again that are already here, each by a new job.",
    ),
    Command(
        "models",
        "docmill.processes.models:app",
        "The models and word lists docmill reads with.",
        CARE,
    ),
    Command(
        "verify",
        "docmill.processes.receipts:verify_receipt",
        "Check a receipt, and the files it speaks of, with no server and no database.",
    ),
    Command(
        "receipts",
        "docmill.processes.receipts:app",
        "The keys that receipts are signed with.",
        CARE,
    ),
    Command(
        "doctor",
        "docmill.processes.doctor:run_doctor",
        "Check the surroundings and say what to do.",
        CARE,
    ),
    Command(
        "reconcile",
        "docmill.processes.poll:reconcile_bucket",
        "Count the objects of the buckets against the database; exit 1 when they disagree.",
        CARE,
    ),
    Command(
        "objects",
        "docmill.documents.commands:list_objects",
        "List what came by the bucket, with the state of each and why it was refused.",
        CARE,
    ),
    Command(
        "documents",
        "docmill.documents.commands:list_documents",
        "List documents with the state of each, why, and how often it was tried; newest first.",
    ),
    Command(
        "sources",
        "docmill.documents.source_commands:app",
        "The buckets that are watched, and their pause.",
        CARE,
    ),
    Command(
        "sessions",
        "docmill.processes.sessions:app",
        "Who is signed in, or uploads without an account; end their sessions.",
        CARE,
    ),
    Command(
        "backup",
        "docmill.processes.backup:back_up",
        "Write the database and the stored bytes to a folder, while docmill runs.",
        CARE,
    ),
    Command(
        "restore",
        "docmill.processes.backup:restore",
        "Put a backup into an empty database and a store, here or on another machine.",
        CARE,
    ),
    Command(
        "storage",
        "docmill.processes.storage:app",
        "Move the stored bytes to another store, while docmill runs.",
        CARE,
    ),
    Command(
        "sweep",
        "docmill.processes.retention:run_sweep",
        "Enforce retention now: delete what is past its time, archive old events, remove orphans.",
        CARE,
    ),
    Command(
        "events",
        "docmill.processes.retention:events_app",
        "The history of jobs: bring back what went to the archive.",
        CARE,
    ),
    Command(
        "embed",
        "docmill.processes.embed:embed_passages",
        "Make the vectors of passages that have none; with --again those of all by another model.",
        CARE,
    ),
    Command("config", "docmill.processes.config:app", "Show and check the configuration.", CARE),
)
COMMANDS: Final[Mapping[str, Command]] = {
    # Twice, so that docmill's own come first in the list and nobody takes their names.
    **{one.name: one for one in _OWN},
    **{one.name: one for room in find_rooms().rooms.values() for one in room.commands},
    **{one.name: one for one in _OWN},
}


USAGE: Final = "Usage: docmill [--version] [--help] COMMAND ..."
ABOUT: Final = "docmill turns documents into data, durably. `docmill try` shows it with samples."
MOST_COLUMNS: Final = 100


def describe_commands(columns: int = 80) -> str:
    """All commands by panel, as `docmill --help` prints them."""
    width = max(map(len, COMMANDS)) + 4
    lines = [USAGE, "", ABOUT]
    for panel in dict.fromkeys(one.panel for one in COMMANDS.values()):
        lines += ["", f"{panel}:"]
        for name, one in COMMANDS.items():
            if one.panel == panel:
                first = f"  {name}".ljust(width)
                lines += textwrap.wrap(
                    one.summary, columns, initial_indent=first, subsequent_indent=" " * width
                )
    lines += ["", "`docmill COMMAND --help` explains one, with examples."]
    return "\n".join(lines) + "\n"


def print_help() -> None:
    columns = min(shutil.get_terminal_size().columns, MOST_COLUMNS)
    sys.stdout.write(describe_commands(columns))
