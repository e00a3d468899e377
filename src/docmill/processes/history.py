"""Documents that were read before, and the sides that `replay` and `compare` hold together."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from uuid import UUID

import psycopg
from psycopg.rows import class_row

from docmill.core import installed, plugins
from docmill.core.comparison import ApprovedReading, Outline
from docmill.core.faults import CommandError, DocmillError
from docmill.core.jobs import Job, JobId
from docmill.db.pool import Connection, Pool
from docmill.invoices import formats
from docmill.invoices.formats import xml
from docmill.invoices.formats.language import InvoiceMapping
from docmill.invoices.profile import parse_profile
from docmill.jobs import results
from docmill.processes.reread import StoredFile, StoredReader
from docmill.queue import enqueue
from docmill.storage.contract import Store

PAGE: Final = 50  # documents that are looked up at a time

# What a side says of a document, or in a sentence why it says nothing.
Told = Outline | str


@dataclass(frozen=True, slots=True)
class HistoryDocument:
    """A document that was read; `by` is who approved it, if somebody did."""

    job: Job
    read_key: str
    by: str | None = None
    approved_key: str | None = None
    approved: Outline | None = None


Side = Callable[[HistoryDocument], Awaitable[Told]]


def find_outliner(pipeline: str) -> Callable[[Mapping[str, Any]], Outline] | None:
    for room in installed.find_rooms().of(pipeline):
        if room.outline:
            return plugins.resolve(room.outline)
    return None


def list_pipelines(wanted: str | None = None) -> list[str]:
    """Those that can be compared. Raises CommandError where the wanted one can't."""
    known = sorted(
        {room.pipeline for room in installed.find_rooms().rooms.values() if room.outline}
    )
    if wanted is not None and wanted not in known:
        raise CommandError(
            f"The pipeline {wanted} can't be compared.\nThese can: {', '.join(known)}."
        )
    return [wanted] if wanted else known


async def list_approved(pool: Pool, pipelines: Sequence[str]) -> AsyncIterator[HistoryDocument]:
    """Every approved reading, of one pipeline after the other, by the ids of their jobs."""
    rooms = [room for name in pipelines for room in installed.find_rooms().of(name)]
    for approved in [room.approved for room in rooms if room.approved]:
        async for one in _list_of_room(pool, plugins.resolve(approved)):
            yield one


async def _list_of_room(
    pool: Pool,
    ask: Callable[[Connection, JobId | None, int], Awaitable[Sequence[ApprovedReading]]],
) -> AsyncIterator[HistoryDocument]:
    after: JobId | None = None
    while True:
        async with pool.connection() as conn:
            found = await ask(conn, after, PAGE)
            jobs = [await enqueue.find_job(conn, one.job_id) for one in found]
        for one, job in zip(found, jobs, strict=True):
            if job:
                yield HistoryDocument(job, one.read_key, one.by, one.approved_key, one.approved)
        if len(found) < PAGE:
            return
        after = found[-1].job_id


@dataclass(frozen=True, slots=True)
class ReadJob:
    job_id: JobId
    read_key: str


LIST_READ: Final = """
SELECT j.id AS job_id, r.key AS read_key
  FROM jobs j JOIN results r ON r.job_id = j.id AND r.claim = j.claim AND r.form = 'data'
                            AND r.revision = 0
 WHERE j.pipeline = ANY(%(pipelines)s) AND coalesce(j.result_key, j.reading_key) IS NOT NULL
   AND j.id > %(after)s
 ORDER BY j.id LIMIT %(limit)s
"""


async def list_read(pool: Pool, pipelines: Sequence[str]) -> AsyncIterator[HistoryDocument]:
    """Everything that was read and still has its result, by the ids of the jobs."""
    after = JobId(UUID(int=0))
    while True:
        args = {"pipelines": list(pipelines), "after": after, "limit": PAGE}
        async with pool.connection() as conn:
            async with conn.cursor(row_factory=class_row(ReadJob)) as cur:
                found = await (await cur.execute(LIST_READ, args)).fetchall()
            jobs = [await enqueue.find_job(conn, one.job_id) for one in found]
        for one, job in zip(found, jobs, strict=True):
            if job:
                yield HistoryDocument(job, one.read_key)
        if len(found) < PAGE:
            return
        after = found[-1].job_id


COUNT_APPROVED: Final = """
SELECT (SELECT count(*) FROM reviews WHERE status = 'approved')
     + (SELECT count(DISTINCT job_id) FROM trades WHERE review_status = 'approved')
"""


async def count_approved(pool: Pool) -> int:
    """About so many, for a progress bar."""
    async with pool.connection() as conn:
        row = await (await conn.execute(COUNT_APPROVED)).fetchone()
    return row[0] if row else 0


@dataclass(frozen=True, slots=True)
class StoredSide:
    """What was read then; with `approved`, what somebody stands for."""

    pool: Pool
    store: Store
    approved: bool = False

    async def __call__(self, document: HistoryDocument) -> Told:
        if self.approved and document.approved is not None:
            return document.approved
        if self.approved and document.approved_key is None:
            return "nobody has approved it"
        key = document.approved_key if self.approved else document.read_key
        return await self._read(document, str(key))

    async def _read(self, document: HistoryDocument, key: str) -> Told:
        try:
            data = await results.read_data(self.pool, self.store, key)
        except DocmillError as exc:
            return f"its result can't be had: {exc.fault.says}"
        return outline_data(document.job.pipeline, data)


def outline_data(pipeline: str, data: Mapping[str, Any]) -> Told:
    outline = find_outliner(pipeline)
    return outline(data) if outline else f"readings of {pipeline} can't be compared"


@dataclass(frozen=True, slots=True)
class ReadSide:
    """What the installed version reads now, by a reader of choice: rules, model or both."""

    reader: StoredReader
    mode: str | None = None

    async def __call__(self, document: HistoryDocument) -> Told:
        pipeline = document.job.pipeline
        options = {f"{pipeline}_reader": self.mode} if self.mode else None
        data, reason = await self.reader.read(StoredFile.of(document.job), options)
        return reason if data is None else outline_data(pipeline, data)


@dataclass(frozen=True, slots=True)
class FolderSide:
    """What lies in a folder that `docmill read --out` has filled, perhaps by another version."""

    folder: Path

    async def __call__(self, document: HistoryDocument) -> Told:
        path = self.folder / f"{document.job.sha256}.json"
        try:
            data: Any = json.loads(await asyncio.to_thread(path.read_bytes))
        except OSError:
            return f"{self.folder} has no reading of it"
        except ValueError:
            return f"{path.name} is no reading"
        if "error" in data:
            return str(data["error"].get("message"))
        return outline_data(document.job.pipeline, data)


@dataclass(frozen=True, slots=True)
class MappingSide:
    """The XML that a mapping makes of what was read then, as its elements and their texts."""

    stored: StoredSide
    mapping: InvoiceMapping

    async def __call__(self, document: HistoryDocument) -> Told:
        if document.job.pipeline != "invoice":
            return "mappings are for invoices"
        try:
            data = await results.read_data(self.stored.pool, self.stored.store, document.read_key)
            own = parse_profile(data.get("profile") or {})
            made = await asyncio.to_thread(formats.emit, self.mapping, data, own)
        except DocmillError as exc:
            return exc.detail or exc.fault.says
        return Outline(dict(_list_elements(made.xml)))


def _list_elements(document: bytes) -> Iterator[tuple[str, str]]:
    """Each text by the path of its element, which tells apart those of one name."""
    root = xml.parse(document)
    tree = root.getroottree()
    for element in root.iter(xml.etree.Element):
        path = str(tree.getelementpath(element))
        if len(element) == 0 and element.text:
            yield path, str(element.text)
        for name, value in element.attrib.items():
            yield f"{path}@{name}", str(value)


async def connect_check(url: str) -> None:
    """Raises CommandError where no docmill has its tables there."""
    async with await psycopg.AsyncConnection.connect(url) as conn:
        row = await (await conn.execute("SELECT to_regclass('results')")).fetchone()
    if row is None or row[0] is None:
        raise CommandError("This database has no documents of docmill.\nCheck DATABASE_URL.")
