"""Documents that are already here, read again: each by a job of its own."""

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any, Final
from uuid import UUID, uuid4

from docmill.core.jobs import ACTIVE, DocumentId, Job, JobId, Status
from docmill.core.owners import Owner, OwnerKey
from docmill.db.pool import Connection
from docmill.documents import queries
from docmill.documents.queries import DocumentFilter, DocumentRow
from docmill.queue import enqueue

MOST_DOCUMENTS: Final = 500


async def enqueue_again(conn: Connection, job: Job, **options: str) -> JobId:
    """A new job over the same document, as its last one was asked for."""
    again = enqueue.NewJob(
        id=JobId(uuid4()),
        document_id=job.document_id,
        owner=OwnerKey(job.owner),
        pipeline=job.requested_pipeline,
        mapping=job.mapping,
        options={**await enqueue.read_options(conn, job.id), **options},
        priority=job.priority,
        dedupe_key=None,
    )
    await enqueue.add_job(conn, again)
    await enqueue.enqueue(conn, again)
    return again.id


async def retry(conn: Connection, document_id: DocumentId) -> JobId | None:
    """The failed job of a document queued again, or a new one where it had ended otherwise.

    None where the document is gone from the store, or still under way.
    """
    job = await enqueue.find_job_of_document(conn, document_id)
    if job is None or job.upload_key is None or job.status in ACTIVE:
        return None
    if job.status is Status.FAILED:
        return job.id if await enqueue.retry_job(conn, job) else None
    return await enqueue_again(conn, job)


async def reprocess(conn: Connection, asker: Owner, only: DocumentFilter, limit: int) -> UUID:
    """Read again whatever a filter finds, the newest first; what is under way is left alone."""
    batch_id = uuid4()
    found = await queries.list_documents(
        conn, asker, only, after=None, limit=min(limit, MOST_DOCUMENTS)
    )
    able = [document for document in found if document.upload_key and document.status not in ACTIVE]
    await enqueue.ensure_owner(conn, asker.key)
    await queries.begin_batch(
        conn, batch_id, asker.key, asked=_describe_filter(only), total=len(able)
    )
    await _enqueue_all(conn, able, batch_id)
    return batch_id


async def _enqueue_all(conn: Connection, found: Sequence[DocumentRow], batch_id: UUID) -> None:
    for document in found:
        job = await enqueue.find_job_of_document(conn, document.id)
        if job is not None:
            await enqueue_again(conn, job, reprocess=str(batch_id))


def _describe_filter(only: DocumentFilter) -> dict[str, Any]:
    given = {name: value for name, value in asdict(only).items() if value is not None}
    return {n: v.isoformat() if isinstance(v, datetime) else v for n, v in given.items()}
