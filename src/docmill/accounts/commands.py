"""docmill keys: keys for programs."""

import asyncio
from typing import Annotated, Any, Final
from urllib.parse import quote

import typer

from docmill.cli.console import say, say_json
from docmill.cli.options import AsJson
from docmill.cli.remote import RemoteClient, Token, Url, ask_once
from docmill.client.asynchronous import HERE

app = typer.Typer(
    name="keys",
    help="Keys for programs: make, list and revoke them.",
    no_args_is_help=True,
    add_completion=False,
)
KEYS: Final = "/api/keys"


@app.command("create")
def create_key(
    name: Annotated[str, typer.Argument(help="What it is for.")],
    scope: Annotated[
        list[str] | None,
        typer.Option(help="read, write or admin; several times for several. Default: read, write."),
    ] = None,
    days: Annotated[int | None, typer.Option(min=1, help="How long it is good.")] = None,
    as_json: AsJson = False,
    url: Url = HERE,
    token: Token = None,
) -> None:
    """Make a key. It is printed this once, and kept nowhere.

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
    """List your keys, the newest first."""
    found = ask_once(url, token, "GET", KEYS)["keys"]
    if as_json:
        say_json(found)
        return
    for key in found:
        used, ends = key["last_used_at"] or "never", key["expires_at"] or "never"
        say(f"{key['id']}  {key['hint']}…  {','.join(key['scopes'])}  {key['name']}")
        say(f"{'':<38}last used {used}, expires {ends}")
    if not found:
        say("No keys. `docmill keys create NAME` makes one.")


@app.command("revoke")
def revoke_keys(
    ids: Annotated[list[str], typer.Argument(metavar="ID...", help="As `keys list` shows them.")],
    as_json: AsJson = False,
    url: Url = HERE,
    token: Token = None,
) -> None:
    """Revoke keys; they are refused from now on."""
    asyncio.run(_delete_all(RemoteClient(url, token), KEYS, ids))
    if as_json:
        say_json({"revoked": ids})
    else:
        say(f"{len(ids)} revoked.")


async def _delete_all(client: RemoteClient, path: str, ids: list[str]) -> None:
    async with client:
        for each in ids:
            await client.fetch("DELETE", f"{path}/{quote(each, safe='')}")
