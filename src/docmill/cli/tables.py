"""Jobs as tables, for people."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, Final

from rich.filesize import decimal
from rich.table import Table
from rich.text import Text

from docmill.cli.console import out, say

STYLES: Final[Mapping[str, str]] = {
    "complete": "green",
    "failed": "red",
    "processing": "cyan",
    "cancelled": "dim",
}
# Where nobody watches, nothing is cut to the width of a screen.
WIDE: Final = 400
FACTS: Final = (
    "id", "filename", "content_type", "bytes", "sha256", "pipeline", "mapping", "source", "status",
    "progress", "stage", "error_code", "error_message", "estimated_seconds_left", "priority",
    "attempt_count", "created_at", "queued_at", "run_at", "started_at", "completed_at", "failed_at",
    "cancelled_at", "expires_at", "download_count", "leased_by", "duplicate_of",
)  # fmt: skip


def show_jobs(jobs: Iterable[Mapping[str, Any]]) -> None:
    """Beginnings of ids on a terminal, where they are typed; whole ones for a pipe."""
    table = _table("ID", "FILE", "SIZE", "PIPELINE", "STATUS", "", "AGE")
    table.columns[2].justify = "right"
    for job in jobs:
        table.add_row(
            job["id"][:8] if out.is_terminal else job["id"],
            Text(job["filename"]),
            decimal(job["bytes"]),
            job["pipeline"],
            Text(job["label"], STYLES.get(job["status"], "")),
            Text(_about(job)),
            age(job["created_at"]),
        )
    _print(table)


def _about(job: Mapping[str, Any]) -> str:
    if job["status"] == "processing":
        return f"{job['progress']} % {job['stage']}"
    return f"{job['error_code']}: {job['error_message']}" if job["error_code"] else ""


def show_job(job: Mapping[str, Any]) -> None:
    facts = Table(box=None, show_header=False, pad_edge=False)
    for name in FACTS:
        if job.get(name) not in (None, ""):
            facts.add_row(Text(name, "dim"), Text(str(job[name])))
    _print(facts)
    say("\nHistory")
    events = _table("AT", "EVENT", "WORKER", "ABOUT")
    for event in job["events"]:
        about = ", ".join(f"{key} {value}" for key, value in event["meta"].items())
        events.add_row(event["at"], event["kind"], event["worker"] or "", Text(about))
    _print(events)
    if not job["attempts"]:
        return
    say("\nAttempts")
    attempts = _table("NO", "WORKER", "STARTED", "TOOK", "CPU", "MEMORY", "OUTCOME", "ERROR")
    for attempt in job["attempts"]:
        attempts.add_row(*_attempt(attempt))
    _print(attempts)


def _attempt(attempt: Mapping[str, Any]) -> list[str | Text]:
    code, says = attempt["error_code"], attempt["error_message"]
    return [
        str(attempt["attempt"]),
        attempt["worker"],
        attempt["started_at"],
        _ms(attempt["duration_ms"]),
        _ms(attempt["cpu_ms"]),
        decimal(attempt["memory_bytes"]) if attempt["memory_bytes"] else "",
        attempt["outcome"] or "running",
        Text(f"{code}: {says}" if code else ""),
    ]


def _ms(span: int | None) -> str:
    return "" if span is None else f"{span / 1000:.2f} s"


def age(at: str) -> str:
    """How long ago, in the largest unit that fits: 40 s, 3 min, 5 h, 12 d."""
    seconds = max(0, int((datetime.now(UTC) - datetime.fromisoformat(at)).total_seconds()))
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds // size} {unit}"
    return f"{seconds} s"


def _table(*names: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    for name in names:
        table.add_column(name, overflow="ellipsis", no_wrap=True)
    return table


def _print(table: Table) -> None:
    out.print(table, width=None if out.is_terminal else WIDE, crop=False)
