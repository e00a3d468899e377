"""docmill keys: keys for programs."""

import asyncio
from typing import Annotated, Any, Final
from urllib.parse import quote

import typer
from rich.text import Text

from docmill.cli.console import say, say_json
from docmill.cli.options import AsJson
from docmill.cli.remote import RemoteClient, Token, Url, ask_once
from docmill.cli.tables import format_time, make_table, print_table
from docmill.client.asynchronous import HERE

app = typer.Typer(
    name="keys",
    help="Keys for programs: create, list and revoke them.",
    no_args_is_help=True,
    add_completion=False,
)
KEYS: Final = "/api/keys"


@app.command("create")
def create_key(
    name: Annotated[str, typer.Argument(help="What it is for.")],
    scope: Annotated[
        list[str] | None,
        typer.Option(help="read, write or admin; may be repeated. Default: read, write."),
    ] = None,
    days: Annotated[int | None, typer.Option(min=1, help="Days until it expires.")] = None,
    as_json: AsJson = False,
    url: Url = HERE,
    token: Token = None,
) -> None:
    """Create a key. It is printed only once; docmill keeps only its hash.

    docmill keys create "nightly import" --scope read --days 90

    curl -H "Authorization: Bearer $(docmill keys create script)" http://127.0.0.1:8000/api/jobs
    """
    wish: dict[str, Any] = {"name": name}
    wish |= {"scopes": scope} if scope else {}
    wish |= {"expires_days": days} if days else {}
    made = ask_once(url, token, "POST", KEYS, json=wish)
    if as_json:
        say_json(made)
    else:
        say(made["key"])


@app.command("list")
def list_keys(as_json: AsJson = False, url: Url = HERE, token: Token = None) -> None:
    """List your keys, newest first."""
    found = ask_once(url, token, "GET", KEYS)["keys"]
    if as_json:
        say_json(found)
        return
    if not found:
        say("No keys. `docmill keys create NAME` makes one.")
        return
    table = make_table("ID", "KEY", "SCOPES", "LAST USED", "EXPIRES", "NAME")
    for key in found:
        times = [
            format_time(key[name])[:16] if key[name] else "never"
            for name in ("last_used_at", "expires_at")
        ]
        table.add_row(
            key["id"], f"{key['hint']}…", ",".join(key["scopes"]), *times, Text(key["name"])
        )
    print_table(table)


@app.command("revoke")
def revoke_keys(
    ids: Annotated[list[str], typer.Argument(metavar="ID...", help="As in `docmill keys list`.")],
    as_json: AsJson = False,
    url: Url = HERE,
    token: Token = None,
) -> None:
    """Revoke keys. They stop working at once."""
    asyncio.run(_delete_all(RemoteClient(url, token), KEYS, ids))
    if as_json:
        say_json({"revoked": ids})
    else:
        say(f"{len(ids)} revoked.")


async def _delete_all(client: RemoteClient, path: str, ids: list[str]) -> None:
    async with client:
        for each in ids:
            await client.fetch("DELETE", f"{path}/{quote(each, safe='')}")
