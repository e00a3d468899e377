"""docmill webhooks: be told what happens, look at what was delivered, deliver it again."""

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Final

import typer
from rich.text import Text

from docmill.cli.console import say, say_json
from docmill.cli.options import AsJson, Limit
from docmill.cli.remote import Token, Url, ask_once, list_rows
from docmill.cli.tables import format_age, format_time, make_table, print_table
from docmill.client.asynchronous import HERE
from docmill.webhooks.fields import KINDS

app = typer.Typer(
    name="webhooks",
    help="Signed requests to your server when something happens to your documents.",
    no_args_is_help=True,
    add_completion=False,
)
PATH: Final = "/api/webhooks"
NAMED: Final = ", ".join(kind.name for kind in KINDS)

Id = Annotated[
    str, typer.Argument(metavar="ID", help="A webhook's id; see `docmill webhooks list`.")
]


@app.command()
def create(
    address: Annotated[str, typer.Argument(metavar="URL", help="Address to send to.")],
    events: Annotated[
        list[str] | None,
        typer.Option("--event", "-e", help=f"An event to receive; may be repeated. All: {NAMED}."),
    ] = None,
    desk: Annotated[
        str | None, typer.Option(help="Documents of this desk instead of your own.")
    ] = None,
    as_json: AsJson = False,
    url: Url = HERE,
    token: Token = None,
) -> None:
    """Register a webhook for your documents. The secret is shown only once.

    docmill webhooks create https://example.com/docmill

    docmill webhooks create https://example.com/trades -e trade.created --desk trading
    """
    wish: dict[str, Any] = {"url": address}
    wish |= {"events": events} if events else {}
    wish |= {"desk": desk} if desk else {}
    made = ask_once(url, token, "POST", PATH, json=wish)
    _print_secret(made, as_json=as_json)


def _print_secret(made: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        say_json(made)
        return
    say(f"id      {made['id']}")
    say(f"secret  {made['secret']}")
    say("Copy the secret now: it is not shown again.")


@app.command("list")
def list_webhooks(as_json: AsJson = False, url: Url = HERE, token: Token = None) -> None:
    """List your webhooks, and whether they are enabled."""
    found = ask_once(url, token, "GET", PATH)["webhooks"]
    if as_json:
        say_json(found)
        return
    if not found:
        say("No webhook yet. `docmill webhooks create URL` makes one.")
        return
    table = make_table("ID", "STATE", "DELIVERED", "EVENTS", "URL")
    for one in found:
        delivered = format_age(one["delivered_at"]) if one["delivered_at"] else "-"
        table.add_row(
            one["id"], _describe_state(one), delivered, ",".join(one["events"]), Text(one["url"])
        )
    print_table(table)


def _describe_state(one: Mapping[str, Any]) -> str:
    if not one["enabled"]:
        return f"off ({one['disabled_because']})"
    return "failing" if one["failing_from"] else "on"


@app.command()
def delete(webhook_id: Id, as_json: AsJson = False, url: Url = HERE, token: Token = None) -> None:
    """Delete a webhook and its log."""
    gone = ask_once(url, token, "DELETE", f"{PATH}/{webhook_id}")
    if as_json:
        say_json(gone)
    else:
        say(f"{gone['deleted']} is deleted.")


@app.command()
def rotate(webhook_id: Id, as_json: AsJson = False, url: Url = HERE, token: Token = None) -> None:
    """Create a new secret. The old one stays valid for 24 hours."""
    made = ask_once(url, token, "POST", f"{PATH}/{webhook_id}/rotate")
    _print_secret(made, as_json=as_json)


@app.command()
def enable(webhook_id: Id, as_json: AsJson = False, url: Url = HERE, token: Token = None) -> None:
    """Enable a disabled webhook. `replay --missed` delivers what it missed."""
    changed = ask_once(url, token, "POST", f"{PATH}/{webhook_id}/enable")
    if as_json:
        say_json(changed)
    else:
        say(f"{changed['id']} is on.")


@app.command()
def deliveries(
    webhook_id: Id,
    status: Annotated[str | None, typer.Option(help="Only pending, delivered or failed.")] = None,
    limit: Limit = 50,
    as_json: AsJson = False,
    url: Url = HERE,
    token: Token = None,
) -> None:
    """List deliveries of the last 30 days, newest first."""
    found = list_rows(url, token, f"{PATH}/{webhook_id}/deliveries", limit, status=status)
    if as_json:
        say_json(found)
    else:
        _print_deliveries(found)


def _print_deliveries(found: Iterable[Mapping[str, Any]]) -> None:
    table = make_table("ID", "AT", "EVENT", "STATUS", "TRIES", "LAST ANSWER")
    for one in found:
        last = one["attempts"][-1] if one["attempts"] else None
        said = str(last["status"] or last["error"]) if last else "-"
        table.add_row(
            one["id"],
            format_time(one["created_at"]),
            one["event"],
            one["status"],
            str(one["tries"]),
            Text(said),
        )
    print_table(table)


@app.command()
def replay(
    webhook_id: Id,
    delivery: Annotated[
        str | None, typer.Argument(metavar="DELIVERY", help="One delivery's id.")
    ] = None,
    since: Annotated[
        str | None, typer.Option(help="All since this time: 2026-01-31 or 2026-01-31T12:00:00Z.")
    ] = None,
    missed: Annotated[bool, typer.Option("--missed", help="Only deliveries that failed.")] = False,
    as_json: AsJson = False,
    url: Url = HERE,
    token: Token = None,
) -> None:
    """Deliver again: one delivery, or all since a time.

    docmill webhooks replay 6f0a1b2c-4d53-4e0e-9c6d-5b9a1f110b0e --since 2026-01-31 --missed
    """
    if (delivery is None) == (since is None):
        raise typer.BadParameter("Give a DELIVERY or --since, one of them.")
    path, given = f"{PATH}/{webhook_id}/replay", {"json": {"since": since, "missed": missed}}
    if delivery is not None:
        path, given = f"{PATH}/{webhook_id}/deliveries/{delivery}/replay", {}
    answer = ask_once(url, token, "POST", path, **given)
    if as_json:
        say_json(answer)
    else:
        say(f"{answer['replayed']} to be delivered again.")
