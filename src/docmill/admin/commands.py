"""docmill admin and docmill audit: the installation at a glance, and who did what to it."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated, Any, Final

import typer

from docmill.cli.console import say, say_json
from docmill.cli.options import AsJson
from docmill.cli.remote import Token, Url, ask_once
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
ServiceArgument = Annotated[
    str, typer.Argument(metavar="SERVICE", help="As `docmill admin` names it.")
]
CodeOption = Annotated[str | None, typer.Option(help="All that failed with this code.")]
PipelineOption = Annotated[str | None, typer.Option(help="All that failed of this pipeline.")]
DaysOption = Annotated[float | None, typer.Option(min=0.001, max=36_500)]


class Kept(StrEnum):
    UPLOADS = "uploads"
    RESULTS = "results"


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
    seen = ask_once(url, token, "GET", f"{PATH}/overview")
    if as_json:
        say_json(seen)
        return
    _print_overview(seen)


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
    _print_part(
        ["service", "breaker"],
        [[b["service"], "paused" if b["paused"] else b["state"]] for b in seen["breakers"]],
    )
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
    job = ask_once(url, token, "POST", f"{PATH}/jobs/{job_id}/{verb}")
    _print_done(job, f"{job['id']} is {job['status']}.", as_json=as_json)


@app.command()
def retry(
    job_id: Annotated[str | None, typer.Argument(metavar="[ID]", help="One failed job.")] = None,
    code: CodeOption = None,
    pipeline: PipelineOption = None,
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
    wish = _name_failed(code, pipeline)
    if not wish:
        raise typer.BadParameter("Name a job, or give --code or --pipeline.", param_hint="ID")
    done = ask_once(url, token, "POST", f"{PATH}/retry", json=wish)
    _print_done(done, f"{done['retried']} queued again.", as_json=as_json)


def _name_failed(code: str | None, pipeline: str | None) -> dict[str, str]:
    return {name: value for name, value in (("code", code), ("pipeline", pipeline)) if value}


def _print_done(done: Mapping[str, Any], sentence: str, *, as_json: bool) -> None:
    if as_json:
        say_json(done)
    else:
        say(sentence)


@app.command()
def reprocess(
    code: CodeOption = None,
    pipeline: PipelineOption = None,
    as_json: AsJson = False,
    url: Url = HERE,
    token: Token = None,
) -> None:
    """Read failed documents of everybody again, each by a new job; the newest 500.

    The failed jobs stay as they are. `docmill admin retry` queues those again instead.

    docmill admin reprocess --code BAD_PDF
    """
    wish = _name_failed(code, pipeline)
    if not wish:
        raise typer.BadParameter("Give --code, --pipeline or both.", param_hint="--code")
    done = ask_once(url, token, "POST", f"{PATH}/reprocess", json=wish)
    sentence = f"{done['reprocessed']} documents are read again, each by a new job."
    _print_done(done, sentence, as_json=as_json)


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


@app.command()
def pause(
    service: ServiceArgument,
    reason: Annotated[str, typer.Option(help="Why; owners of jobs that wait are shown it.")],
    url: Url = HERE,
    token: Token = None,
) -> None:
    """Leave another's service alone until it is resumed; jobs that need it wait.

    docmill admin pause gateway --reason "Maintenance until 6."
    """
    ask_once(url, token, "POST", f"{PATH}/services/{service}/pause", json={"reason": reason})
    say(f"{service} is paused.")


@app.command()
def resume(service: ServiceArgument, url: Url = HERE, token: Token = None) -> None:
    """Ask a paused service again."""
    ask_once(url, token, "POST", f"{PATH}/services/{service}/resume")
    say(f"{service} is resumed.")


@app.command()
def cost(
    since: Annotated[datetime | None, typer.Option(formats=["%Y-%m-%d"])] = None,
    as_json: AsJson = False,
    url: Url = HERE,
    token: Token = None,
) -> None:
    """Show what work cost by owner and pipeline: CPU, pages, bytes, calls of services, money.

    docmill admin cost --since 2026-01-01
    """
    wish = {"since": since.replace(tzinfo=UTC).isoformat()} if since else {}
    seen = ask_once(url, token, "GET", f"{PATH}/cost", params=wish)
    if as_json:
        say_json(seen)
        return
    names = ("owner", "pipeline", "cpu_seconds", "jobs", "pages", "bytes", "calls", "money")
    rows = [["-" if one[name] is None else one[name] for name in names] for one in seen["lines"]]
    _print_part(names, rows)
    if not rows:
        say("No run has ended since then.")


@app.command()
def keep(
    owner: Annotated[str, typer.Argument(metavar="OWNER", help="As user:ann or desk:fx.")],
    pipeline: Annotated[str, typer.Option(help="Only of this pipeline.")] = "",
    uploads_days: DaysOption = None,
    results_days: DaysOption = None,
    forever: Annotated[
        list[Kept] | None, typer.Option(help="Keep uploads or results for good.")
    ] = None,
    url: Url = HERE,
    token: Token = None,
) -> None:
    """Set how long an owner's documents are kept; without any period the rule is taken away.

    docmill admin keep user:ann --uploads-days 90
    """
    if ":" not in owner:
        raise typer.BadParameter(f"write user:{owner} or desk:{owner}.", param_hint="OWNER")
    wish = {
        "owner": owner, "pipeline": pipeline, "uploads_days": uploads_days,
        "results_days": results_days, "forever": [str(one) for one in forever or ()],
    }  # fmt: skip
    done = ask_once(url, token, "PUT", f"{PATH}/retention", json=wish)
    says = "has periods of its own" if done["set"] else "is kept as the settings say"
    say(f"{owner} {says}.")


@audit_app.command("list")
def list_audit(
    limit: Annotated[int, typer.Option(min=1, max=1000, help="How many, the newest first.")] = 100,
    as_json: AsJson = False,
    url: Url = HERE,
    token: Token = None,
) -> None:
    """List who did what to which job, source or session."""
    found = ask_once(url, token, "GET", f"{PATH}/audit", params={"limit": limit})["entries"]
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
    found = ask_once(url, token, "GET", f"{PATH}/audit/verify")
    if as_json:
        say_json(found)
    elif found["broken_at"]:
        say(f"Row {found['broken_at']} is not as it was written, or is gone.")
    else:
        say(f"{found['entries']} rows, all as they were written. Head: {found['head']}")
    if found["broken_at"]:
        raise typer.Exit(1)
