"""docmill search: passages of your documents, by meaning and by words."""

from typing import Annotated

import typer

from docmill.cli.console import out, say, say_json
from docmill.cli.remote import Token, Url, ask_once
from docmill.client.asynchronous import HERE


def search(
    words: Annotated[list[str], typer.Argument(metavar="WORDS", help="A question, or some words.")],
    limit: Annotated[int, typer.Option(min=1, max=100, help="Passages at most.")] = 5,
    document: Annotated[str | None, typer.Option(help="Only in the document with this id.")] = None,
    filename: Annotated[
        str | None, typer.Option(help="Only in files with this in their name.")
    ] = None,
    since: Annotated[
        str | None, typer.Option(help="Only in documents received since, like 2026-01-31.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the answer as JSON.")] = False,
    url: Url = HERE,
    token: Token = None,
) -> None:
    """Find passages in your documents, by meaning and by words.

    docmill search when does the contract end

    docmill search "total net amount" --filename invoice --json
    """
    params = {"q": " ".join(words), "limit": limit, "document": document}
    params |= {"filename": filename, "since": since}
    given = {name: value for name, value in params.items() if value}
    answer = ask_once(url, token, "GET", "/api/search", params=given)
    if as_json:
        say_json(answer)
        return
    for hit in answer["hits"]:
        out.print(f"{hit['filename']}, page {hit['page']}", style="bold", markup=False)
        say(hit["text"] + "\n")
    if not answer["hits"]:
        say("Nothing found.")
