"""docmill review: what waits for a person's word, and that word."""

import asyncio
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from rich.text import Text

from docmill.cli.console import out, say, say_json
from docmill.cli.options import AsJson
from docmill.cli.output import Output, open_output
from docmill.cli.remote import RemoteClient, Token, Url, ask_once
from docmill.cli.tables import format_age, make_table, print_table
from docmill.client.answers import Refused
from docmill.client.asynchronous import HERE
from docmill.jobs.commands import Id, resolve_id

review_app = typer.Typer(
    name="review",
    help="Check and approve what was read.",
    no_args_is_help=True,
    add_completion=False,
)
REVIEWS = "/api/reviews"


@review_app.command("list")
def list_reviews(
    status: Annotated[
        list[str] | None, typer.Option(help="pending, approved or rejected; may be repeated.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=200, help="How many at most.")] = 50,
    as_json: AsJson = False,
    url: Url = HERE,
    token: Token = None,
) -> None:
    """List invoices that wait for review, newest first.

    docmill review list --status rejected
    """
    params = {"status": ",".join(status or ["pending"]), "limit": limit}
    found = ask_once(url, token, "GET", REVIEWS, params=params)["reviews"]
    if as_json:
        say_json(found)
    elif found:
        print_reviews(found)
    else:
        say("Nothing. `docmill submit --pipeline invoice FILE` brings something.")


@review_app.command()
def show(job_id: Id, as_json: AsJson = False, url: Url = HERE, token: Token = None) -> None:
    """Show one review: what to check and why, and what changed.

    docmill review show 3f2a
    """
    review = asyncio.run(_load_review(RemoteClient(url, token), job_id))
    if as_json:
        say_json(review)
        return
    say(f"{review['filename']}: {review['status']}, revision {review['revision']}")
    if approval := _tell_approval(review):
        say(approval)
    for path, reason in review["reasons"].items():
        say(f"  check {path:<24} {reason}")
    for step in review["history"]:
        was, now = json.dumps(step["before"]), json.dumps(step["after"])
        about = f"{step['path']}: {was} -> {now}" if step["path"] else step["reason"] or ""
        say(f"  {step['revision']:>4} {step['kind']:<9} {about}  ({step['by']}, {step['at']})")
    if review["refusal"]:
        say(f"No document can be made of it: {review['refusal']}")


@review_app.command("set")
def set_values(
    job_id: Id,
    values: Annotated[
        list[str], typer.Argument(metavar="PATH=VALUE", help="Values to set; PATH= empties one.")
    ],
    as_json: AsJson = False,
    url: Url = HERE,
    token: Token = None,
) -> None:
    """Correct values. Each correction is kept as a revision, with the old value.

    docmill review set 3f2a invoice_number=INV-17 'lines[0].amount=1.250,00'
    """
    edits = [_parse_edit(value) for value in values]
    _print_review(
        asyncio.run(_change_review(RemoteClient(url, token), job_id, "edits", edits=edits)),
        as_json=as_json,
    )


@review_app.command()
def check(
    job_id: Id,
    paths: Annotated[
        list[str], typer.Argument(metavar="PATH", help="Values that are correct as they are.")
    ],
    as_json: AsJson = False,
    url: Url = HERE,
    token: Token = None,
) -> None:
    """Confirm values, so that nobody has to check them again.

    docmill review check 3f2a totals.net 'lines[0].amount'
    """
    _print_review(
        asyncio.run(_change_review(RemoteClient(url, token), job_id, "checked", paths=paths)),
        as_json=as_json,
    )


@review_app.command()
def approve(job_id: Id, as_json: AsJson = False, url: Url = HERE, token: Token = None) -> None:
    """Approve a review as it is. The document made from it becomes the result.

    docmill review approve 3f2a
    """
    _print_review(
        asyncio.run(_change_review(RemoteClient(url, token), job_id, "approve")), as_json=as_json
    )


@review_app.command()
def reject(
    job_id: Id,
    reason: Annotated[str, typer.Option("--reason", "-r", help="The reason; others will read it.")],
    as_json: AsJson = False,
    url: Url = HERE,
    token: Token = None,
) -> None:
    """Reject what was read, with a reason.

    docmill review reject 3f2a --reason "not an invoice"
    """
    decided = asyncio.run(_change_review(RemoteClient(url, token), job_id, "reject", reason=reason))
    _print_review(decided, as_json=as_json)


@review_app.command()
def export(
    output: Output = None,
    url: Url = HERE,
    token: Token = None,
) -> None:
    """Write all approved reviews as training samples, one JSON object per line.

    docmill review export -o samples.jsonl
    """
    asyncio.run(_write_samples(RemoteClient(url, token), output))


async def _write_samples(client: RemoteClient, output: Path | None) -> None:
    async with client, client.stream(f"{REVIEWS}/export") as pieces:
        with open_output(output) as file:
            async for piece in pieces:
                file.write(piece)


def _parse_edit(text: str) -> dict[str, Any]:
    path, found, value = text.partition("=")
    if not found or not path:
        raise typer.BadParameter(f"{text!r} is not PATH=VALUE.", param_hint="PATH=VALUE")
    return {"path": path.strip(), "value": value.strip() or None}


async def _load_review(client: RemoteClient, given: str) -> dict[str, Any]:
    async with client:
        return await client.ask("GET", f"{REVIEWS}/{await resolve_id(client, given)}")


async def _change_review(
    client: RemoteClient, given: str, verb: str, **body: Any
) -> dict[str, Any]:
    """On the revision that is there now; whoever comes in between is told of."""
    async with client:
        job_id = await resolve_id(client, given)
        seen = await client.ask("GET", f"{REVIEWS}/{job_id}")
        wish = {"revision": seen["revision"], **body}
        try:
            return await client.ask("POST", f"{REVIEWS}/{job_id}/{verb}", json=wish)
        except Refused as exc:
            if exc.code != "REVIEW_CONFLICT":
                raise
            advice = f"See what changed with `docmill review show {given}`, and try again."
            raise Refused(exc.says, advice, code=exc.code) from exc


def _print_review(review: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        say_json(review)
        return
    say(f"{review['filename']}: {review['status']}, revision {review['revision']}")
    for path, reason in review.get("reasons", {}).items():
        say(f"  check {path:<24} {reason}")
    if learned := review.get("learned"):
        say(f"Learned for the next of this layout: {', '.join(learned)}")


lessons_app = typer.Typer(
    name="lessons",
    help="What docmill learned from your corrections.",
    no_args_is_help=True,
    add_completion=False,
)
LESSONS: Final = "/api/lessons"


@lessons_app.command("list")
def list_lessons(as_json: AsJson = False, url: Url = HERE, token: Token = None) -> None:
    """List lessons: the field, the supplier, and the document it was learned from."""
    _print_lessons(ask_once(url, token, "GET", LESSONS), as_json=as_json)


@lessons_app.command()
def on(as_json: AsJson = False, url: Url = HERE, token: Token = None) -> None:
    """Learn from corrections, and use the lessons."""
    _switch_learning(url, token, learning=True, as_json=as_json)


@lessons_app.command()
def off(as_json: AsJson = False, url: Url = HERE, token: Token = None) -> None:
    """Stop learning, and do not use lessons. They stay until you delete them."""
    _switch_learning(url, token, learning=False, as_json=as_json)


@lessons_app.command()
def forget(
    lesson_id: Annotated[str | None, typer.Argument(metavar="[ID]", help="A lesson's id.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="Delete all lessons.")] = False,
    as_json: AsJson = False,
    url: Url = HERE,
    token: Token = None,
) -> None:
    """Delete one lesson, or all of them.

    docmill lessons forget 77b1f0c2-5f0e-4f0e-9d57-0d8a3c1f7e11
    """
    if (lesson_id is None) is not everything:
        raise typer.BadParameter("Give the id of a lesson, or --all.", param_hint="ID")
    place = LESSONS if lesson_id is None else f"{LESSONS}/{lesson_id}"
    gone = ask_once(url, token, "DELETE", place)
    if as_json:
        say_json(gone)
    else:
        say(f"Forgotten: {gone['forgotten']}")


def _switch_learning(url: str, token: str | None, *, learning: bool, as_json: bool) -> None:
    switched = ask_once(url, token, "PUT", LESSONS, json={"learning": learning})
    _print_lessons(switched, as_json=as_json)


def _print_lessons(found: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        say_json(found)
        return
    say(f"Learning is {'on' if found['learning'] else 'off'}.")
    for each in found["lessons"]:
        about = f"{each['supplier'] or 'unnamed supplier'}, from {each['taught_by']}"
        say(f"{each['id']}  {each['field']:<18} {about}")


def print_reviews(reviews: Iterable[Mapping[str, Any]]) -> None:
    table = make_table("ID", "AGE", "FILE", "TO CHECK", "STATUS", "")
    table.columns[3].justify = "right"
    for each in reviews:
        table.add_row(
            each["job_id"][:8] if out.is_terminal else each["job_id"],
            format_age(each["created_at"]),
            Text(each["filename"]),
            "-" if each["doubts"] is None else str(each["doubts"]),
            each["status"],
            Text(each["reason"] or _tell_approval(each)),
        )
    print_table(table)


def _tell_approval(review: Mapping[str, Any]) -> str:
    by = review.get("approved_by")
    return f"approved by {by}" if by else ""
