"""docmill settings: what you have set, and a change of some of it."""

import asyncio
from typing import Annotated, Any, Final

import typer

from docmill.cli.console import say, say_json
from docmill.cli.options import AsJson
from docmill.cli.remote import RemoteClient, Token, Url, ask_once
from docmill.client.asynchronous import HERE
from docmill.owners.fields import BY_NAME, FIELDS, SettingKind

app = typer.Typer(
    name="settings",
    help="Your settings: company details, exchange rates, defaults.",
    no_args_is_help=True,
    add_completion=False,
)
ADDRESS: Final = "/api/settings"
CALIBRATED: Final = {"invoices": "/api/reviews/calibrate", "trades": "/api/trades/calibrate"}


@app.command()
def show(as_json: AsJson = False, url: Url = HERE, token: Token = None) -> None:
    """Show your settings."""
    _print(ask_once(url, token, "GET", ADDRESS), as_json=as_json)


@app.command("set")
def set_values(
    values: Annotated[
        list[str], typer.Argument(metavar="KEY=VALUE", help="What to set; KEY= removes it.")
    ],
    as_json: AsJson = False,
    url: Url = HERE,
    token: Token = None,
) -> None:
    """Change settings; the others stay. They apply to jobs you submit from now on.

    A rate applies to every day, or to one day and the days after it.

    docmill settings set tin=01.234.567.8-901.000 name="PT Simon"

    docmill settings set rates.USD=16250 rates.EUR.2025-03-14=17600

    docmill settings set mapping=ubl_invoice_v1 review_threshold=0.9 country=
    """
    changes: dict[str, Any] = {}
    for value in values:
        _add_change(changes, value)
    changed = ask_once(url, token, "PATCH", ADDRESS, json=changes)
    _print(changed, as_json=as_json)


def _add_change(changes: dict[str, Any], text: str) -> None:
    key, found, given = text.partition("=")
    name, *rest = key.strip().split(".")
    if not found or name not in BY_NAME:
        known = ", ".join(one.name for one in FIELDS if one.name != "daily_rates")
        says = f"{text!r} is not KEY=VALUE with a KEY of {known}."
        raise typer.BadParameter(says, param_hint="KEY=VALUE")
    value: str | float | None = given.strip() or None
    if value is not None and BY_NAME[name].kind is SettingKind.PERCENT:
        value = _read_share(given)
    match rest:
        case []:
            changes[name] = value
        case [currency]:
            changes.setdefault("rates", {})[currency.upper()] = value
        case _:
            days = changes.setdefault("daily_rates", {}).setdefault(rest[0].upper(), {})
            days[".".join(rest[1:])] = value


def _read_share(text: str) -> float:
    try:
        return float(text)
    except ValueError as exc:
        raise typer.BadParameter(f"{text!r} is no number like 0.8.", param_hint="VALUE") from exc


def _print(found: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        say_json(found)
        return
    for name in BY_NAME:
        if BY_NAME[name].kind is not SettingKind.RATES:
            say(f"{name:<24}{'-' if found[name] in ('', None) else found[name]}")
    for currency, rupiah in found["rates"].items():
        say(f"{f'rates.{currency}':<24}{rupiah}")
    for currency, days in found["daily_rates"].items():
        for day, rupiah in days.items():
            say(f"{f'rates.{currency}.{day}':<24}{rupiah}")


def calibrate(as_json: AsJson = False, url: Url = HERE, token: Token = None) -> None:
    """Calibrate confidence with what your people approved and changed.

    This also happens every night, if there are enough reviews.

    docmill calibrate
    """
    done = asyncio.run(_calibrate(RemoteClient(url, token)))
    if as_json:
        say_json(done)
        return
    for noun, each in done.items():
        if each["kept"]:
            say(f"{noun}: fitted to {each['values']} values of {each['reviews']} reviews.")
        else:
            needed = f"{each['enough']} are needed. Nothing was changed."
            say(f"{noun}: {each['reviews']} reviews; {needed}")


async def _calibrate(client: RemoteClient) -> dict[str, dict[str, Any]]:
    async with client:
        return {noun: await client.ask("POST", path) for noun, path in CALIBRATED.items()}
