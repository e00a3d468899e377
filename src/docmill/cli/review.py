"""docmill review: what waits for a person's word, and that word."""

import asyncio
import json
from pathlib import Path
from typing import Annotated, Any

import typer

from docmill.cli.client import HERE, Client, Refused, Token, Url
from docmill.cli.console import say, say_json
from docmill.cli.jobs import Id, whole
from docmill.cli.output import Output, opened
from docmill.cli.tables import show_reviews

app = typer.Typer(
    name="review",
    help="Check and approve what was read.",
    no_args_is_help=True,
    add_completion=False,
)
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
PATH = "/api/reviews"


@app.command("list")
def list_reviews(
    status: Annotated[
        list[str] | None, typer.Option(help="pending, approved or rejected; may be repeated.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=200, help="How many at most.")] = 50,
    as_json: AsJson = False,
    url: Url = HERE,
    token: Token = None,
) -> None:
    """List what waits for review, newest first.

    docmill review list --status rejected
    """
    params = {"status": ",".join(status or ["pending"]), "limit": limit}
    found = asyncio.run(_ask(Client(url, token), "GET", "", params=params))["reviews"]
    if as_json:
        say_json(found)
    elif found:
        show_reviews(found)
    else:
        say("Nothing. `docmill submit --pipeline invoice FILE` brings something.")


@app.command()
def show(id: Id, as_json: AsJson = False, url: Url = HERE, token: Token = None) -> None:  # noqa: A002
    """Show one review: what to check and why, and what was changed.

    docmill review show 3f2a
    """
    review = asyncio.run(_one(Client(url, token), id))
    if as_json:
        say_json(review)
        return
    say(f"{review['filename']}: {review['status']}, revision {review['revision']}")
    for path, reason in review["reasons"].items():
        say(f"  check {path:<24} {reason}")
    for step in review["history"]:
        was, now = json.dumps(step["before"]), json.dumps(step["after"])
        about = f"{step['path']}: {was} -> {now}" if step["path"] else step["reason"] or ""
        say(f"  {step['revision']:>4} {step['kind']:<9} {about}  ({step['by']}, {step['at']})")
    if review["refusal"]:
        say(f"No document can be made of it: {review['refusal']}")


@app.command("set")
def set_values(
    id: Id,  # noqa: A002
    values: Annotated[
        list[str], typer.Argument(metavar="PATH=VALUE", help="Values to keep; PATH= empties one.")
    ],
    as_json: AsJson = False,
    url: Url = HERE,
    token: Token = None,
) -> None:
    """Correct values; each is kept as a revision with what was there before.

    docmill review set 3f2a invoice_number=INV-17 'lines[0].amount=1.250,00'
    """
    edits = [_edit(value) for value in values]
    _print(asyncio.run(_change(Client(url, token), id, "edits", edits=edits)), as_json=as_json)


@app.command()
def approve(id: Id, as_json: AsJson = False, url: Url = HERE, token: Token = None) -> None:  # noqa: A002
    """Approve a review as it stands; the document made of it becomes the result.

    docmill review approve 3f2a
    """
    _print(asyncio.run(_change(Client(url, token), id, "approve")), as_json=as_json)


@app.command()
def reject(
    id: Id,  # noqa: A002
    reason: Annotated[str, typer.Option("--reason", "-r", help="Why; others will read it.")],
    as_json: AsJson = False,
    url: Url = HERE,
    token: Token = None,
) -> None:
    """Reject what was read, with a reason.

    docmill review reject 3f2a --reason "not an invoice"
    """
    decided = asyncio.run(_change(Client(url, token), id, "reject", reason=reason))
    _print(decided, as_json=as_json)


@app.command()
def export(
    output: Output = None,
    url: Url = HERE,
    token: Token = None,
) -> None:
    """Write all approved reviews as training samples, one JSON object a line.

    docmill review export -o samples.jsonl
    """
    asyncio.run(_export(Client(url, token), output))


async def _export(client: Client, output: Path | None) -> None:
    async with client, client.stream(f"{PATH}/export") as pieces:
        with opened(output) as file:
            async for piece in pieces:
                file.write(piece)


def _edit(text: str) -> dict[str, Any]:
    path, found, value = text.partition("=")
    if not found or not path:
        raise typer.BadParameter(f"{text!r} is not PATH=VALUE.", param_hint="PATH=VALUE")
    return {"path": path.strip(), "value": value.strip() or None}


async def _ask(client: Client, method: str, path: str, **given: Any) -> dict[str, Any]:
    async with client:
        return await client.ask(method, PATH + path, **given)


async def _one(client: Client, given: str) -> dict[str, Any]:
    async with client:
        return await client.ask("GET", f"{PATH}/{await whole(client, given)}")


async def _change(client: Client, given: str, verb: str, **body: Any) -> dict[str, Any]:
    """On the revision that is there now; whoever comes in between is told of."""
    async with client:
        job_id = await whole(client, given)
        seen = await client.ask("GET", f"{PATH}/{job_id}")
        wish = {"revision": seen["revision"], **body}
        try:
            return await client.ask("POST", f"{PATH}/{job_id}/{verb}", json=wish)
        except Refused as exc:
            if exc.code != "REVIEW_CONFLICT":
                raise
            advice = f"See what changed with `docmill review show {given}`, and try again."
            raise Refused(exc.says, advice, code=exc.code) from exc


def _print(review: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        say_json(review)
        return
    say(f"{review['filename']}: {review['status']}, revision {review['revision']}")
    for path, reason in review.get("reasons", {}).items():
        say(f"  check {path:<24} {reason}")
    if learned := review.get("learned"):
        say(f"Learned for the next of this layout: {', '.join(learned)}")
