"""One run of one job: fetch the bytes, let a confined child work on them, store what comes out."""

import asyncio
import gzip
import hashlib
import os
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from io import BufferedReader
from typing import Any, BinaryIO, Final, cast

from docmill.core import failpoints
from docmill.core.faults import Faulted
from docmill.core.jobs import Broke, Claimed, Ending, Finished, Stopped, StoredResult, Usage
from docmill.core.keys import result_key
from docmill.core.pipeline import Artifact
from docmill.db import lessons, results, rows
from docmill.db.pool import Pool
from docmill.storage import Store
from docmill.work.checking import MOST_BYTES, Checker, with_violations
from docmill.work.child import Failed, Nursery, Ran, Returned, Task
from docmill.work.guard import RESTING, pause
from docmill.work.services import JobDesk, Service
from docmill.work.worker import Note, Runner

JSON: Final = "application/json"
BUSY: Final = "SERVICE_BUSY"
LEAST_PAUSE: Final = timedelta(seconds=5)  # of a service that does not say how long it wants

# A run elsewhere, by a service; SERVICE_RESTING when the service is left alone for now.
Elsewhere = Callable[[Claimed, BinaryIO, Note], Awaitable[Ran]]


@dataclass(frozen=True, slots=True)
class Outside:
    """What there is beyond the nursery.

    `elsewhere` are the pipelines that a service runs; `services` are what runs here may ask.
    """

    elsewhere: Mapping[str, Elsewhere] = field(default_factory=dict[str, Elsewhere])
    services: Mapping[str, Service] = field(default_factory=dict[str, Service])
    checker: Checker | None = None


class ChildRunner:
    """The runner of real workers."""

    def __init__(
        self, pool: Pool, store: Store, nursery: Nursery, outside: Outside | None = None
    ) -> None:
        self._pool: Pool = pool
        self._store: Store = store
        self._nursery: Nursery = nursery
        self._outside: Outside = outside or Outside()

    async def __call__(self, job: Claimed, note: Note) -> tuple[Ending, Usage | None]:
        failpoints.hit("run.started")
        if job.duplicate_of and (copied := await self._copy(job)):
            return copied, Usage()
        if job.upload_key is None:
            return Broke("EXPIRED", "the upload was removed before the job ran"), None
        file = await self._store.file(job.upload_key)
        try:
            await asyncio.to_thread(_check_bytes, file, job)
            run = self._outside.elsewhere.get(job.pipeline, self._here)
            ran = await run(job, file, note)
        finally:
            file.close()
        if isinstance(ran, Failed):
            return _broke(ran), ran.usage
        if unknown := ran.rows.keys() - rows.NOUNS.keys():
            return Broke("UNKNOWN", f"no table takes rows named {sorted(unknown)}"), ran.usage
        ran = await self._examined(job, ran)
        data = await self._keep(job, Artifact(ran.data, JSON), "data", ran.version)
        document = ran.artifact and await self._keep(job, ran.artifact, "document", ran.version)
        return Finished(data, document, ran.rows), ran.usage

    async def _examined(self, job: Claimed, ran: Returned) -> Returned:
        """With the rules that the document made of it breaks, wherever it was made."""
        checker = self._outside.checker
        if checker is None or ran.artifact is None:
            return ran
        checked = await checker.check(job.mapping, ran.artifact.content)
        if checked is None or len(ran.data) > MOST_BYTES:
            return ran
        return replace(ran, data=await asyncio.to_thread(with_violations, ran.data, checked))

    async def _here(self, job: Claimed, file: BinaryIO, note: Note) -> Ran:
        task = _task(job)
        if job.mapping is not None and (known := await self._lessons(job)):
            task = replace(task, options={**task.options, "lessons": known})
        desk = JobDesk(self._pool, self._outside.services, job, file.fileno())
        ran = await self._nursery.run(task, file.fileno(), note, desk=desk)
        if desk.history:
            call = {**ran.usage.call, **desk.history}
            ran = replace(ran, usage=replace(ran.usage, call=call))
        return _as_told(ran, desk) if isinstance(ran, Failed) else ran

    async def _lessons(self, job: Claimed) -> list[dict[str, Any]]:
        """What the owner's corrections have taught by now: a run has no database to ask."""
        async with self._pool.connection() as conn:
            return await lessons.for_run(conn, job.owner)

    async def _keep(self, job: Claimed, made: Artifact, form: str, version: str) -> StoredResult:
        """Store a result compressed, and see that it is there."""
        packed = await asyncio.to_thread(gzip.compress, made.content, 6, mtime=0)
        key = result_key(job.id, job.claim, form)
        await self._store.put(key, packed)
        failpoints.hit("result.stored")
        stored = await self._store.head(key)
        if stored is None or stored.bytes != len(packed):
            raise Faulted("IO_ERROR", "the stored result is not what was written")
        sha256 = hashlib.sha256(made.content).hexdigest()
        size = len(made.content)
        return StoredResult(key, made.content_type, size, len(packed), sha256, version)

    async def _copy(self, job: Claimed) -> Finished | None:
        """Take over the results of a job over the same content, where results are shared.

        Rows are not copied: what wrote some is run again.
        """
        assert job.duplicate_of is not None
        async with self._pool.connection() as conn:
            if await rows.exist(conn, job.duplicate_of):
                return None
        data = await self._copied(job, "data")
        return data and Finished(data, await self._copied(job, "document"))

    async def _copied(self, job: Claimed, form: str) -> StoredResult | None:
        assert job.duplicate_of is not None
        async with self._pool.connection() as conn:
            # As it was read: what its owner made of it since is the owner's own.
            known = await results.of_job(conn, job.duplicate_of, form, original=True)
        if known is None or await self._store.head(known.key) is None:
            return None
        packed = b"".join([chunk async for chunk in self._store.chunks(known.key)])
        content = await asyncio.to_thread(gzip.decompress, packed)
        return await self._keep(job, Artifact(content, known.content_type), form, known.version)


def with_options(runner: Runner, options: Mapping[str, Mapping[str, Any]]) -> Runner:
    """A runner whose jobs are told what the operator has set for their pipeline as well."""

    async def run(job: Claimed, note: Note) -> tuple[Ending, Usage | None]:
        told = {**options.get(job.pipeline, {}), **job.options}
        return await runner(replace(job, options=told), note)

    return run


def _as_told(ran: Failed, desk: JobDesk) -> Failed:
    """Only what the desk itself told a run sends it back to wait: a child's word is not enough.

    A run that was answered before it was told to slow down has come nearer to its end, and is
    spared: else the limits of a service would fail every long document.
    """
    told = desk.told
    if told is not None and told.fault.code == ran.code:
        spared = ran.code == BUSY and desk.gained > 0
        return replace(ran, delay=pause(told), spared=spared)
    return replace(ran, code="UNKNOWN") if ran.code == RESTING else ran


def _broke(ran: Failed) -> Ending:
    if ran.code == RESTING:
        return Stopped(ran.delay)
    if ran.spared:
        wait = LEAST_PAUSE if ran.delay is None else ran.delay
        return Stopped(wait, ran.code, ran.detail)
    return Broke(ran.code, ran.detail, ran.stack, ran.delay)


def _task(job: Claimed) -> Task:
    return Task(
        pipeline=job.pipeline,
        filename=job.original_filename,
        content_type=job.content_type,
        sha256=job.sha256,
        mapping=job.mapping,
        options=job.options,
        rows=True,
        keeps=True,
    )


def _check_bytes(file: BinaryIO, job: Claimed) -> None:
    """The bytes we run on are the bytes we were given."""
    if os.fstat(file.fileno()).st_size != job.bytes:
        raise Faulted("IO_ERROR", "the stored file has another size than was uploaded")
    if hashlib.file_digest(cast(BufferedReader, file), "sha256").hexdigest() != job.sha256:
        raise Faulted("IO_ERROR", "the stored file is not what was uploaded")
    file.seek(0)
