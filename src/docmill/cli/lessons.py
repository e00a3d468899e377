"""docmill lessons: what corrections taught, and how to forget it."""

import asyncio
from typing import Annotated, Any, Final

import typer

from docmill.cli.client import HERE, Client, Token, Url
from docmill.cli.console import say, say_json

app = typer.Typer(
    name="lessons",
    help="What docmill learned from your corrections.",
    no_args_is_help=True,
    add_completion=False,
)
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
PATH: Final = "/api/lessons"


@app.command("list")
def list_lessons(as_json: AsJson = False, url: Url = HERE, token: Token = None) -> None:
    """List what was learned: the field, the supplier, and the document that taught it."""
    _print(asyncio.run(_ask(Client(url, token), "GET", PATH)), as_json=as_json)


@app.command()
def on(as_json: AsJson = False, url: Url = HERE, token: Token = None) -> None:
    """Learn from corrections, and use what was learned."""
    _switch(Client(url, token), learning=True, as_json=as_json)


@app.command()
def off(as_json: AsJson = False, url: Url = HERE, token: Token = None) -> None:
    """Learn nothing, and use nothing that was learned; it stays until it is forgotten."""
    _switch(Client(url, token), learning=False, as_json=as_json)


@app.command()
def forget(
    id: Annotated[str | None, typer.Argument(metavar="[ID]", help="A lesson's id.")] = None,  # noqa: A002
    everything: Annotated[bool, typer.Option("--all", help="Forget all lessons.")] = False,
    as_json: AsJson = False,
    url: Url = HERE,
    token: Token = None,
) -> None:
    """Forget one lesson, or all of them.

    docmill lessons forget 77b1f0c2-5f0e-4f0e-9d57-0d8a3c1f7e11
    """
    if (id is None) is not everything:
        raise typer.BadParameter("Give the id of a lesson, or --all.", param_hint="ID")
    place = PATH if id is None else f"{PATH}/{id}"
    gone = asyncio.run(_ask(Client(url, token), "DELETE", place))
    if as_json:
        say_json(gone)
    else:
        say(f"Forgotten: {gone['forgotten']}")


def _switch(client: Client, *, learning: bool, as_json: bool) -> None:
    _print(asyncio.run(_ask(client, "PUT", PATH, json={"learning": learning})), as_json=as_json)


async def _ask(client: Client, method: str, path: str, **given: Any) -> dict[str, Any]:
    async with client:
        return await client.ask(method, path, **given)


def _print(found: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        say_json(found)
        return
    say(f"Learning is {'on' if found['learning'] else 'off'}.")
    for each in found["lessons"]:
        about = f"{each['supplier'] or 'unnamed supplier'}, from {each['taught_by']}"
        say(f"{each['id']}  {each['field']:<18} {about}")
