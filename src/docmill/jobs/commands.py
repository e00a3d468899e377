"""Commands that look at jobs and change them: jobs, show, retry, cancel, result."""

import asyncio
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Final
from urllib.parse import urlencode
from uuid import UUID

import typer
from rich.filesize import decimal
from rich.table import Table
from rich.text import Text

from docmill.cli.console import complain, err, out, say, say_json
from docmill.cli.options import AsJson, Limit
from docmill.cli.output import Output, open_output
from docmill.cli.remote import RemoteClient, Token, Url
from docmill.cli.tables import STYLES, format_age, format_time, make_table, print_table
from docmill.client.answers import Refused
from docmill.client.asynchronous import HERE, LARGEST_PAGE
from docmill.core import installed

Id = Annotated[str, typer.Argument(metavar="ID", help="A job's id, or its first characters.")]
Ids = Annotated[
    list[str], typer.Argument(metavar="ID", help="Ids of jobs, or their first characters.")
]
ID_LENGTH: Final = 36
FORMAT_NAMES: Final = list(
    dict.fromkeys(name for own in installed.find_rooms().formats.values() for name in own)
)


def list_jobs(
    status: Annotated[
        list[str] | None, typer.Option(help="Only these: queued, processing, complete, failed ...")
    ] = None,
    pipeline: Annotated[str | None, typer.Option(help="Only of this pipeline.")] = None,
    limit: Limit = 50,
    as_json: AsJson = False,
    url: Url = HERE,
    token: Token = None,
) -> None:
    """List your jobs, newest first.

    docmill jobs --status failed

    docmill jobs --limit 0 --json | jq -r '.[] | select(.error_code) | .id'
    """
    only = {"status": ",".join(status or []), "pipeline": pipeline}
    found = asyncio.run(_fetch_jobs(RemoteClient(url, token), limit, only))
    if as_json:
        say_json(found)
    elif found:
        print_jobs(found)
    elif any(only.values()):
        say("No jobs match. `docmill jobs` lists all.")
    else:
        say("No jobs. `docmill submit FILE` makes one.")


async def _fetch_jobs(
    client: RemoteClient, limit: int, only: dict[str, Any]
) -> list[dict[str, Any]]:
    async with client:
        return [job async for job in client.jobs(limit, **only)]


def show_job(job_id: Id, as_json: AsJson = False, url: Url = HERE, token: Token = None) -> None:
    """Show one job with its history and attempts.

    docmill show 3f2a
    """
    job = asyncio.run(_fetch_job(RemoteClient(url, token), job_id))
    if as_json:
        say_json(job)
    else:
        print_job(job)


async def _fetch_job(client: RemoteClient, job_id: str) -> dict[str, Any]:
    async with client:
        return await client.ask("GET", f"/api/jobs/{await resolve_id(client, job_id)}")


def write_result(
    job_id: Id,
    output: Output = None,
    form: Annotated[
        str | None,
        typer.Option(help=f"data, document, or of some pipelines {', '.join(FORMAT_NAMES)}."),
    ] = None,
    url: Url = HERE,
    token: Token = None,
) -> None:
    """Print the result of a job, or write it to a file.

    docmill result 3f2a | jq .fields

    docmill result 3f2a -o letter.json

    docmill result 3f2a --form anki -o words.apkg
    """
    asyncio.run(_download_result(RemoteClient(url, token), job_id, output, form))


async def _download_result(
    client: RemoteClient, job_id: str, output: Path | None, form: str | None
) -> None:
    async with client, client.downloading(await resolve_id(client, job_id), form) as pieces:
        with open_output(output) as file:
            async for piece in pieces:
                file.write(piece)


def retry_jobs(
    ids: Ids,
    read_as: Annotated[
        str | None,
        typer.Option(
            "--as", help="Read the document as this instead, with a new job: invoice, trades ..."
        ),
    ] = None,
    as_json: AsJson = False,
    url: Url = HERE,
    token: Token = None,
) -> None:
    """Run failed jobs again. With --as, read their documents as something else.

    docmill retry 3f2a 77b1

    docmill retry 3f2a --as trades
    """
    verb = f"read-as?{urlencode({'pipeline': read_as})}" if read_as else "retry"
    _change(verb, ids, RemoteClient(url, token), as_json=as_json)


def cancel_jobs(ids: Ids, as_json: AsJson = False, url: Url = HERE, token: Token = None) -> None:
    """Cancel jobs that have not ended.

    docmill cancel 3f2a
    """
    _change("cancel", ids, RemoteClient(url, token), as_json=as_json)


def boost_jobs(ids: Ids, as_json: AsJson = False, url: Url = HERE, token: Token = None) -> None:
    """Move queued jobs ahead of your other jobs; as an administrator, ahead of everybody's.

    docmill boost 3f2a
    """
    _change("boost", ids, RemoteClient(url, token), as_json=as_json)


def make_link(
    job_id: Id,
    form: Annotated[
        str | None,
        typer.Option("--format", help=f"json, or of some pipelines {', '.join(FORMAT_NAMES)}."),
    ] = None,
    expires_in: Annotated[
        int, typer.Option(min=60, max=604_800, help="Seconds; a week at most.")
    ] = 86_400,
    as_json: AsJson = False,
    url: Url = HERE,
    token: Token = None,
) -> None:
    """Print a link to a job's result that anybody may open until it expires.

    docmill link 3f2a

    docmill link 3f2a --format csv --expires-in 3600
    """
    link = asyncio.run(_fetch_link(RemoteClient(url, token), job_id, form, expires_in))
    if as_json:
        say_json(link)
        return
    say(link["url"])
    if out.is_terminal:
        err.print(f"Anybody may open it until {format_time(link['expires_at'])}.", style="dim")


async def _fetch_link(
    client: RemoteClient, job_id: str, form: str | None, expires_in: int
) -> dict[str, Any]:
    async with client:
        found = await resolve_id(client, job_id)
        return await client.link(found, form, expires_in=expires_in)


@dataclass(frozen=True, slots=True)
class JobChange:
    """What became of a wish to change one job."""

    id: str
    success: bool
    status: str = ""
    code: str = ""
    message: str = ""


def _change(verb: str, ids: list[str], client: RemoteClient, *, as_json: bool) -> None:
    rows = asyncio.run(_change_all(verb, ids, client))
    if as_json:
        say_json([asdict(row) for row in rows])
    else:
        for row in rows:
            if row.success:
                say(f"{row.id}: {row.status}")
            else:
                complain(f"{row.id}: {row.code}  {row.message}")
    if not all(row.success for row in rows):
        raise typer.Exit(1)


async def _change_all(verb: str, ids: list[str], client: RemoteClient) -> list[JobChange]:
    async with client:
        return [await _change_one(verb, job_id, client) for job_id in ids]


async def _change_one(verb: str, given: str, client: RemoteClient) -> JobChange:
    """A refusal by docmill is this job's own; where nobody answers, the command ends."""
    try:
        job_id = await resolve_id(client, given)
        answer = await client.ask("POST", f"/api/jobs/{job_id}/{verb}")
    except Refused as exc:
        if not exc.code:
            raise
        return JobChange(given, False, code=exc.code, message=f"{exc.says} {exc.advice}")
    return JobChange(answer["job"]["id"], True, answer["job"]["status"])


async def resolve_id(client: RemoteClient, given: str) -> str:
    """The id that begins so, among the newest jobs."""
    if len(given) == ID_LENGTH:
        return _check_id(given)
    found = [job["id"] async for job in client.jobs(LARGEST_PAGE)]
    fitting = [job_id for job_id in found if given and job_id.startswith(given.lower())]
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        says = f"{len(fitting)} of your jobs begin with {given}."
        raise Refused(says, "Give more of the id.", code="JOB_NOT_FOUND")
    says = f"None of your newest {len(found)} jobs begins with {given}."
    raise Refused(says, "Give the whole id; `docmill jobs` lists them.", code="JOB_NOT_FOUND")


def _check_id(given: str) -> str:
    try:
        return str(UUID(given))
    except ValueError as exc:
        raise typer.BadParameter(f"{given!r} is not an id of a job.", param_hint="ID") from exc


def export_jobs(
    ids: Ids,
    output: Output = None,
    mapping: Annotated[
        str | None, typer.Option(help="Mapping of the file; default: the jobs' own.")
    ] = None,
    url: Url = HERE,
    token: Token = None,
) -> None:
    """Write several complete invoices of one seller as one file.

    docmill export 3f2a 77b1 -o coretax.xml
    """
    xml = asyncio.run(_fetch_export(RemoteClient(url, token), ids, mapping))
    with open_output(output) as file:
        file.write(xml)


async def _fetch_export(client: RemoteClient, ids: list[str], mapping: str | None) -> bytes:
    async with client:
        wish: dict[str, Any] = {"jobs": [await resolve_id(client, given) for given in ids]}
        if mapping:
            wish["mapping"] = mapping
        try:
            return await client.fetch("POST", "/api/exports", json=wish)
        except Refused as exc:
            if not exc.jobs:
                raise
            says = f"{exc.says} It is about {', '.join(exc.jobs)}."
            raise Refused(says, exc.advice, code=exc.code) from exc


FACTS: Final = (
    "id", "filename", "content_type", "bytes", "sha256", "pipeline", "mapping", "source", "status",
    "progress", "stage", "error_code", "error_message", "reason", "decision",
    "estimated_seconds_left", "priority",
    "attempt_count", "created_at", "queued_at", "run_at", "started_at", "completed_at", "failed_at",
    "after", "cancelled_at", "expires_at", "download_count", "leased_by", "duplicate_of",
)  # fmt: skip


def print_jobs(jobs: Iterable[Mapping[str, Any]]) -> None:
    """Beginnings of ids on a terminal, where they are typed; whole ones for a pipe."""
    table = make_table("ID", "AGE", "FILE", "SIZE", "PIPELINE", "STATUS", "")
    table.columns[3].justify = "right"
    for job in jobs:
        table.add_row(
            job["id"][:8] if out.is_terminal else job["id"],
            format_age(job["created_at"]),
            Text(job["filename"]),
            decimal(job["bytes"]),
            job["pipeline"],
            Text(job["label"], STYLES.get(job["status"], "")),
            Text(_describe_trouble(job)),
        )
    print_table(table)


def _describe_trouble(job: Mapping[str, Any]) -> str:
    if job["status"] == "processing":
        return f"{job['progress']} % {job['stage']}"
    if job["status"] == "queued" and job.get("after"):
        return f"waits for {', '.join(one[:8] for one in job['after'])}"
    if job["status"] == "queued" and job["run_at"]:
        return f"runs at {format_time(job['run_at'])}"
    says = job.get("reason") or job["error_message"]
    return f"{job['error_code']}: {says}" if job["error_code"] else ""


def print_job(job: Mapping[str, Any]) -> None:
    facts = Table(box=None, show_header=False, pad_edge=False)
    for name in FACTS:
        if job.get(name) not in (None, "", []):
            value = ", ".join(job[name]) if isinstance(job[name], list) else str(job[name])
            facts.add_row(Text(name, "dim"), Text(value))
    print_table(facts)
    say("\nHistory")
    events = make_table("AT", "EVENT", "WORKER", "ABOUT")
    for event in job["events"]:
        worker = _shorten_worker(event["worker"] or "")
        events.add_row(
            format_time(event["at"]), event["kind"], worker, Text(_describe_meta(event["meta"]))
        )
    print_table(events)
    if not job["attempts"]:
        return
    say("\nAttempts")
    attempts = make_table("NO", "STARTED", "TOOK", "CPU", "MEMORY", "WORKER", "OUTCOME", "ERROR")
    for attempt in job["attempts"]:
        attempts.add_row(*_attempt_cells(attempt))
    print_table(attempts)
    if job.get("model_calls"):
        _print_model_calls(job["model_calls"])


def _print_model_calls(calls: Sequence[Mapping[str, Any]]) -> None:
    say("\nAsked of a model")
    table = make_table("ASKED", "MODEL", "FOR", "OUTCOME", "TOOK", "TOKENS", "COST")
    for call in calls:
        tokens, cost = (call["prompt_tokens"], call["completion_tokens"]), call["cost_usd"]
        table.add_row(
            format_time(call["asked_at"]),
            Text(call["model"]),
            Text(f"{call['purpose']} {call['prompt_version']}".strip()),
            call["outcome"],
            _format_ms(call["took_ms"]),
            "" if None in tokens else f"{tokens[0]} + {tokens[1]}",
            "" if cost is None else f"${Decimal(cost):.4f}",
        )
    print_table(table)


def _describe_meta(meta: Mapping[str, Any]) -> str:
    known = {key: value for key, value in meta.items() if value is not None}
    way = " > ".join(str(known.pop(key)) for key in ("from", "to") if key in known)
    rest = [f"{key} {value}" for key, value in known.items()]
    return ", ".join([way, *rest] if way else rest)


def _shorten_worker(worker: str) -> str:
    """A worker's name is long, to be the only one; its two ends are enough for people."""
    return re.sub("/.*/", "/", worker)


def _attempt_cells(attempt: Mapping[str, Any]) -> list[str | Text]:
    code, says = attempt["error_code"], attempt.get("reason") or attempt["error_message"]
    return [
        str(attempt["attempt"]),
        format_time(attempt["started_at"]),
        _format_ms(attempt["duration_ms"]),
        _format_ms(attempt["cpu_ms"]),
        decimal(attempt["memory_bytes"]) if attempt["memory_bytes"] else "",
        _shorten_worker(attempt["worker"]),
        attempt["outcome"] or "running",
        Text(f"{code}: {says}" if code else ""),
    ]


def _format_ms(span: int | None) -> str:
    return "" if span is None else f"{span / 1000:.2f} s"
