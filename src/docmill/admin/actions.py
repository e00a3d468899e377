"""What an administrator does to anybody's job, and the audit log's row of it in one transaction."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from docmill.admin import queries
from docmill.core.faults import DocmillError
from docmill.core.jobs import Job, Status
from docmill.core.owners import Owner
from docmill.db import audit
from docmill.db.audit import AuditedAction
from docmill.db.pool import Connection, read_connection, write
from docmill.documents import reprocess
from docmill.jobs import queries as jobs_queries
from docmill.queue import enqueue, rescue
from docmill.web.auth import check_admin
from docmill.web.site import Site

AdminAction = Literal["retry", "cancel", "release"]
# One request retries so many; the next one goes on.
MOST_RETRIED: Final = 500


async def _retry(conn: Connection, job: Job) -> bool:
    if job.status is Status.FAILED and job.upload_key is None:
        raise DocmillError("EXPIRED", jobId=str(job.id))
    return job.status is Status.FAILED and await enqueue.retry_job(conn, job)


async def _cancel(conn: Connection, job: Job) -> bool:
    await jobs_queries.notify_cancelled(conn, job.id)
    return await jobs_queries.cancel_job(conn, job.id)


async def _release(conn: Connection, job: Job) -> bool:
    """Its worker is told to stop, as when a job is cancelled."""
    await jobs_queries.notify_cancelled(conn, job.id)
    return await rescue.clear_lease(conn, job.id)


ACTS: Final[Mapping[str, Callable[[Connection, Job], Awaitable[bool]]]] = {
    "retry": _retry,
    "cancel": _cancel,
    "release": _release,
}


async def act_on_job(site: Site, owner: Owner, job_id: str, action: AdminAction) -> Job:
    """Raises WRONG_STATE where the job's state does not allow it."""
    check_admin(owner)
    job = await write(site.pool, lambda conn: _act(conn, owner, job_id, action))
    site.work.ring()
    site.changes.ring()
    return job


async def _act(conn: Connection, owner: Owner, job_id: str, action: AdminAction) -> Job:
    job = await enqueue.find_job_by_text(conn, job_id)
    before = await queries.read_facts(conn, job.id)
    if not await ACTS[action](conn, job):
        raise DocmillError("WRONG_STATE", jobId=str(job.id), jobStatus=str(job.status))
    after = await queries.read_facts(conn, job.id)
    done = AuditedAction(owner.key, f"job.{action}", f"job:{job.id}")
    await audit.record(conn, done, before=before, after=after)
    return await enqueue.find_job_by_text(conn, job_id)


@dataclass(frozen=True, slots=True)
class FailedJobs:
    """Which failed jobs are meant; None means any, the newest first."""

    code: str | None = None
    pipeline: str | None = None
    limit: int = MOST_RETRIED


async def retry_failed(site: Site, owner: Owner, meant: FailedJobs) -> int:
    return await _act_on_failed(site, owner, meant, _retry_one)


async def reprocess_failed(site: Site, owner: Owner, meant: FailedJobs) -> int:
    """Their documents read again, each by a new job, as `docmill reprocess` does for its owner."""
    return await _act_on_failed(site, owner, meant, _reprocess_one)


async def _act_on_failed(
    site: Site,
    owner: Owner,
    meant: FailedJobs,
    act: Callable[[Connection, Owner, Job], Awaitable[bool]],
) -> int:
    """Each job by itself: one that somebody else retried meanwhile stops no other."""
    check_admin(owner)
    async with read_connection(site.pool) as conn:
        found = await queries.list_failed(
            conn, code=meant.code, pipeline=meant.pipeline, limit=meant.limit
        )
    count = 0
    for job in found:
        count += await write(site.pool, lambda conn, job=job: act(conn, owner, job))
    if count:
        site.work.ring()
        site.changes.ring()
    return count


async def _retry_one(conn: Connection, owner: Owner, job: Job) -> bool:
    before = await queries.read_facts(conn, job.id)
    if not await enqueue.retry_job(conn, job):
        return False
    after = await queries.read_facts(conn, job.id)
    done = AuditedAction(owner.key, "job.retry", f"job:{job.id}")
    await audit.record(conn, done, before=before, after=after)
    return True


async def _reprocess_one(conn: Connection, owner: Owner, job: Job) -> bool:
    """False where the document was read again since, or its file is gone."""
    newest = await enqueue.find_job_of_document(conn, job.document_id)
    if newest is None or newest.id != job.id or job.upload_key is None:
        return False
    new_id = await reprocess.enqueue_again(conn, job)
    done = AuditedAction(owner.key, "job.reprocess", f"job:{job.id}")
    await audit.record(conn, done, after={"job": str(new_id)})
    return True
