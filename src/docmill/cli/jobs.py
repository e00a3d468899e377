"""Commands that look at jobs and change them: jobs, show, retry, cancel, result."""

import asyncio
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, Final
from uuid import UUID

import typer

from docmill import forms
from docmill.cli import tables
from docmill.cli.client import HERE, LARGEST_PAGE, Client, Refused, Token, Url
from docmill.cli.console import complain, say, say_json
from docmill.cli.output import Output, opened

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Id = Annotated[str, typer.Argument(metavar="ID", help="A job's id, or the beginning of one.")]
Ids = Annotated[list[str], typer.Argument(metavar="ID", help="Ids of jobs, or their beginnings.")]
ID_LENGTH: Final = 36


def jobs(
    status: Annotated[
        list[str] | None, typer.Option(help="Only these: queued, processing, complete, failed ...")
    ] = None,
    pipeline: Annotated[str | None, typer.Option(help="Only of this pipeline.")] = None,
    limit: Annotated[int, typer.Option(min=0, help="How many; 0 for all.")] = 50,
    as_json: Json = False,
    url: Url = HERE,
    token: Token = None,
) -> None:
    """List your jobs, newest first.

    docmill jobs --status failed

    docmill jobs --limit 0 --json | jq -r '.[] | select(.error_code) | .id'
    """
    only = {"status": ",".join(status or []), "pipeline": pipeline}
    found = asyncio.run(_list(Client(url, token), limit, only))
    if as_json:
        say_json(found)
    elif found:
        tables.show_jobs(found)
    else:
        say("No jobs. `docmill submit FILE` makes one.")


async def _list(client: Client, limit: int, only: dict[str, Any]) -> list[dict[str, Any]]:
    async with client:
        return [job async for job in client.jobs(limit, **only)]


def show(id: Id, as_json: Json = False, url: Url = HERE, token: Token = None) -> None:  # noqa: A002
    """Show one job: its facts, its history, its attempts.

    docmill show 3f2a
    """
    job = asyncio.run(_one(Client(url, token), id))
    if as_json:
        say_json(job)
    else:
        tables.show_job(job)


async def _one(client: Client, job_id: str) -> dict[str, Any]:
    async with client:
        return await client.ask("GET", f"/api/jobs/{await whole(client, job_id)}")


def result(
    id: Id,  # noqa: A002
    output: Output = None,
    form: Annotated[
        str | None,
        typer.Option(help=f"data, document, or of some pipelines {', '.join(forms.NAMES)}."),
    ] = None,
    url: Url = HERE,
    token: Token = None,
) -> None:
    """Print the result of a job, or write it to a file.

    docmill result 3f2a | jq .fields

    docmill result 3f2a -o letter.json

    docmill result 3f2a --form anki -o words.apkg
    """
    asyncio.run(_result(Client(url, token), id, output, form))


async def _result(client: Client, job_id: str, output: Path | None, form: str | None) -> None:
    async with client, client.downloading(await whole(client, job_id), form) as pieces:
        with opened(output) as file:
            async for piece in pieces:
                file.write(piece)


def retry(ids: Ids, as_json: Json = False, url: Url = HERE, token: Token = None) -> None:
    """Queue failed jobs again.

    docmill retry 3f2a 77b1
    """
    _change("retry", ids, Client(url, token), as_json=as_json)


def cancel(ids: Ids, as_json: Json = False, url: Url = HERE, token: Token = None) -> None:
    """Cancel jobs that have not ended.

    docmill cancel 3f2a
    """
    _change("cancel", ids, Client(url, token), as_json=as_json)


@dataclass(frozen=True, slots=True)
class Changed:
    """What became of a wish to change one job."""

    id: str
    success: bool
    status: str = ""
    code: str = ""
    message: str = ""


def _change(verb: str, ids: list[str], client: Client, *, as_json: bool) -> None:
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


async def _change_all(verb: str, ids: list[str], client: Client) -> list[Changed]:
    async with client:
        return [await _change_one(verb, job_id, client) for job_id in ids]


async def _change_one(verb: str, given: str, client: Client) -> Changed:
    """A refusal by docmill is this job's own; where nobody answers, the command ends."""
    try:
        job_id = await whole(client, given)
        answer = await client.ask("POST", f"/api/jobs/{job_id}/{verb}")
    except Refused as exc:
        if not exc.code:
            raise
        return Changed(given, False, code=exc.code, message=f"{exc.says} {exc.advice}")
    return Changed(job_id, True, answer["job"]["status"])


async def whole(client: Client, given: str) -> str:
    """The id that begins so, among the newest jobs."""
    if len(given) == ID_LENGTH:
        return _checked(given)
    found = [job["id"] async for job in client.jobs(LARGEST_PAGE)]
    fitting = [job_id for job_id in found if given and job_id.startswith(given.lower())]
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        says = f"{len(fitting)} of your jobs begin with {given}."
        raise Refused(says, "Give more of the id.", code="JOB_NOT_FOUND")
    says = f"None of your newest {len(found)} jobs begins with {given}."
    raise Refused(says, "Give the whole id; `docmill jobs` lists them.", code="JOB_NOT_FOUND")


def _checked(given: str) -> str:
    try:
        return str(UUID(given))
    except ValueError as exc:
        raise typer.BadParameter(f"{given!r} is not an id of a job.", param_hint="ID") from exc
