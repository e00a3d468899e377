"""One run of one job: fetch the bytes, let a confined child work on them, store what comes out."""

import asyncio
import gzip
import hashlib
import os
from io import BufferedReader
from typing import BinaryIO, cast

from docmill.core import failpoints
from docmill.core.faults import Faulted
from docmill.core.jobs import Broke, Claimed, Ending, Finished, StoredResult, Usage
from docmill.core.keys import result_key
from docmill.db import results
from docmill.db.pool import Pool
from docmill.storage import Store
from docmill.work.child import Failed, Nursery, Task
from docmill.work.worker import Note


class ChildRunner:
    """The runner of real workers."""

    def __init__(self, pool: Pool, store: Store, nursery: Nursery) -> None:
        self._pool: Pool = pool
        self._store: Store = store
        self._nursery: Nursery = nursery

    async def __call__(self, job: Claimed, note: Note) -> tuple[Ending, Usage | None]:
        failpoints.hit("run.started")
        if job.duplicate_of and (copied := await self._copy(job)):
            return copied, Usage()
        if job.upload_key is None:
            return Broke("EXPIRED", "the upload was removed before the job ran"), None
        file = await self._store.file(job.upload_key)
        try:
            await asyncio.to_thread(_check_bytes, file, job)
            ran = await self._nursery.run(_task(job), file.fileno(), note)
        finally:
            file.close()
        if isinstance(ran, Failed):
            return Broke(ran.code, ran.detail, ran.stack), ran.usage
        return Finished(await self._keep(job, ran.data, ran.version)), ran.usage

    async def _keep(self, job: Claimed, data: bytes, version: str) -> StoredResult:
        """Store the result compressed, and see that it is there."""
        packed = await asyncio.to_thread(gzip.compress, data, 6, mtime=0)
        key = result_key(job.id, job.claim)
        await self._store.put(key, packed)
        failpoints.hit("result.stored")
        if await self._store.size(key) != len(packed):
            raise Faulted("IO_ERROR", "the stored result is not what was written")
        sha256 = hashlib.sha256(data).hexdigest()
        return StoredResult(key, "application/json", len(data), len(packed), sha256, version)

    async def _copy(self, job: Claimed) -> Finished | None:
        """Take over the result of a job over the same content, where results are shared."""
        assert job.duplicate_of is not None
        async with self._pool.connection() as conn:
            known = await results.of_job(conn, job.duplicate_of)
        if known is None or await self._store.size(known.key) is None:
            return None
        packed = b"".join([chunk async for chunk in self._store.chunks(known.key)])
        data = await asyncio.to_thread(gzip.decompress, packed)
        return Finished(await self._keep(job, data, known.version))


def _task(job: Claimed) -> Task:
    return Task(
        pipeline=job.pipeline,
        filename=job.original_filename,
        content_type=job.content_type,
        sha256=job.sha256,
        mapping=job.mapping,
        options=job.options,
    )


def _check_bytes(file: BinaryIO, job: Claimed) -> None:
    """The bytes we run on are the bytes we were given."""
    if os.fstat(file.fileno()).st_size != job.bytes:
        raise Faulted("IO_ERROR", "the stored file has another size than was uploaded")
    if hashlib.file_digest(cast(BufferedReader, file), "sha256").hexdigest() != job.sha256:
        raise Faulted("IO_ERROR", "the stored file is not what was uploaded")
    file.seek(0)
