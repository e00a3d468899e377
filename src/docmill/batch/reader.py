"""A table of documents in, a table of what they say out: the one piece all engines use."""

import asyncio
import hashlib
import os
import threading
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Final, Self, TypeVar
from uuid import NAMESPACE_URL, uuid5

from docmill.batch import schema
from docmill.batch.arrow import Schema, Table
from docmill.cli.files import OpenDocument
from docmill.core import faults, installed
from docmill.core.faults import CommandError, DocmillError
from docmill.core.jobs import Usage, ignore_progress
from docmill.documents import confined
from docmill.documents.confined import ConfinedReader, ReadRequest
from docmill.sandbox.limits import RunLimits
from docmill.sandbox.outcome import RunFailed, RunOutcome, RunReturned
from docmill.sandbox.pool import SandboxPool
from docmill.storage import open_store
from docmill.storage.contract import CHUNK, Store
from docmill.storage.names import display_name
from docmill.storage.remote import spool_chunks

T = TypeVar("T")

# Of one document: a child that was killed, a store that hiccuped.
TRIES: Final = 3
IO_ERROR: Final = "IO_ERROR"
GONE: Final = "EXPIRED"
CHANGED: Final = "DAMAGED"
NOT_THERE: Final = "It is not in the source any more."
# What is said of a document that no pipeline could make its document of; its reading is kept.
REFUSED: Final = "GW_4XX"

# Told of each document as it ends: whether it was read.
NoteDocument = Callable[[bool], None]


@dataclass(frozen=True, slots=True)
class BatchDocument:
    """What became of one document."""

    ran: RunOutcome
    sha256: str | None = None
    size: int | None = None
    content_type: str | None = None
    seconds: float = 0.0


def _hash(file: BinaryIO) -> str:
    digest = hashlib.sha256()
    while chunk := file.read(CHUNK):
        digest.update(chunk)
    return digest.hexdigest()


def _fail(code: str, reason: str) -> RunFailed:
    """Of a document that no child has seen."""
    return RunFailed(code, reason, "", Usage(), reason=reason)


class TableReader:
    """Reads documents through one fork server, some at a time, and fetches the next meanwhile."""

    def __init__(
        self, request: ReadRequest, *, source: str, limits: RunLimits, jobs: int = 1
    ) -> None:
        self._request: ReadRequest = request
        self._store: Store | None = open_store(source) if source else None
        self._place: str = self._store.name if self._store else ""
        self._schema: Schema = schema.schema_of(request.pipeline)
        self._version: str = installed.load_pipeline(request.pipeline).version
        self._sandbox: SandboxPool = SandboxPool(limits, pipelines=[request.pipeline])
        catalog = confined.load_catalog(request.pipeline)
        self._reader: ConfinedReader = ConfinedReader(self._sandbox, catalog, request)
        self._running: asyncio.Semaphore = asyncio.Semaphore(jobs)
        self._open: asyncio.Semaphore = asyncio.Semaphore(2 * jobs)

    async def __aenter__(self) -> Self:
        """Raises CommandError when the pipeline can't be loaded there."""
        await self._warm()
        if why := self._sandbox.broken.get(self._request.pipeline):
            raise CommandError(
                f"The pipeline {self._request.pipeline} can't be loaded: "
                f"{why.strip().rpartition(chr(10))[2]}\nInstall it again, with what it needs."
            )
        return self

    async def _warm(self) -> None:
        """A fork server may be killed while it starts, as a child may while it reads."""
        for left in reversed(range(TRIES)):
            try:
                await self._sandbox.warm()
            except DocmillError:
                if not left:
                    raise
            else:
                return

    async def __aexit__(self, *exc: object) -> None:
        await self._sandbox.__aexit__(*exc)
        if self._store:
            await self._store.close()

    async def read(self, table: Table, note: NoteDocument = lambda _: None) -> Table:
        """A row for each, in their order. Raises IO_ERROR when the source gave none of them."""
        rows = await asyncio.gather(*(self._read_row(row, note) for row in table.to_pylist()))
        if rows and all(row["code"] == IO_ERROR for row in rows):
            raise DocmillError(IO_ERROR, rows[0]["reason"])
        return schema.build_table(list(rows), self._schema)

    async def _read_row(self, given: dict[str, Any], note: NoteDocument) -> dict[str, Any]:
        async with self._open:
            read = await self._read_document(given)
        row = self._describe(given["key"], read)
        note(row["status"] == schema.OK)
        return row

    async def _read_document(self, given: dict[str, Any]) -> BatchDocument:
        try:
            file = await self._fetch(given)
        except DocmillError as exc:
            if exc.fault.code not in {GONE, IO_ERROR}:
                raise
            says = NOT_THERE if exc.fault.code == GONE else exc.detail
            return BatchDocument(_fail(exc.fault.code, says))
        with file:
            sha256 = await asyncio.to_thread(_hash, file)
            size = file.seek(0, os.SEEK_END)
            file.seek(0)
            if given.get("size") not in {None, size}:
                says = f"It has {size} bytes, and had {given['size']} when it was listed."
                return BatchDocument(_fail(CHANGED, says), sha256, size)
            document = OpenDocument(Path(display_name(given["key"])), file.fileno(), size)
            return await self._read_open(document, sha256)

    async def _fetch(self, given: dict[str, Any]) -> BinaryIO:
        """Open for reading only, as a child may have it."""
        if (content := given.get("content")) is not None:
            return await asyncio.to_thread(spool_chunks, iter([content]))
        if self._store is None:
            raise ValueError("say where documents lie (source=), or give them as column `content`")
        return await self._store.file(given["key"])

    async def _read_open(self, document: OpenDocument, sha256: str) -> BatchDocument:
        try:
            kind = self._reader.find_type(document)
        except DocmillError as exc:
            return BatchDocument(_fail(exc.fault.code, exc.fault.final), sha256, document.size)
        async with self._running:
            began = time.monotonic()
            ran = await self._run(document, sha256, kind)
            seconds = time.monotonic() - began
        return BatchDocument(ran, sha256, document.size, kind, seconds)

    async def _run(self, document: OpenDocument, sha256: str, kind: str) -> RunOutcome:
        """What is worth another try gets it: somebody may have killed the child."""
        for left in reversed(range(TRIES)):
            ran = await self._reader.read(document, sha256, note=ignore_progress, kind=kind)
            if isinstance(ran, RunReturned) or not faults.FAULTS[ran.code].retried or not left:
                return ran
        raise AssertionError("unreachable")

    def _describe(self, key: str, read: BatchDocument) -> dict[str, Any]:
        name = f"{self._place}/{key}#{read.sha256 or ''}"
        row: dict[str, Any] = {
            "document_id": str(uuid5(NAMESPACE_URL, name)),
            "document_hash": read.sha256,
            "key": key,
            "pipeline": self._request.pipeline,
            "version": self._version,
            "num_pages": read.ran.pages,
            "seconds": round(read.seconds, 3),
            "cpu_seconds": read.ran.usage.cpu_ms / 1000,
            "bytes": read.size,
            "content_type": read.content_type,
        }
        if isinstance(read.ran, RunFailed):
            says = read.ran.reason or read.ran.message
            return {**row, "status": schema.FAILED, "code": read.ran.code, "reason": says}
        return {**row, **_describe_result(read.ran, self._request.pipeline)}


def _describe_result(ran: RunReturned, pipeline: str) -> dict[str, Any]:
    refused = ran.about.refusal
    known = schema.list_row_columns(pipeline)
    return {
        "status": schema.FAILED if refused else schema.OK,
        "code": REFUSED if refused else None,
        "reason": refused,
        "pipeline": ran.about.pipeline or pipeline,
        "contents": ran.data.decode(errors="replace"),
        "summary": schema.encode_json(ran.about.summary) if ran.about.summary else None,
        "artifact": ran.artifact.content if ran.artifact else None,
        "artifact_type": ran.artifact.content_type if ran.artifact else None,
        **{
            name: array.decode(errors="replace")
            for name, array in ran.rows.items()
            if name in known
        },
    }


class Reader:
    """A pipeline as a plain function of Arrow tables, for whatever engine runs it.

    - `pipeline`: its name, such as `extract`.
    - `source`: where the keys of a table lie: a folder, s3://, gs:// or az://. Not needed for
      tables that bring the bytes themselves, as column `content`.
    - `mapping`, `options`, `rows`: as in `ReadRequest`, by name.
    - `jobs`: documents at a time.
    - `limits`: what one document may use.

    Each document is read in a confined process. The first call starts the fork server; it ends
    with `close`, or with the process. It can be pickled, and begins anew where it is unpickled.
    """

    def __init__(
        self,
        pipeline: str,
        *,
        source: str = "",
        jobs: int = 1,
        limits: RunLimits | None = None,
        **asked: Any,
    ) -> None:
        self._given: dict[str, Any] = {
            "pipeline": pipeline, "source": source, "jobs": jobs, "limits": limits, **asked
        }  # fmt: skip
        self._request: ReadRequest = ReadRequest(pipeline, **asked)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._reader: TableReader | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (self._given,)

    def __call__(self, table: Table) -> Table:
        """Rows of `schema_of(pipeline)`, one for each row of the table, in its order."""
        return self.run(lambda reader: reader.read(table))

    def run(self, work: Callable[[TableReader], Coroutine[Any, Any, T]]) -> T:
        """Waits for work with the reader, in the thread of its own that all its processes need.

        A fork server ends with the thread that started it, and engines end theirs as they like;
        some of them put another kind of event loop into their workers.
        """
        if self._loop is None:
            self._loop = asyncio.SelectorEventLoop()
            self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
            self._thread.start()
        return asyncio.run_coroutine_threadsafe(self._start(work), self._loop).result()

    async def _start(self, work: Callable[[TableReader], Coroutine[Any, Any, T]]) -> T:
        if self._reader is None:
            limits = self._given["limits"] or RunLimits()
            reader = TableReader(
                self._request, source=self._given["source"], limits=limits, jobs=self._given["jobs"]
            )
            self._reader = await reader.__aenter__()
        return await work(self._reader)

    def close(self) -> None:
        if self._loop is None or self._thread is None:
            return
        if self._reader is not None:
            asyncio.run_coroutine_threadsafe(self._reader.__aexit__(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
        self._loop = self._reader = None


def _restore(given: dict[str, Any]) -> Reader:
    return Reader(**given)
