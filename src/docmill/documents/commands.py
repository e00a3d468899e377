"""docmill documents and objects: what came to a running docmill, and how each stands."""

import asyncio
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Final

import typer
from rich.filesize import decimal
from rich.text import Text

from docmill.cli.console import out, say, say_json
from docmill.cli.options import AsJson, Limit
from docmill.cli.remote import RemoteClient, Token, Url, ask_once, list_rows
from docmill.cli.tables import STYLES, format_age, make_table, print_rows, print_table
from docmill.client.asynchronous import HERE
from docmill.core.documents import DocumentState

PATH: Final = "/api/bucket/objects"
DOCUMENTS: Final = "/api/documents"
STATES: Final = ", ".join(DocumentState)
ObjectState = Annotated[
    str | None,
    typer.Option(help="Only these: registered, refused, queued, archived, failed, gone."),
]


def list_objects(
    state: ObjectState = None,
    limit: Limit = 50,
    as_json: AsJson = False,
    url: Url = HERE,
    token: Token = None,
) -> None:
    """List objects from the bucket with their state, and why they were rejected.

    docmill objects --state failed

    docmill objects --limit 0 --json | jq -r '.[] | select(.code == "NOT_PDF") | .key'
    """
    found = list_rows(url, token, PATH, limit, state=state)
    if as_json:
        say_json(found)
    elif found:
        print_objects(found)
    else:
        say("No objects. Drop a PDF into incoming/ of the bucket.")


def print_objects(objects: Iterable[Mapping[str, Any]]) -> None:
    table = make_table("ID", "AGE", "FILE", "SIZE", "STATE", "")
    table.columns[3].justify = "right"
    for each in objects:
        table.add_row(
            each["id"][:8] if out.is_terminal else each["id"],
            format_age(each["registered_at"]),
            Text(each["filename"]),
            decimal(each["bytes"]),
            Text(each["state"], STYLES.get(each["state"], "")),
            Text(f"{each['reason']} ({each['code']})" if each["code"] else ""),
        )
    print_table(table)


def list_documents(
    state: Annotated[str | None, typer.Option(help=f"Only these: {STATES}.")] = None,
    counts: Annotated[bool, typer.Option("--counts", help="How many are in each state.")] = False,
    limit: Limit = 50,
    as_json: AsJson = False,
    url: Url = HERE,
    token: Token = None,
) -> None:
    """List documents with their state, the reason and the number of tries; newest first.

    docmill documents --state no_trades

    docmill documents --counts
    """
    if counts:
        _print_counts(ask_once(url, token, "GET", f"{DOCUMENTS}/counts"), as_json=as_json)
        return
    found = list_rows(url, token, DOCUMENTS, limit, status=state)
    if as_json:
        say_json(found)
    elif found:
        print_documents(found)
    else:
        say("No documents." if state is None else f"No documents that are {state}.")


def _print_counts(counts: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        say_json(counts)
    else:
        print_rows(("state", "documents"), [*counts["states"].items(), ("all", counts["total"])])


def print_documents(documents: Iterable[Mapping[str, Any]]) -> None:
    table = make_table("ID", "AGE", "FILE", "SIZE", "STATE", "TRIES", "")
    table.columns[3].justify = table.columns[5].justify = "right"
    for each in documents:
        code = f" ({each['error_code']})" if each["error_code"] else ""
        table.add_row(
            each["document_id"][:8] if out.is_terminal else each["document_id"],
            format_age(each["received_at"]),
            Text(each["original_filename"]),
            decimal(each["bytes"]),
            Text(each["state"], STYLES.get(each["state"], "")),
            str(each["attempts"]),
            Text(f"{each['reason'] or ''}{code}"),
        )
    print_table(table)


def reprocess(
    status: Annotated[
        str | None, typer.Option(help=f"Only documents in this state: {STATES}.")
    ] = None,
    pipeline: Annotated[str | None, typer.Option(help="Only of this pipeline.")] = None,
    source: Annotated[str | None, typer.Option(help="Only from upload, api or bucket.")] = None,
    error: Annotated[
        str | None, typer.Option(help="Only those that failed with this code.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=500, help="How many at most.")] = 500,
    wait: Annotated[bool, typer.Option("--wait", help="Wait until all are done.")] = False,
    as_json: AsJson = False,
    url: Url = HERE,
    token: Token = None,
) -> None:
    """Read stored documents again, each with a new job.

    Trades that nobody reviewed are replaced; reviewed ones stay.

    docmill reprocess --pipeline trades --status failed --wait
    """
    wish = {"status": status, "pipeline": pipeline, "source": source, "error_code": error}
    given: dict[str, Any] = {name: value for name, value in wish.items() if value}
    batch = asyncio.run(
        _start_reprocess(RemoteClient(url, token), {**given, "limit": limit}, wait=wait)
    )
    if as_json:
        say_json(batch)
    else:
        done = f"{batch['complete']} done, {batch['failed']} failed"
        say(f"{batch['id']}: {batch['total']} documents, {done}.")


async def _start_reprocess(
    client: RemoteClient, wish: dict[str, Any], *, wait: bool
) -> dict[str, Any]:
    async with client:
        batch = await client.ask("POST", "/api/reprocess", json=wish)
        while wait and batch["status"] != "complete":
            await asyncio.sleep(1)
            batch = await client.ask("GET", f"/api/reprocess/{batch['id']}")
        return batch
