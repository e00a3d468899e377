"""Jobs as tables, for people."""

import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, Final

from rich.console import Console
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
    table = _table("ID", "AGE", "FILE", "SIZE", "PIPELINE", "STATUS", "")
    table.columns[3].justify = "right"
    for job in jobs:
        table.add_row(
            job["id"][:8] if out.is_terminal else job["id"],
            age(job["created_at"]),
            Text(job["filename"]),
            decimal(job["bytes"]),
            job["pipeline"],
            Text(job["label"], STYLES.get(job["status"], "")),
            Text(_about(job)),
        )
    _print(table)


def show_reviews(reviews: Iterable[Mapping[str, Any]]) -> None:
    table = _table("ID", "AGE", "FILE", "TO CHECK", "STATUS", "")
    table.columns[3].justify = "right"
    for each in reviews:
        table.add_row(
            each["job_id"][:8] if out.is_terminal else each["job_id"],
            age(each["created_at"]),
            Text(each["filename"]),
            "-" if each["doubts"] is None else str(each["doubts"]),
            each["status"],
            Text(each["reason"] or ""),
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
        worker = _short(event["worker"] or "")
        events.add_row(_when(event["at"]), event["kind"], worker, Text(_meta(event["meta"])))
    _print(events)
    if not job["attempts"]:
        return
    say("\nAttempts")
    attempts = _table("NO", "STARTED", "TOOK", "CPU", "MEMORY", "WORKER", "OUTCOME", "ERROR")
    for attempt in job["attempts"]:
        attempts.add_row(*_attempt(attempt))
    _print(attempts)


def _meta(meta: Mapping[str, Any]) -> str:
    known = {key: value for key, value in meta.items() if value is not None}
    way = " > ".join(str(known.pop(key)) for key in ("from", "to") if key in known)
    rest = [f"{key} {value}" for key, value in known.items()]
    return ", ".join([way, *rest] if way else rest)


def _short(worker: str) -> str:
    """A worker's name is long, to be the only one; its two ends are enough for people."""
    return re.sub("/.*/", "/", worker)


def _when(at: str) -> str:
    return f"{datetime.fromisoformat(at).astimezone():%Y-%m-%d %H:%M:%S.%f}"[:-3]


def _attempt(attempt: Mapping[str, Any]) -> list[str | Text]:
    code, says = attempt["error_code"], attempt["error_message"]
    return [
        str(attempt["attempt"]),
        _when(attempt["started_at"]),
        _ms(attempt["duration_ms"]),
        _ms(attempt["cpu_ms"]),
        decimal(attempt["memory_bytes"]) if attempt["memory_bytes"] else "",
        _short(attempt["worker"]),
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
        last = name is names[-1]
        table.add_column(name, overflow="fold" if last else "ellipsis", no_wrap=not last)
    return table


def _print(table: Table) -> None:
    console = out if out.is_terminal else Console(width=WIDE, highlight=False)
    console.print(table)
