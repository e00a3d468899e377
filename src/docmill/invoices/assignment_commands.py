"""docmill mapping assign, revoke and assignments: a mapping goes to some owners first."""

from collections.abc import Iterable, Mapping
from typing import Annotated, Any
from urllib.parse import quote

import typer

from docmill.cli.console import say, say_json
from docmill.cli.options import AsJson
from docmill.cli.remote import Token, Url, ask_once
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
        int | None, typer.Option(min=1, max=100, help="To so many per cent of all owners.")
    ] = None,
    url: Url = HERE,
    token: Token = None,
) -> None:
    """Give a mapping to some owners: it is what they get who ask for none.

    The same owners are in a share whenever it is asked for, and stay in it when it grows.

    docmill mapping assign our_invoice_v2 --owner user:ann

    docmill mapping assign our_invoice_v2 --percent 10
    """
    if (owner is None) == (percent is None):
        raise typer.BadParameter("Give --owner or --percent, and not both.")
    wish = {"owner": owner} if owner else {"percent": percent}
    ask_once(url, token, "POST", f"{PATH}/{quote(name)}/assignments", json=wish)
    say(f"{name} goes to {owner or f'{percent} % of all owners'}.")


def revoke(name: Name, url: Url = HERE, token: Token = None) -> None:
    """Take a mapping back from all who were given it. They get the default again.

    docmill mapping revoke our_invoice_v2
    """
    ask_once(url, token, "DELETE", f"{PATH}/{quote(name)}/assignments")
    say(f"{name} is given to nobody; it can still be asked for by name.")


def assignments(as_json: AsJson = False, url: Url = HERE, token: Token = None) -> None:
    """Which mappings were given to whom, when and by whom, and taken back; newest first."""
    found = ask_once(url, token, "GET", f"{PATH}/assignments")["assignments"]
    if as_json:
        say_json(found)
    elif found:
        _print_assignments(found)
    else:
        say("No mapping was assigned. Whoever asks for none gets the default.")


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
