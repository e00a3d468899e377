"""docmill sessions: who is there, and ending it. For operators: it asks the database itself."""

import asyncio
from dataclasses import asdict
from typing import Annotated, Any

import psycopg
import typer

from docmill.accounts import queries
from docmill.cli.console import say, say_json
from docmill.cli.options import AsJson, Data
from docmill.cli.tables import format_age
from docmill.core.faults import CommandError
from docmill.core.owners import user
from docmill.db import audit
from docmill.db.audit import AuditedAction
from docmill.processes.database import find_database
from docmill.processes.receipts import name_operator
from docmill.settings import read_settings

app = typer.Typer(
    name="sessions",
    help="List and end sessions, signed in or anonymous.",
    no_args_is_help=True,
    add_completion=False,
)


@app.command("list")
def list_sessions(
    limit: Annotated[int, typer.Option(min=1, help="How many.")] = 100,
    as_json: AsJson = False,
    data: Data = None,
) -> None:
    """List active sessions, last seen first."""
    found = asyncio.run(_list(find_database(read_settings(data=data)), limit))
    if as_json:
        say_json(found)
        return
    for each in found:
        who = each["name"] or each["owner"]
        say(f"{each['id']}  {format_age(each['seen_at'].isoformat())}  {who}")
    if not found:
        say("No sessions.")


async def _list(url: str, limit: int) -> list[dict[str, Any]]:
    async with await psycopg.AsyncConnection.connect(url) as conn:
        return [asdict(each) for each in await queries.list_sessions(conn, limit)]


@app.command("end")
def end_sessions(
    ids: Annotated[
        list[str] | None, typer.Argument(metavar="ID...", help="As in `docmill sessions list`.")
    ] = None,
    of_user: Annotated[
        list[str] | None, typer.Option("--user", help="All sessions of this user (sub).")
    ] = None,
    keys: Annotated[bool, typer.Option("--keys", help="Also revoke the keys of --user.")] = False,
    as_json: AsJson = False,
    data: Data = None,
) -> None:
    """End sessions: their cookies stop working within 2 seconds. Documents stay.

    docmill sessions end 5f0c…

    docmill sessions end --user ann --keys
    """
    if not ids and not of_user:
        raise typer.BadParameter("Give an ID, or --user.")
    url = find_database(read_settings(data=data))
    done = asyncio.run(_end(url, ids or [], of_user or [], keys=keys))
    if as_json:
        say_json(done)
    else:
        say(f"{done['sessions']} sessions ended, {done['keys']} keys revoked.")


async def _end(url: str, ids: list[str], subjects: list[str], *, keys: bool) -> dict[str, int]:
    ended = revoked = 0
    async with await psycopg.AsyncConnection.connect(url) as conn:
        await audit.name_actor(conn, name_operator())
        for session_id in ids:
            gone = len(await queries.end_session(conn, session_id))
            if not gone:
                raise CommandError(
                    f"There is no session {session_id}.\n`docmill sessions list` shows them."
                )
            ended += gone
            done = AuditedAction(name_operator(), "session.end", f"session:{session_id}")
            await audit.record(conn, done, after={"ended": gone})
        for subject in subjects:
            owner = user(subject).key
            gone = len(await queries.end_sessions_of(conn, owner))
            done = AuditedAction(name_operator(), "session.end", f"owner:{owner}")
            await audit.record(conn, done, after={"ended": gone})
            ended += gone
            revoked += await queries.revoke_keys(conn, owner) if keys else 0
    return {"sessions": ended, "keys": revoked}
