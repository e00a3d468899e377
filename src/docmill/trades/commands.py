"""docmill trades: the trades a running docmill has read; and documents read again."""

import asyncio
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Final

import typer

from docmill.cli.console import say, say_json
from docmill.cli.options import AsJson, Limit
from docmill.cli.output import Output, open_output
from docmill.cli.remote import RemoteClient, Token, Url, ask_once, list_rows
from docmill.cli.tables import format_time, make_table, print_table
from docmill.client.asynchronous import HERE

app = typer.Typer(
    name="trades",
    help="Trades read from broker notes.",
    no_args_is_help=True,
    add_completion=False,
)


Id = Annotated[str, typer.Argument(metavar="ID", help="A trade's id.")]
Ids = Annotated[list[str], typer.Argument(metavar="ID", help="Ids of trades.")]
StatusOption = Annotated[
    str | None, typer.Option(help="Only these: pending (waiting for review), approved, rejected.")
]
Direction = Annotated[str | None, typer.Option(help="Only buy, or only sell.")]
SearchOption = Annotated[
    str | None, typer.Option("--search", "-s", help="Part of a name, ISIN, broker or file name.")
]
Since = Annotated[str | None, typer.Option(help="Traded on this day or later: 2024-03-04.")]
Until = Annotated[str | None, typer.Option(help="Traded on this day or before.")]
PATH: Final = "/api/trades"


@app.command("list")
def list_trades(
    status: StatusOption = None,
    direction: Direction = None,
    search: SearchOption = None,
    since: Since = None,
    until: Until = None,
    limit: Limit = 50,
    as_json: AsJson = False,
    url: Url = HERE,
    token: Token = None,
) -> None:
    """List trades, newest first.

    docmill trades list --status pending

    docmill trades list --search siemens --json | jq -r '.[].isin'
    """
    only = _filter_params(status, direction, search, since, until)
    found = list_rows(url, token, PATH, limit, **only)
    if as_json:
        say_json(found)
    elif found:
        print_trades(found)
    elif only:
        say("No trades match. `docmill trades list` shows all.")
    else:
        say("No trades. `docmill submit --pipeline trades FILE` reads broker notes.")


def _filter_params(
    status: str | None,
    direction: str | None,
    search: str | None,
    since: str | None,
    until: str | None,
) -> dict[str, str]:
    given = {
        "status": status, "direction": direction, "q": search, "since": since, "until": until,
    }  # fmt: skip
    return {name: value for name, value in given.items() if value}


@app.command()
def show(trade_id: Id, as_json: AsJson = False, url: Url = HERE, token: Token = None) -> None:
    """Show one trade: its values, their confidence, its history, and where its PDF is.

    docmill trades show 6f0a1b2c-4d53-4e0e-9c6d-5b9a1f110b0e
    """
    trade, pdf = asyncio.run(_fetch_trade(RemoteClient(url, token), trade_id))
    if as_json:
        say_json({**trade, "pdf": pdf})
    else:
        print_trade(trade, pdf)


async def _fetch_trade(
    client: RemoteClient, trade_id: str
) -> tuple[dict[str, Any], dict[str, Any]]:
    async with client:
        trade = await client.ask("GET", f"{PATH}/{trade_id}")
        return trade, await client.ask("GET", f"{PATH}/{trade_id}/pdf")


@app.command()
def approve(ids: Ids, as_json: AsJson = False, url: Url = HERE, token: Token = None) -> None:
    """Approve trades."""
    _judge(RemoteClient(url, token), ids, "approve", as_json=as_json)


@app.command()
def reject(ids: Ids, as_json: AsJson = False, url: Url = HERE, token: Token = None) -> None:
    """Reject trades that are wrong, or not trades at all."""
    _judge(RemoteClient(url, token), ids, "reject", as_json=as_json)


Changes = Annotated[
    list[str], typer.Argument(metavar="FIELD=VALUE", help="Such as quantity=25; price= for none.")
]


@app.command()
def edit(
    trade_id: Id,
    changes: Changes,
    as_json: AsJson = False,
    url: Url = HERE,
    token: Token = None,
) -> None:
    """Correct values of a trade; it waits for approval again.

    docmill trades edit 6f0a1b2c-4d53-4e0e-9c6d-5b9a1f110b0e quantity=25 isin=DE0007236101
    """
    body = _parse_changes(changes)
    edited = ask_once(url, token, "PATCH", f"{PATH}/{trade_id}", json=body)
    _print_edited(edited, as_json=as_json)


@app.command()
def add(
    document: Annotated[str, typer.Argument(metavar="DOCUMENT", help="A document's id.")],
    changes: Changes,
    as_json: AsJson = False,
    url: Url = HERE,
    token: Token = None,
) -> None:
    """Add a trade that docmill did not find in a document.

    docmill trades add 6f0a1b2c-4d53-4e0e-9c6d-5b9a1f110b0e direction=buy name="SIEMENS AG"
    """
    path, body = f"/api/documents/{document}/trades", _parse_changes(changes)
    added = ask_once(url, token, "POST", path, json=body)
    _print_edited(added, as_json=as_json)


def _parse_changes(changes: Iterable[str]) -> dict[str, str | None]:
    """What is empty means none."""
    found: dict[str, str | None] = {}
    for change in changes:
        name, equals, value = change.partition("=")
        if not equals or not name:
            raise typer.BadParameter(f"{change}: not FIELD=VALUE", param_hint="FIELD=VALUE")
        found[name.strip()] = value.strip() or None
    return found


def _print_edited(trade: Mapping[str, Any], *, as_json: bool) -> None:
    if as_json:
        say_json(trade)
        return
    say(f"{trade['id']} {trade['review_status']}")
    for name, reason in trade["doubts"].items():
        say(f"  {name}: {reason}")


def _judge(client: RemoteClient, ids: list[str], verb: str, *, as_json: bool) -> None:
    judged = asyncio.run(_judge_all(client, ids, verb))
    if as_json:
        say_json(judged)
        return
    for trade in judged:
        say(f"{trade['id']} {trade['review_status']}")


async def _judge_all(client: RemoteClient, ids: list[str], verb: str) -> list[dict[str, Any]]:
    async with client:
        return [await client.ask("POST", f"{PATH}/{one}/{verb}") for one in ids]


@app.command()
def export(
    output: Output = None,
    status: StatusOption = None,
    direction: Direction = None,
    search: SearchOption = None,
    since: Since = None,
    until: Until = None,
    url: Url = HERE,
    token: Token = None,
) -> None:
    """Write trades as CSV. No cell is a formula.

    docmill trades export --status approved -o trades.csv
    """
    only = _filter_params(status, direction, search, since, until)
    table = asyncio.run(_fetch_csv(RemoteClient(url, token), only))
    with open_output(output) as file:
        file.write(table)


async def _fetch_csv(client: RemoteClient, only: dict[str, str]) -> bytes:
    async with client:
        return await client.fetch("GET", f"{PATH}/export.csv", params=only)


def print_trades(trades: Iterable[Mapping[str, Any]]) -> None:
    table = make_table(
        "ID", "Date", "Side", "Security", "Quantity", "Price", "Notional", "Confidence", "Review"
    )
    for column in table.columns[4:8]:
        column.justify = "right"
    for trade in trades:
        table.add_row(
            trade["id"],
            trade["trade_date"] or "-",
            trade["direction"],
            (trade["name"] or trade["isin"] or "-")[:32],
            trade["quantity"] or "-",
            trade["price"] or "-",
            f"{trade['notional'] or '-'} {trade['currency'] or ''}".strip(),
            f"{100 * trade['confidence_score']:.0f} %",
            trade["review_status"],
        )
    print_table(table)


def print_trade(trade: Mapping[str, Any], pdf: Mapping[str, Any]) -> None:
    evidence: dict[str, dict[str, Any]] = trade["raw_extracted_data"].get("evidence") or {}
    facts = make_table("Field", "Value", "Confidence")
    for name, value in trade.items():
        if name not in {"raw_extracted_data", "audit", "doubts"} and value is not None:
            sure = evidence[name]["confidence"] if name in evidence else None
            facts.add_row(name, str(value), f"{100 * sure:.0f} %" if sure is not None else "")
    for name, reason in trade["doubts"].items():
        facts.add_row("check", f"{name}: {reason}", "")
    facts.add_row("pdf_url", pdf["pdf_url"], "")
    print_table(facts)
    history = make_table("At", "Who", "Did")
    for line in trade["audit"]:
        history.add_row(format_time(line["at"]), line["who"], _describe_action(line))
    print_table(history)


def _describe_action(line: Mapping[str, Any]) -> str:
    if line["action"] != "edited":
        return line["action"]
    changes = [
        f"{name}: {line['before'].get(name)} -> {value}" for name, value in line["after"].items()
    ]
    return f"edited {', '.join(changes)}"
