"""Documents that are already here, read again: each by a job of its own."""

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any, Final
from uuid import UUID, uuid4

from docmill.core.jobs import ACTIVE, DocumentId, Job, JobId, Status
from docmill.core.owners import Owner, OwnerKey
from docmill.db import jobs, owners, papers
from docmill.db.papers import Filter, Paper
from docmill.db.pool import Connection

MOST: Final = 500


async def reread(conn: Connection, job: Job, **options: str) -> JobId:
    """A new job over the same document, as its last one was asked for."""
    again = jobs.NewJob(
        id=JobId(uuid4()),
        document_id=job.document_id,
        owner=OwnerKey(job.owner),
        pipeline=job.pipeline,
        mapping=job.mapping,
        options={**await jobs.asked(conn, job.id), **options},
        priority=job.priority,
        dedupe_key=None,
    )
    await jobs.add(conn, again)
    await jobs.enqueue(conn, again)
    return again.id


async def retry(conn: Connection, document_id: DocumentId) -> JobId | None:
    """The failed job of a document queued again, or a new one where it had ended otherwise.

    None where the document is gone from the store, or still under way.
    """
    job = await jobs.of_document(conn, document_id)
    if job is None or job.upload_key is None or job.status in ACTIVE:
        return None
    if job.status is Status.FAILED:
        return job.id if await jobs.retry(conn, job) else None
    return await reread(conn, job)


async def reprocess(conn: Connection, asker: Owner, only: Filter, limit: int) -> UUID:
    """Read again whatever a filter finds, the newest first; what is under way is left alone."""
    batch_id = uuid4()
    found = await papers.page(conn, asker, only, after=None, limit=min(limit, MOST))
    able = [paper for paper in found if paper.upload_key and paper.status not in ACTIVE]
    await owners.introduce(conn, asker.key)
    await papers.begin_batch(conn, batch_id, asker.key, asked=_told(only), total=len(able))
    await _queue(conn, able, batch_id)
    return batch_id


async def _queue(conn: Connection, found: Sequence[Paper], batch_id: UUID) -> None:
    for paper in found:
        job = await jobs.of_document(conn, paper.id)
        if job is not None:
            await reread(conn, job, reprocess=str(batch_id))


def _told(only: Filter) -> dict[str, Any]:
    given = {name: value for name, value in asdict(only).items() if value is not None}
    return {n: v.isoformat() if isinstance(v, datetime) else v for n, v in given.items()}
