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
        "Run everything in one process: database, store, web, worker and poller.",
        RUN,
    ),
    Command(
        "web", "docmill.processes.web:run_web", "Run only the web part, with DATABASE_URL.", RUN
    ),
    Command(
        "worker",
        "docmill.processes.worker:run_worker",
        "Run only a worker, with DATABASE_URL. Start as many as you like, on any machine.",
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
        "Run only the gateway: POST /process turns invoices into JSON or XML.",
        RUN,
    ),
    Command(
        "upkeep",
        "docmill.processes.upkeep:run_upkeep",
        "Rescue lost jobs, apply retention and deliver webhooks.",
        RUN,
    ),
    Command(
        "migrate",
        "docmill.processes.database:migrate_database",
        "Update the schema of the database in DATABASE_URL, or of the embedded one.",
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
        "Show one job with its history and attempts.",
    ),
    Command(
        "result",
        "docmill.jobs.commands:write_result",
        "Print the result of a job, or write it to a file.",
    ),
    Command("retry", "docmill.jobs.commands:retry_jobs", "Run failed jobs again."),
    Command("cancel", "docmill.jobs.commands:cancel_jobs", "Cancel jobs that have not ended."),
    Command(
        "boost",
        "docmill.jobs.commands:boost_jobs",
        "Move queued jobs ahead of your other jobs; as an administrator, ahead of everybody's.",
    ),
    Command(
        "link",
        "docmill.jobs.commands:make_link",
        "Print a link to a job's result that anybody may open until it expires.",
    ),
    Command(
        "eval",
        "docmill.processes.evaluate:evaluate",
        "Score a folder of documents with known values.",
        CARE,
    ),
    Command(
        "replay",
        "docmill.processes.replay:replay_reviews",
        "Read everything that was approved with the installed version, and show what would change.",
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
        "Run a pipeline on local files, without a server or database.",
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
        "Read stored documents again, each with a new job.",
    ),
    Command(
        "models",
        "docmill.processes.models:app",
        "The models and word lists that docmill uses.",
        CARE,
    ),
    Command(
        "verify",
        "docmill.processes.receipts:verify_receipt",
        "Check a receipt and its files, without a server or database.",
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
        "Check the installation and say what to do.",
        CARE,
    ),
    Command(
        "reconcile",
        "docmill.processes.poll:reconcile_bucket",
        "Compare the objects in the buckets with the database; exit 1 if they disagree.",
        CARE,
    ),
    Command(
        "objects",
        "docmill.documents.commands:list_objects",
        "List objects from the bucket with their state, and why they were rejected.",
        CARE,
    ),
    Command(
        "documents",
        "docmill.documents.commands:list_documents",
        "List documents with their state, the reason and the number of tries; newest first.",
    ),
    Command(
        "sources",
        "docmill.documents.source_commands:app",
        "The watched buckets: list, pause, resume.",
        CARE,
    ),
    Command(
        "sessions",
        "docmill.processes.sessions:app",
        "List and end sessions, signed in or anonymous.",
        CARE,
    ),
    Command(
        "backup",
        "docmill.processes.backup:back_up",
        "Back up the database and the stored files to a folder, while docmill runs.",
        CARE,
    ),
    Command(
        "restore",
        "docmill.processes.backup:restore",
        "Restore a backup into an empty database and a store, here or on another machine.",
        CARE,
    ),
    Command(
        "storage",
        "docmill.processes.storage:app",
        "Move the stored files to another store, while docmill runs.",
        CARE,
    ),
    Command(
        "sweep",
        "docmill.processes.retention:run_sweep",
        "Apply retention now: delete what has expired, archive old events, remove orphans.",
        CARE,
    ),
    Command(
        "events",
        "docmill.processes.retention:events_app",
        "The history of jobs: bring back archived events.",
        CARE,
    ),
    Command(
        "embed",
        "docmill.processes.embed:embed_passages",
        "Make vectors for passages that have none; with --again, for all with another model.",
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
