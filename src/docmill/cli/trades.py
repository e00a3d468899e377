"""docmill trades: the trades a running docmill has read; and documents read again."""

import asyncio
from typing import Annotated, Any, Final

import typer

from docmill.cli import tables
from docmill.cli.client import HERE, LARGEST_PAGE, Client, Token, Url
from docmill.cli.console import say, say_json
from docmill.cli.output import Output, opened

app = typer.Typer(
    name="trades",
    help="Trades read from broker notes.",
    no_args_is_help=True,
    add_completion=False,
)
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Id = Annotated[str, typer.Argument(metavar="ID", help="A trade's id.")]
Ids = Annotated[list[str], typer.Argument(metavar="ID", help="Ids of trades.")]
Status = Annotated[
    str | None, typer.Option(help="Only these: pending (waiting for review), approved, rejected.")
]
Direction = Annotated[str | None, typer.Option(help="Only buy, or only sell.")]
Search = Annotated[
    str | None, typer.Option("--search", "-s", help="Part of a name, ISIN, broker or file name.")
]
Since = Annotated[str | None, typer.Option(help="Traded on this day or later: 2024-03-04.")]
Until = Annotated[str | None, typer.Option(help="Traded on this day or before.")]
PATH: Final = "/api/trades"


@app.command("list")
def list_(
    status: Status = None,
    direction: Direction = None,
    search: Search = None,
    since: Since = None,
    until: Until = None,
    limit: Annotated[int, typer.Option(min=0, help="How many; 0 for all.")] = 50,
    as_json: AsJson = False,
    url: Url = HERE,
    token: Token = None,
) -> None:
    """List trades, newest first.

    docmill trades list --status pending

    docmill trades list --search siemens --json | jq -r '.[].isin'
    """
    only = _only(status, direction, search, since, until)
    found = asyncio.run(_list(Client(url, token), limit, only))
    if as_json:
        say_json(found)
    elif found:
        tables.show_trades(found)
    else:
        say("No trades. `docmill submit --pipeline trades FILE` reads broker notes.")


def _only(
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


async def _list(client: Client, limit: int, only: dict[str, str]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    cursor: dict[str, str] = {}
    async with client:
        while not limit or len(found) < limit:
            size = min(limit - len(found), LARGEST_PAGE) if limit else LARGEST_PAGE
            asked = {**only, **cursor, "limit": str(size)}
            page = await client.ask("GET", PATH, params=asked)
            found += page["trades"]
            if not page["next_cursor"]:
                break
            cursor = {"cursor": page["next_cursor"]}
    return found


@app.command()
def show(id: Id, as_json: AsJson = False, url: Url = HERE, token: Token = None) -> None:  # noqa: A002
    """Show one trade: its values, how sure they are, its history, and where its PDF is.

    docmill trades show 6f0a1b2c-4d53-4e0e-9c6d-5b9a1f110b0e
    """
    trade, pdf = asyncio.run(_one(Client(url, token), id))
    if as_json:
        say_json({**trade, "pdf": pdf})
    else:
        tables.show_trade(trade, pdf)


async def _one(client: Client, trade_id: str) -> tuple[dict[str, Any], dict[str, Any]]:
    async with client:
        trade = await client.ask("GET", f"{PATH}/{trade_id}")
        return trade, await client.ask("GET", f"{PATH}/{trade_id}/pdf")


@app.command()
def approve(ids: Ids, as_json: AsJson = False, url: Url = HERE, token: Token = None) -> None:
    """Say that trades are right."""
    _judge(Client(url, token), ids, "approve", as_json=as_json)


@app.command()
def reject(ids: Ids, as_json: AsJson = False, url: Url = HERE, token: Token = None) -> None:
    """Say that trades are wrong, or none."""
    _judge(Client(url, token), ids, "reject", as_json=as_json)


def _judge(client: Client, ids: list[str], verb: str, *, as_json: bool) -> None:
    judged = asyncio.run(_judged(client, ids, verb))
    if as_json:
        say_json(judged)
        return
    for trade in judged:
        say(f"{trade['id']} {trade['review_status']}")


async def _judged(client: Client, ids: list[str], verb: str) -> list[dict[str, Any]]:
    async with client:
        return [await client.ask("POST", f"{PATH}/{one}/{verb}") for one in ids]


@app.command()
def export(
    output: Output = None,
    status: Status = None,
    direction: Direction = None,
    search: Search = None,
    since: Since = None,
    until: Until = None,
    url: Url = HERE,
    token: Token = None,
) -> None:
    """Write trades as CSV; no cell of it is a formula.

    docmill trades export --status approved -o trades.csv
    """
    only = _only(status, direction, search, since, until)
    table = asyncio.run(_export(Client(url, token), only))
    with opened(output) as file:
        file.write(table)


async def _export(client: Client, only: dict[str, str]) -> bytes:
    async with client:
        return await client.fetch("GET", f"{PATH}/export.csv", params=only)


def reprocess(
    status: Annotated[
        str | None, typer.Option(help="Only documents whose latest job is failed, complete ...")
    ] = None,
    pipeline: Annotated[str | None, typer.Option(help="Only of this pipeline.")] = None,
    source: Annotated[str | None, typer.Option(help="Only from upload, api or bucket.")] = None,
    error: Annotated[
        str | None, typer.Option(help="Only those that failed with this code.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=500, help="How many at most.")] = 500,
    wait: Annotated[bool, typer.Option("--wait", help="Come back when all are done.")] = False,
    as_json: AsJson = False,
    url: Url = HERE,
    token: Token = None,
) -> None:
    """Read documents again that are already here, each by a new job.

    Trades that nobody reviewed are replaced by what is read now; reviewed ones stay.

    docmill reprocess --pipeline trades --status failed --wait
    """
    wish = {"status": status, "pipeline": pipeline, "source": source, "error_code": error}
    given: dict[str, Any] = {name: value for name, value in wish.items() if value}
    batch = asyncio.run(_reprocess(Client(url, token), {**given, "limit": limit}, wait=wait))
    if as_json:
        say_json(batch)
    else:
        done = f"{batch['complete']} done, {batch['failed']} failed"
        say(f"{batch['id']}: {batch['total']} documents, {done}.")


async def _reprocess(client: Client, wish: dict[str, Any], *, wait: bool) -> dict[str, Any]:
    async with client:
        batch = await client.ask("POST", "/api/reprocess", json=wish)
        while wait and batch["status"] != "complete":
            await asyncio.sleep(1)
            batch = await client.ask("GET", f"/api/reprocess/{batch['id']}")
        return batch
