"""docmill mapping assign, revoke and assignments: a mapping goes to some owners first."""

import asyncio
from collections.abc import Iterable, Mapping
from typing import Annotated, Any
from urllib.parse import quote

import typer

from docmill.cli.console import say, say_json
from docmill.cli.options import AsJson
from docmill.cli.remote import RemoteClient, Token, Url
from docmill.cli.tables import format_age, make_table, print_table
from docmill.client.asynchronous import HERE

PATH = "/api/mappings"
Name = Annotated[str, typer.Argument(metavar="NAME", help="A mapping.")]


def assign(
    name: Name,
    owner: Annotated[
        str | None, typer.Option(help="To this one: user:ann, desk:trading ...")
    ] = None,
    percent: Annotated[
        int | None, typer.Option(min=1, max=100, help="To this percentage of all owners.")
    ] = None,
    url: Url = HERE,
    token: Token = None,
) -> None:
    """Make a mapping the default of some owners.

    A percentage always selects the same owners, and keeps them when it grows.

    docmill mapping assign our_invoice_v2 --owner user:ann

    docmill mapping assign our_invoice_v2 --percent 10
    """
    if (owner is None) == (percent is None):
        raise typer.BadParameter("Give --owner or --percent, and not both.")
    wish = {"owner": owner} if owner else {"percent": percent}
    asyncio.run(_ask(RemoteClient(url, token), "POST", f"/{quote(name)}/assignments", json=wish))
    say(f"{name} goes to {owner or f'{percent} % of all owners'}.")


def revoke(name: Name, url: Url = HERE, token: Token = None) -> None:
    """Take a mapping back from all owners it was assigned to. They get the default again.

    docmill mapping revoke our_invoice_v2
    """
    asyncio.run(_ask(RemoteClient(url, token), "DELETE", f"/{quote(name)}/assignments"))
    say(f"{name} is given to nobody; it can still be asked for by name.")


def assignments(as_json: AsJson = False, url: Url = HERE, token: Token = None) -> None:
    """List who assigned which mapping to whom, and when it was revoked; newest first."""
    found = asyncio.run(_ask(RemoteClient(url, token), "GET", "/assignments"))["assignments"]
    if as_json:
        say_json(found)
    elif found:
        _print_assignments(found)
    else:
        say("No mapping was assigned. Whoever asks for none gets the default.")


async def _ask(client: RemoteClient, method: str, path: str, **given: Any) -> Any:
    async with client:
        return await client.ask(method, PATH + path, **given)


def _print_assignments(found: Iterable[Mapping[str, Any]]) -> None:
    table = make_table("MAPPING", "TO", "AGE", "BY", "REVOKED")
    for each in found:
        revoked = each["revoked_at"]
        table.add_row(
            each["mapping"],
            each["owner"] or f"{each['percent']} %",
            format_age(each["assigned_at"]),
            each["assigned_by"],
            f"{format_age(revoked)} ago by {each['revoked_by']}" if revoked else "",
        )
    print_table(table)
