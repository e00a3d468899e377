"""docmill export: several complete jobs as one file."""

import asyncio
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any

import typer

from docmill.cli.client import HERE, Client, Refused, Token, Url
from docmill.cli.files import written_whole
from docmill.cli.jobs import Ids, whole


def export(
    ids: Ids,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", dir_okay=False, help="File to write; whole or not at all."),
    ] = None,
    mapping: Annotated[str | None, typer.Option(help="Which XML; default: the jobs' own.")] = None,
    url: Url = HERE,
    token: Token = None,
) -> None:
    """Write several complete invoices of one seller as one file.

    docmill export 3f2a 77b1 -o coretax.xml
    """
    if output and not output.absolute().parent.is_dir():
        raise typer.BadParameter(f"There is no folder for {output}.", param_hint="--output")
    xml = asyncio.run(_export(Client(url, token), ids, mapping))
    try:
        with written_whole(output) if output else nullcontext(sys.stdout.buffer) as file:
            file.write(xml)
            file.flush()
    except OSError as exc:
        if output is None:
            raise
        says = f"{output} can't be written: {exc.strerror}."
        raise Refused(says, "Choose another place with --output.") from exc


async def _export(client: Client, ids: list[str], mapping: str | None) -> bytes:
    async with client:
        wish: dict[str, Any] = {"jobs": [await whole(client, given) for given in ids]}
        if mapping:
            wish["mapping"] = mapping
        try:
            return await client.fetch("POST", "/api/exports", json=wish)
        except Refused as exc:
            if not exc.jobs:
                raise
            says = f"{exc.says} It is about {', '.join(exc.jobs)}."
            raise Refused(says, exc.advice, code=exc.code) from exc
