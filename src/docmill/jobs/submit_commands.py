"""docmill submit: files and whole folders go to a running docmill, several in one request."""

import asyncio
from asyncio import sleep
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from docmill.cli.console import err, out, say_json
from docmill.cli.files import (
    ENDINGS,
    OpenDocument,
    UnreadableFileError,
    list_documents,
    open_document,
    printable_path,
)
from docmill.cli.progress import ProgressBoard
from docmill.cli.remote import CountedFile, RemoteClient, Token, Url
from docmill.client.answers import Refused
from docmill.client.asynchronous import HERE, is_address
from docmill.core import field_request
from docmill.core.jobs import Status
from docmill.jobs.commands import resolve_id

REQUESTS_AT_ONCE: Final = 3
# A request has a price of its own, which small files share. docmill takes twenty, unless it is
# told otherwise; a file larger than a batch goes alone.
BATCH_FILES: Final = 10
BATCH_BYTES: Final = 8 << 20
WATCHED_AT_ONCE: Final = 16
# Files of one request that docmill wants again, this often at most.
TRIES: Final = 20


Files = Annotated[
    list[str],
    typer.Argument(metavar="FILE", help="Files, folders or https addresses to upload."),
]
At = Annotated[
    str | None, typer.Option(help="Run only after this time: 2026-01-31T12:00, or with +02:00.")
]
After = Annotated[
    list[str] | None, typer.Option(help="Run only after this job has completed; may be repeated.")
]
ReadAs = Annotated[
    str | None, typer.Option(help="What to read them as; default: decided by content.")
]
WriteAs = Annotated[
    str | None, typer.Option(help="The format of the XML; `docmill mapping list` shows them.")
]
Watch = Annotated[bool, typer.Option("--watch", "-w", help="Wait until all jobs have ended.")]
Direct = Annotated[bool, typer.Option("--direct", help="Send the bytes straight to the store.")]


@dataclass(frozen=True, slots=True)
class SubmittedFile:
    """What became of one file. `wait`: docmill wants it again after so many seconds."""

    file: str
    success: bool
    job_id: str = ""
    outcome: str = ""
    status: str = ""
    code: str = ""
    message: str = ""
    wait: float | None = None

    def to_json(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if name != "wait"}


def submit(
    files: Files,
    pipeline: ReadAs = None,
    mapping: WriteAs = None,
    fields: Annotated[str | None, typer.Option(help=field_request.HELP, show_default=False)] = None,
    at: At = None,
    after: After = None,
    direct: Direct = False,
    watch: Watch = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one row per file.")] = False,
    url: Url = HERE,
    token: Token = None,
) -> None:
    """Upload files and folders to a running docmill.

    Each file becomes a job; sending the same file again gives the same job. From a folder and its
    subfolders, it sends every PDF, Word and text file that the pipeline accepts. If docmill
    reports too many uploads, it waits. With --watch it stays until every job has ended. Exit 1 if
    a file was refused or, with --watch, a job failed.

    docmill submit letter.pdf --watch

    docmill submit scans/ more/*.pdf --pipeline extract --json

    docmill submit bill.pdf --pipeline extract --fields invoice_no:id,total:amount,due:date

    docmill submit https://example.com/bill.pdf --at 2026-01-31T06:00

    docmill submit summary.pdf --after 3f2a --after 77b1
    """
    named = {"pipeline": pipeline, "mapping": mapping, field_request.OPTION: fields}
    wanted = {name: value for name, value in named.items() if value}
    wanted |= {"run_at": _read_time(at)} if at else {}
    with ProgressBoard(err if as_json else out, quiet=as_json) as board:
        sender = Submitter(wanted, board, watch=watch, direct=direct)
        rows = asyncio.run(_submit_all(RemoteClient(url, token), files, sender, after or []))
    if as_json:
        say_json([row.to_json() for row in rows])
    if not all(row.success for row in rows):
        raise typer.Exit(1)


def _read_time(text: str) -> str:
    """A time without a zone is that of this machine."""
    try:
        return datetime.fromisoformat(text).astimezone(UTC).isoformat()
    except (ValueError, OverflowError) as exc:
        raise typer.BadParameter(
            f"{text!r} is no time like 2026-01-31T12:00.", param_hint="--at"
        ) from exc


async def _submit_all(
    client: RemoteClient, given: list[str], sender: "Submitter", after: Sequence[str]
) -> list[SubmittedFile]:
    async with client:
        # Says at once, and once, that nobody answers or that the token is bad.
        await client.ask("GET", "/api/jobs", params={"limit": 1})
        sender.wait_for([await resolve_id(client, one) for one in after])
        paths = [Path(one) for one in given if not is_address(one)]
        files = await sender.choose_files(client, paths)
        addresses = [one for one in given if is_address(one)]
        return [
            *await sender.send_all(client, files),
            *await sender.send_addresses(client, addresses),
        ]


def group_batches(files: Iterable[tuple[Path, int]]) -> Iterator[list[Path]]:
    """Files in the order given, so many in a request as it may hold; sizes in bytes."""
    batch: list[Path] = []
    room = BATCH_BYTES
    for path, size in files:
        if batch and (size > room or len(batch) == BATCH_FILES):
            yield batch
            batch, room = [], BATCH_BYTES
        batch.append(path)
        room -= size
    if batch:
        yield batch


class Submitter:
    """Sends files, some requests at a time, and keeps an eye on their jobs."""

    def __init__(
        self, wanted: Mapping[str, str], board: ProgressBoard, *, watch: bool, direct: bool = False
    ) -> None:
        self._wanted: Mapping[str, str] = wanted
        self._direct: bool = direct
        self._board: ProgressBoard = board
        self._watch: bool = watch
        self._requests: asyncio.Semaphore = asyncio.Semaphore(REQUESTS_AT_ONCE)
        self._watched: asyncio.Semaphore = asyncio.Semaphore(WATCHED_AT_ONCE)

    def wait_for(self, ids: Sequence[str]) -> None:
        """All jobs run after these."""
        if ids:
            self._wanted = {**self._wanted, "after": ",".join(ids)}

    async def send_addresses(
        self, client: RemoteClient, addresses: Sequence[str]
    ) -> list[SubmittedFile]:
        """docmill fetches them, one after the other."""
        self._board.expect(len(addresses))
        return [await self._end(client, await self._send_address(client, one)) for one in addresses]

    async def _send_address(self, client: RemoteClient, address: str) -> SubmittedFile:
        form = {**self._wanted, "url": address}
        try:
            with self._board.line(address) as line:
                answer = await client.patiently(
                    lambda: client.ask("POST", "/api/upload", data=form),
                    lambda exc: line.converting(0, f"waiting: {exc.says}"),
                )
        except Refused as exc:
            return _make_refusal(address, exc)
        return _read_outcome(address, answer)

    async def choose_files(self, client: RemoteClient, given: Sequence[Path]) -> list[Path]:
        """Those named, and those of the folders that docmill takes."""
        if not any(path.is_dir() for path in given):
            return list(given)  # none at all where only addresses were given
        files, skipped = list_documents(given, await self._list_endings(client))
        if skipped:
            kinds = "1 file" if skipped == 1 else f"{skipped} files"
            self._board.say(f"{kinds} in folders left out: of a type that is not taken")
        if not files:
            self._board.say("Nothing in there to send.", "red")
        return files

    async def _list_endings(self, client: RemoteClient) -> frozenset[str]:
        offer = await client.ask("GET", "/api/pipelines")
        wanted = self._wanted.get("pipeline") or offer["default"]
        accepts = {one["name"]: one["accepts"] for one in offer["pipelines"]}
        # What is not among them says docmill itself, of each file.
        kinds = accepts.get(wanted, list(ENDINGS.values()))
        return frozenset(ending for ending, kind in ENDINGS.items() if kind in kinds)

    async def send_all(self, client: RemoteClient, files: Sequence[Path]) -> list[SubmittedFile]:
        sizes = [(path, path.stat().st_size if path.is_file() else 0) for path in files]
        batches = [[path] for path in files] if self._direct else list(group_batches(sizes))
        self._board.expect(len(files))
        found = await asyncio.gather(*(self._send(client, batch) for batch in batches))
        return [row for rows in found for row in rows]

    async def _send(self, client: RemoteClient, batch: Sequence[Path]) -> list[SubmittedFile]:
        async with self._requests:
            rows = await self._upload(client, batch)
        return list(await asyncio.gather(*(self._end(client, row) for row in rows)))

    async def _end(self, client: RemoteClient, row: SubmittedFile) -> SubmittedFile:
        try:
            if self._watch and row.success:
                row = await self._follow(client, row)
        except Refused as exc:
            row = _make_refusal(row.file, exc)
        self._tell(row)
        self._board.advance()
        return row

    async def _upload(self, client: RemoteClient, batch: Sequence[Path]) -> list[SubmittedFile]:
        """A row for each. What docmill wants later is sent again, after as long as it says."""
        rows = await self._upload_once(client, batch)
        for _ in range(TRIES):
            again = [at for at, row in enumerate(rows) if row.wait is not None]
            if not again:
                break
            await self._pause(max(rows[at].wait or 0 for at in again), len(again))
            sent = await self._upload_once(client, [batch[at] for at in again])
            for at, row in zip(again, sent, strict=True):
                rows[at] = row
        return rows

    async def _pause(self, seconds: float, count: int) -> None:
        files = "1 file waits" if count == 1 else f"{count} files wait"
        with self._board.line(f"{files} {seconds:.0f} s: docmill takes so many a minute"):
            await sleep(seconds)

    async def _upload_once(
        self, client: RemoteClient, batch: Sequence[Path]
    ) -> list[SubmittedFile]:
        rows: dict[Path, SubmittedFile] = {}
        with ExitStack() as stack:
            documents: list[OpenDocument] = []
            for path in batch:
                try:
                    documents.append(stack.enter_context(open_document(path)))
                except UnreadableFileError as exc:
                    rows[path] = SubmittedFile(str(path), False, message=str(exc))
            if documents:
                rows |= await self._ask(client, documents)
        return [rows[path] for path in batch]

    async def _ask(
        self, client: RemoteClient, documents: Sequence[OpenDocument]
    ) -> dict[Path, SubmittedFile]:
        try:
            answer = await self._post(client, documents)
        except Refused as exc:
            if len(documents) == 1 or not exc.code:
                return {one.path: _make_refusal(str(one.path), exc) for one in documents}
            # Something in there is refused before the others are looked at: each on its own.
            rows: dict[Path, SubmittedFile] = {}
            for one in documents:
                rows |= await self._ask(client, [one])
            return rows
        outcomes = answer.get("jobs") or [answer]
        pairs = zip(documents, outcomes, strict=True)
        return {one.path: _read_outcome(str(one.path), outcome) for one, outcome in pairs}

    async def _post(
        self, client: RemoteClient, documents: Sequence[OpenDocument]
    ) -> dict[str, Any]:
        total = sum(one.size for one in documents)
        title = documents[0].filename
        if len(documents) > 1:
            title += f" and {len(documents) - 1} more"
        with self._board.line(title) as line:

            def report(done: int) -> None:
                line.show_upload(done, total)

            def waits(exc: Refused) -> None:
                line.converting(0, f"waiting: {exc.says}")

            if self._direct:
                with CountedFile(documents[0].fd, report) as file:
                    return await client.upload_directly(file, title, self._wanted)
            return await client.patiently(
                lambda: client.upload(documents, self._wanted, report), waits
            )

    async def _follow(self, client: RemoteClient, row: SubmittedFile) -> SubmittedFile:
        """Until the job has ended."""
        self._board.say(f"{printable_path(row.file)}: received, job {row.job_id}")
        async with self._watched:
            with self._board.line(row.file.rpartition("/")[2]) as line:
                job = await client.follow(
                    row.job_id,
                    lambda job: line.converting(job["progress"], job["stage"] or job["label"]),
                )
        status = Status(job["status"])
        good = status is Status.COMPLETE
        says = job.get("reason") or job["error_message"] or ("" if good else status.label)
        code = job["error_code"] or ""
        return replace(row, success=good, status=str(status), code=code, message=says)

    def _tell(self, row: SubmittedFile) -> None:
        name = printable_path(row.file)
        if not row.success:
            told = f"{row.code}  {row.message}".strip()
            self._board.say(f"{name}: {told}", "red")
            return
        said = Status(row.status).label if self._watch else "received"
        again = {"existing": " (sent before)", "requeued": " (failed before)"}.get(row.outcome, "")
        self._board.say(f"{name}: {said}{again}, job {row.job_id}")


def _make_refusal(name: str, exc: Refused) -> SubmittedFile:
    says = f"{exc.says} {exc.advice}".strip()
    return SubmittedFile(name, False, code=exc.code, message=says)


def _read_outcome(name: str, outcome: Mapping[str, Any]) -> SubmittedFile:
    if outcome["success"]:
        job: dict[str, Any] = outcome["job"]
        return SubmittedFile(name, True, job["id"], outcome["outcome"], job["status"])
    says = f"{outcome['error']}. {outcome.get('detail') or ''}".strip()
    wait = outcome.get("retryAfter")
    return SubmittedFile(name, False, code=outcome["code"], message=says, wait=wait)
