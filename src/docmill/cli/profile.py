"""docmill profile: what a running docmill knows of you, for what your documents do not print."""

import asyncio
from typing import Annotated, Any, Final

import typer

from docmill.cli.client import HERE, Client, Token, Url
from docmill.cli.console import say, say_json

app = typer.Typer(
    name="profile",
    help="The seller's identity and defaults.",
    no_args_is_help=True,
    add_completion=False,
)
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
PATH: Final = "/api/profile"
RATES: Final = "rates"


@app.command()
def show(as_json: AsJson = False, url: Url = HERE, token: Token = None) -> None:
    """Show what is known of you."""
    _print(asyncio.run(_show(Client(url, token))), as_json=as_json)


async def _show(client: Client) -> dict[str, Any]:
    async with client:
        return await client.ask("GET", PATH)


@app.command("set")
def set_profile(
    values: Annotated[
        list[str], typer.Argument(metavar="KEY=VALUE", help="What to keep; KEY= forgets it.")
    ],
    as_json: AsJson = False,
    url: Url = HERE,
    token: Token = None,
) -> None:
    """Tell about yourself; what is not named stays. Jobs sent from now on take it along.

    docmill profile set tin=01.234.567.8-901.000 trx_code=04

    docmill profile set rates.USD=16250 country=
    """
    given = dict(_pair(value) for value in values)
    _print(asyncio.run(_set(Client(url, token), given)), as_json=as_json)


def _pair(text: str) -> tuple[str, str]:
    name, found, value = text.partition("=")
    if not found or not name:
        raise typer.BadParameter(f"{text!r} is not KEY=VALUE.", param_hint="KEY=VALUE")
    return name.strip(), value.strip()


async def _set(client: Client, given: dict[str, str]) -> dict[str, Any]:
    async with client:
        told = await client.ask("GET", PATH)
        rates = dict(told[RATES])
        for name, value in given.items():
            of_rate = name.startswith(f"{RATES}.")
            (rates if of_rate else told)[_key(name)] = value
        told[RATES] = {currency: rate for currency, rate in rates.items() if rate}
        return await client.ask("PUT", PATH, json=told)


def _key(name: str) -> str:
    return name.removeprefix(f"{RATES}.").upper() if name.startswith(f"{RATES}.") else name


def _print(profile: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        say_json(profile)
        return
    rates = {f"{RATES}.{currency}": rate for currency, rate in profile[RATES].items()}
    for name, value in {**profile, **rates}.items():
        if name != RATES:
            say(f"{name:<16}{value or '-'}")
