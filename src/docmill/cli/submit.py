"""docmill submit: files to a running docmill, each with its own bar and its own outcome."""

import asyncio
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from docmill.cli.board import Board
from docmill.cli.client import HERE, Client, Refused, Token, Url
from docmill.cli.console import err, out, say_json
from docmill.cli.documents import Unreadable, opened, shown
from docmill.core import asked
from docmill.core.jobs import LABELS, Status

UPLOADS: Final = 3
WATCHED: Final = 16


@dataclass(frozen=True, slots=True)
class Row:
    """What became of one file."""

    file: str
    success: bool
    job_id: str = ""
    outcome: str = ""
    status: str = ""
    code: str = ""
    message: str = ""


def submit(
    files: Annotated[list[Path], typer.Argument(metavar="FILE", help="What to upload.")],
    pipeline: Annotated[str | None, typer.Option(help="What to do with them.")] = None,
    mapping: Annotated[str | None, typer.Option(help="The form of the result.")] = None,
    fields: Annotated[str | None, typer.Option(help=asked.SAYS, show_default=False)] = None,
    watch: Annotated[bool, typer.Option("--watch", "-w", help="Stay until all ended.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one row per file.")] = False,
    url: Url = HERE,
    token: Token = None,
) -> None:
    """Upload files to a running docmill.

    Each becomes a job; the same file sent again is the same job. Waits when docmill says that it
    gets too many. With --watch the command stays until every job has ended. Exit 1 when any file
    was refused or, with --watch, any job failed.

    docmill submit letter.pdf --watch

    docmill submit scans/*.pdf --pipeline extract --json

    docmill submit bill.pdf --pipeline extract --fields invoice_no:id,total:amount,due:date
    """
    named = {"pipeline": pipeline, "mapping": mapping, asked.OPTION: fields}
    wanted = {name: value for name, value in named.items() if value}
    with Board(err if as_json else out, quiet=as_json) as board:
        rows = asyncio.run(_submit(Client(url, token), files, Sender(wanted, board, watch=watch)))
    if as_json:
        say_json([asdict(row) for row in rows])
    if not all(row.success for row in rows):
        raise typer.Exit(1)


async def _submit(client: Client, files: list[Path], sender: "Sender") -> list[Row]:
    async with client:
        # Says at once, and once, that nobody answers or that the token is bad.
        await client.ask("GET", "/api/jobs", params={"limit": 1})
        return await asyncio.gather(*(sender.send(client, path) for path in files))


class Sender:
    """Sends files, a few at a time, and keeps an eye on their jobs."""

    def __init__(self, wanted: Mapping[str, str], board: Board, *, watch: bool) -> None:
        self._wanted: Mapping[str, str] = wanted
        self._board: Board = board
        self._watch: bool = watch
        self._uploads: asyncio.Semaphore = asyncio.Semaphore(UPLOADS)
        self._watched: asyncio.Semaphore = asyncio.Semaphore(WATCHED)

    async def send(self, client: Client, path: Path) -> Row:
        try:
            async with self._uploads:
                row = await self._upload(client, path)
            if self._watch:
                row = await self._follow(client, path, row)
        except Unreadable as exc:
            row = Row(str(path), False, message=str(exc))
        except Refused as exc:
            row = Row(str(path), False, code=exc.code, message=f"{exc.says} {exc.advice}")
        self._tell(path, row)
        return row

    async def _upload(self, client: Client, path: Path) -> Row:
        with opened(path) as document, self._board.line(document.filename) as line:

            def told(done: int) -> None:
                line.sent(done, document.size)

            def waits(exc: Refused) -> None:
                line.converting(0, f"waiting: {exc.says}")

            answer = await client.patiently(
                lambda: client.upload(document, self._wanted, told), waits
            )
        job: dict[str, Any] = answer["job"]
        return Row(str(path), True, job["id"], answer["outcome"], job["status"])

    async def _follow(self, client: Client, path: Path, row: Row) -> Row:
        """Until the job has ended."""
        self._board.say(f"{shown(path)}: received, job {row.job_id}")
        async with self._watched:
            with self._board.line(path.name) as line:
                job = await client.follow(
                    row.job_id,
                    lambda job: line.converting(job["progress"], job["stage"] or job["label"]),
                )
        status = Status(job["status"])
        good = status is Status.COMPLETE
        says = job["error_message"] or ("" if good else LABELS[status])
        code = job["error_code"] or ""
        return replace(row, success=good, status=str(status), code=code, message=says)

    def _tell(self, path: Path, row: Row) -> None:
        if not row.success:
            told = f"{row.code}  {row.message}".strip()
            self._board.say(f"{shown(path)}: {told}", "red")
            return
        said = LABELS[Status(row.status)] if self._watch else "received"
        again = {"existing": " (sent before)", "requeued": " (failed before)"}.get(row.outcome, "")
        self._board.say(f"{shown(path)}: {said}{again}, job {row.job_id}")
