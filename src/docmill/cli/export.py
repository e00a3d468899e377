"""docmill export: several complete jobs as one file."""

import asyncio
from typing import Annotated, Any

import typer

from docmill.cli.client import HERE, Client, Refused, Token, Url
from docmill.cli.jobs import Ids, whole
from docmill.cli.output import Output, opened


def export(
    ids: Ids,
    output: Output = None,
    mapping: Annotated[str | None, typer.Option(help="Which XML; default: the jobs' own.")] = None,
    url: Url = HERE,
    token: Token = None,
) -> None:
    """Write several complete invoices of one seller as one file.

    docmill export 3f2a 77b1 -o coretax.xml
    """
    xml = asyncio.run(_export(Client(url, token), ids, mapping))
    with opened(output) as file:
        file.write(xml)


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
