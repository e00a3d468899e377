"""Steps of the road, for tests that begin in the middle of it."""

import hashlib
from datetime import timedelta
from typing import Any
from uuid import uuid4

from docmill.core.documents import NewDocument
from docmill.core.jobs import Claimed, DocumentId, Finished, Job, JobId, Retry, StoredResult, settle
from docmill.core.owners import OwnerKey
from docmill.db.pool import Connection, Pool
from docmill.documents import queries
from docmill.queue import claim as queue_claim
from docmill.queue import enqueue
from docmill.queue import settle as queue_settle
from docmill.storage.contract import Store

ANN = OwnerKey("session:ann")
BOB = OwnerKey("session:bob")
LEASE = timedelta(minutes=5)


async def add_job(conn: Connection, owner: OwnerKey = ANN, **given: Any) -> JobId:
    """A queued job over a document that has no file."""
    document = NewDocument(
        DocumentId(uuid4()), hashlib.sha256(uuid4().bytes).hexdigest(), 1000, "application/pdf",
        "a.pdf", "upload", f"uploads/{uuid4()}", {},
    )  # fmt: skip
    job = enqueue.NewJob(
        JobId(uuid4()), document.id, owner, given.get("pipeline", "extract"), None, {},
        given.get("priority", 0), given.get("dedupe_key"),
    )  # fmt: skip
    await enqueue.ensure_owner(conn, owner)
    await queries.insert_document(conn, owner, document, keep=timedelta(days=7))
    await enqueue.add_job(conn, job)
    if given.get("enqueue", True):
        await enqueue.enqueue(conn, job)
    return job.id


async def add_stored_job(pool: Pool, store: Store, data: bytes, **given: Any) -> JobId:
    """A queued job over a stored file."""
    key, sha256 = f"uploads/{uuid4()}", hashlib.sha256(data).hexdigest()
    await store.put(key, data)
    document = NewDocument(
        DocumentId(uuid4()), sha256, len(data), given["content_type"], "a.pdf", "upload", key, {}
    )
    job = enqueue.NewJob(
        JobId(uuid4()), document.id, ANN, given["pipeline"], given.get("mapping"),
        given.get("options", {}), 0, None,
    )  # fmt: skip
    async with pool.connection() as conn:
        await enqueue.ensure_owner(conn, ANN)
        await queries.insert_document(conn, ANN, document, keep=timedelta(days=7))
        await enqueue.add_job(conn, job)
        await enqueue.enqueue(conn, job)
    return job.id


async def claim(conn: Connection, worker: str = "w1", **given: Any) -> list[Claimed]:
    return await queue_claim.claim(
        conn, worker, pipelines=given.get("pipelines", ["extract"]), slots=given.get("slots", 1),
        lease=given.get("lease", LEASE),
    )  # fmt: skip


async def claim_one(conn: Connection, worker: str = "w1") -> Claimed:
    (job,) = await claim(conn, worker)
    return job


def a_result(job: Claimed) -> Finished:
    key = f"results/{job.id}.{job.claim}.gz"
    return Finished(StoredResult(key, "application/json", 10, 8, "0" * 64, "1"))


async def finish(conn: Connection, job: Claimed) -> bool:
    """True when the job was still the caller's."""
    move = settle(job, a_result(job), retry=Retry(), chance=0)
    return job.id in await queue_settle.write_settlements(
        conn, [queue_settle.Settlement(job, move)]
    )


async def the(conn: Connection, job_id: JobId) -> Job:
    job = await enqueue.find_job(conn, job_id)
    assert job is not None
    return job
