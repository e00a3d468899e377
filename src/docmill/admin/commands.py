"""docmill admin and docmill audit: the installation at a glance, and who did what to it."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final

import typer

from docmill.cli.console import say, say_json
from docmill.cli.options import AsJson
from docmill.cli.remote import RemoteClient, Token, Url
from docmill.cli.tables import format_age, format_time, make_table, print_rows, print_table
from docmill.client.asynchronous import HERE

app = typer.Typer(
    name="admin",
    help="Everybody's work at a glance, and what to do about it. For administrators.",
    invoke_without_command=True,
    add_completion=False,
)
audit_app = typer.Typer(
    name="audit",
    help="Who did what: list the audit log, or verify that nobody changed it. For administrators.",
    no_args_is_help=True,
    add_completion=False,
)
PATH: Final = "/api/admin"
JobArgument = Annotated[str, typer.Argument(metavar="ID", help="Anybody's job.")]


@app.callback()
def show(
    context: typer.Context, as_json: AsJson = False, url: Url = HERE, token: Token = None
) -> None:
    """Show queue, workers, failures, services, storage and broken promises.

    docmill admin
    """
    if context.invoked_subcommand:
        return
    seen = _ask(url, token, "GET", f"{PATH}/overview")
    if as_json:
        say_json(seen)
        return
    _print_overview(seen)


def _ask(url: str, token: str | None, method: str, path: str, **given: Any) -> dict[str, Any]:
    async def ask() -> dict[str, Any]:
        async with RemoteClient(url, token) as client:
            return await client.ask(method, path, **given)

    return asyncio.run(ask())


def _print_overview(seen: Mapping[str, Any]) -> None:
    for title, noun in (("pipeline", "pipelines"), ("owner", "owners")):
        columns = ("waiting", "later", "running")
        rows = [
            [one["name"], *(one[name] for name in columns), f"{one['oldest']:.0f} s"]
            for one in seen[noun]
        ]
        _print_part([title, *columns, "oldest"], rows)
    ended = sum(one["complete"] for one in seen["minutes"])
    failed = sum(one["failed"] for one in seen["minutes"])
    say(f"last hour: {ended} complete, {failed} failed")
    workers = [
        [one["host"], one["pid"], f"{len(one['jobs'])}/{one['slots']}", format_age(one["seen_at"])]
        for one in seen["workers"]
    ]
    _print_part(["worker", "pid", "slots", "seen"], workers)
    _print_part(["service", "breaker"], [[b["service"], b["state"]] for b in seen["breakers"]])
    failures = [
        [one["code"], one["pipeline"], one["jobs"], one["reason"]] for one in seen["failures"]
    ]
    _print_part(["failed", "pipeline", "jobs", "reason"], failures)
    _print_part(["documents", "count"], [*seen["documents"]["states"].items()])
    storage, hooks = seen["storage"], seen["webhooks"]
    say(f"stored: {storage['documents']} B of documents, {storage['results']} B of results")
    say(f"webhooks: {hooks['pending']} to deliver, the oldest for {hooks['lag']:.0f} s")
    for one in seen["broken"]:
        say(f"BROKEN {one['rule']}: job {one['job_id']}. {one['says']}")
    if not seen["broken"]:
        say("No job is lost, doubled or in a state that no rule allows.")


def _print_part(names: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    if rows:
        print_rows(names, rows)
        say("")


def _act(job_id: str, verb: str, *, url: str, token: str | None, as_json: bool) -> None:
    job = _ask(url, token, "POST", f"{PATH}/jobs/{job_id}/{verb}")
    if as_json:
        say_json(job)
    else:
        say(f"{job['id']} is {job['status']}.")


@app.command()
def retry(
    job_id: Annotated[str | None, typer.Argument(metavar="[ID]", help="One failed job.")] = None,
    code: Annotated[str | None, typer.Option(help="All that failed with this code.")] = None,
    pipeline: Annotated[str | None, typer.Option(help="All that failed of this pipeline.")] = None,
    as_json: AsJson = False,
    url: Url = HERE,
    token: Token = None,
) -> None:
    """Queue a failed job again, or the newest 500 by code and pipeline.

    docmill admin retry --code SERVICE_GONE
    """
    if job_id:
        _act(job_id, "retry", url=url, token=token, as_json=as_json)
        return
    if not code and not pipeline:
        raise typer.BadParameter("Name a job, or give --code or --pipeline.", param_hint="ID")
    wish = {name: value for name, value in (("code", code), ("pipeline", pipeline)) if value}
    done = _ask(url, token, "POST", f"{PATH}/retry", json=wish)
    if as_json:
        say_json(done)
    else:
        say(f"{done['retried']} queued again.")


@app.command()
def cancel(
    job_id: JobArgument, as_json: AsJson = False, url: Url = HERE, token: Token = None
) -> None:
    """Cancel anybody's job that has not ended."""
    _act(job_id, "cancel", url=url, token=token, as_json=as_json)


@app.command()
def release(
    job_id: JobArgument, as_json: AsJson = False, url: Url = HERE, token: Token = None
) -> None:
    """Take a running job from its worker and queue it again, for a worker that hangs."""
    _act(job_id, "release", url=url, token=token, as_json=as_json)


@audit_app.command("list")
def list_audit(
    limit: Annotated[int, typer.Option(min=1, max=1000, help="How many, the newest first.")] = 100,
    as_json: AsJson = False,
    url: Url = HERE,
    token: Token = None,
) -> None:
    """List who did what to which job, source or session."""
    found = _ask(url, token, "GET", f"{PATH}/audit", params={"limit": limit})["entries"]
    if as_json:
        say_json(found)
        return
    table = make_table("ROW", "AT", "WHO", "WHAT", "TO")
    for one in found:
        table.add_row(
            str(one["id"]), format_time(one["at"]), one["actor"], one["action"], one["target"]
        )
    print_table(table)


@audit_app.command()
def verify(as_json: AsJson = False, url: Url = HERE, token: Token = None) -> None:
    """Find a row that was changed or taken out; exit code 1 if there is one.

    Note the head elsewhere: as long as it is in the chain, nothing before it was changed.
    """
    found = _ask(url, token, "GET", f"{PATH}/audit/verify")
    if as_json:
        say_json(found)
    elif found["broken_at"]:
        say(f"Row {found['broken_at']} is not as it was written, or is gone.")
    else:
        say(f"{found['entries']} rows, all as they were written. Head: {found['head']}")
    if found["broken_at"]:
        raise typer.Exit(1)
