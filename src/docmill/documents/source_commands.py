"""docmill sources: the buckets that a running docmill watches, and their pause."""

import asyncio
from collections.abc import Iterable, Mapping
from typing import Annotated, Any
from urllib.parse import quote

import typer
from rich.text import Text

from docmill.cli.console import say, say_json
from docmill.cli.options import AsJson
from docmill.cli.remote import RemoteClient, Token, Url, ask_once
from docmill.cli.tables import format_age, make_table, print_table
from docmill.client.asynchronous import HERE
from docmill.core.faults import CommandError

app = typer.Typer(
    help="The watched buckets: list, pause, resume.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
Name = Annotated[str, typer.Argument(help="The source's name, as `docmill sources list` shows it.")]


@app.command("list")
def list_sources(as_json: AsJson = False, url: Url = HERE, token: Token = None) -> None:
    """List the sources: bucket, pipeline, desk, whether paused, and when last checked.

    docmill sources list --json | jq '.[] | select(.paused)'
    """
    found = ask_once(url, token, "GET", "/api/sources")["sources"]
    if as_json:
        say_json(found)
    elif found:
        print_sources(found)
    else:
        say("No source. DOCMILL_BUCKET and DOCMILL_SOURCES name the buckets to watch.")


@app.command()
def pause(name: Name, as_json: AsJson = False, url: Url = HERE, token: Token = None) -> None:
    """Pause a source: it takes nothing new. Documents already taken are finished and filed.

    docmill sources pause prime
    """
    _change(name, "pause", as_json=as_json, client=RemoteClient(url, token))


@app.command()
def resume(name: Name, as_json: AsJson = False, url: Url = HERE, token: Token = None) -> None:
    """Resume a source. Files that arrived in the meantime are taken at the next check.

    docmill sources resume prime
    """
    _change(name, "resume", as_json=as_json, client=RemoteClient(url, token))


def _change(name: str, verb: str, *, as_json: bool, client: RemoteClient) -> None:
    source = asyncio.run(_change_source(client, name, verb))
    if as_json:
        say_json(source)
    else:
        state = "paused: it takes nothing new" if source["paused"] else "taking what comes"
        say(f"{source['name']} is {state}.")


async def _change_source(client: RemoteClient, name: str, verb: str) -> Any:
    async with client:
        known = [one["name"] for one in (await client.ask("GET", "/api/sources"))["sources"]]
        if name not in known:
            raise CommandError(f"There is no source {name}.\nThere are: {', '.join(known)}.")
        return await client.ask("POST", f"/api/sources/{quote(name, safe='')}/{verb}")


def print_sources(found: Iterable[Mapping[str, Any]]) -> None:
    table = make_table("NAME", "BUCKET", "PIPELINE", "DESK", "STATE", "LOOKED")
    for each in found:
        state = f"paused by {each['paused_by']}" if each["paused"] else each["problem"] or "taking"
        table.add_row(
            each["name"],
            Text(each["bucket"]),
            each["pipeline"],
            each["desk"],
            Text(state, "yellow" if each["paused"] or each["problem"] else "green"),
            format_age(each["looked_at"]) if each["looked_at"] else "never",
        )
    print_table(table)
