"""Jobs: listed, looked at, retried, cancelled, deleted."""

import time
from contextlib import suppress
from datetime import UTC, datetime
from typing import Annotated, ClassVar, Final

from fastapi import APIRouter, Header, Query
from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel
from starlette.responses import JSONResponse, Response

from docmill.core.faults import Faulted
from docmill.core.jobs import ACTIVE, ENDED, Job, Status
from docmill.core.owners import Owner
from docmill.db import documents, history, jobs, lists
from docmill.db.lists import Place
from docmill.db.pool import Connection, connection, reading
from docmill.web import asking, problems
from docmill.web.asking import Listing
from docmill.web.deps import Asker, Here, Site, own_job
from docmill.web.shapes import (
    AttemptShape,
    EventShape,
    Instant,
    JobShape,
    attempt_shape,
    event_shape,
    shape,
)

router = APIRouter(prefix="/api/jobs", tags=["jobs"])

MOST_DELETED: Final = 10_000
LOOKUP: Final = ("UNAUTHORIZED", "FORBIDDEN", "JOB_NOT_FOUND", "DATABASE_DOWN", "BUSY")


class JobList(BaseModel):
    jobs: list[JobShape]
    active_count: int = Field(description="All the owner's jobs that have not ended")
    next_cursor: str | None = Field(description="For the next page; null on the last one")
    since: Instant = Field(description="Ask with this for whatever changes after this answer")
    deleted: list[str] = Field(default=[], description="With `since`: jobs deleted after it")


class JobDetail(JobShape):
    events: list[EventShape]
    attempts: list[AttemptShape]


class JobAnswer(BaseModel):
    model_config: ClassVar[ConfigDict] = ConfigDict(alias_generator=to_camel, populate_by_name=True)

    success: bool
    job_id: str
    job: JobShape


@router.get(
    "",
    summary="The owner's jobs, newest first; with `since` those changed, oldest change first",
    responses=problems.documented("BAD_REQUEST", "UNAUTHORIZED", "DATABASE_DOWN", "BUSY"),
)
async def list_jobs(
    here: Here,
    owner: Asker,
    since: Annotated[str | None, Query(description="A time; only what changed after it")] = None,
    status: Annotated[list[str] | None, Query(description="One or several, with commas")] = None,
    pipeline: str | None = None,
    q: Annotated[str | None, Query(description="A part of the file's name")] = None,
    cursor: Annotated[str | None, Query(description="`next_cursor` of the page before")] = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> JobList:
    asked = asking.listing(asking.filter_of(status or [], pipeline, q), since, cursor)
    async with reading(here.services.pool) as conn:
        # The clock first: what changes after it is told to who asks again with it.
        clocks = await lists.clocks(conn, [owner.key])
        found = await _found(conn, owner, asked, limit + 1)
        active = await lists.active_count(conn, owner.key)
        page, more = found[:limit], len(found) > limit
        clock = clocks.get(owner.key, datetime.fromtimestamp(0, UTC))
        until = _since(asked, page, clock, more=more)
        gone = await _gone(conn, owner, asked, until)
    return JobList(
        jobs=[await shape(job, here.paces) for job in page],
        active_count=active,
        next_cursor=_next(asked, page[-1]) if more else None,
        since=until,
        deleted=gone,
    )


async def _gone(conn: Connection, owner: Owner, asked: Listing, until: datetime) -> list[str]:
    """Those deleted in the time the answer is about; later ones belong to the next answer."""
    if asked.since is None:
        return []
    found = await lists.deleted(conn, owner.key, since=asked.since, limit=MOST_DELETED)
    return [str(each.job_id) for each in found if each.deleted_at <= until]


async def _found(conn: Connection, owner: Owner, asked: Listing, limit: int) -> list[Job]:
    if asked.since is not None:
        return await lists.changed(conn, owner.key, asked.only, since=asked.since, limit=limit)
    return await lists.recent(conn, owner.key, asked.only, after=asked.after, limit=limit)


def _next(asked: Listing, last: Job) -> str:
    if asked.since is not None:
        return asking.cursor_of(last.updated_at)
    return asking.cursor_of(Place(last.created_at, last.id))


def _since(asked: Listing, page: list[Job], clock: datetime, *, more: bool) -> datetime:
    if asked.since is None:
        return clock
    if more:
        return page[-1].updated_at
    return max([clock, asked.since, *(job.updated_at for job in page)])


@router.get(
    "/{job_id}",
    summary="One job with its events and attempts; `Prefer: wait=N` waits for a change",
    response_model=JobDetail,
    responses=problems.documented(*LOOKUP) | {304: {"description": "As the ETag knows it"}},
)
async def one_job(
    job_id: str,
    here: Here,
    owner: Asker,
    prefer: Annotated[str | None, Header(examples=["wait=30"])] = None,
    if_none_match: Annotated[str | None, Header()] = None,
) -> Response:
    """Waits until the job differs from `If-None-Match`, or without one until it has ended."""
    wait = asking.seconds_to_wait(prefer)
    until = time.monotonic() + (wait or 0)
    with here.live.waiting(owner.key) as waiter:
        while True:
            detail = await _detail(here, owner, job_id)
            left = until - time.monotonic()
            if left <= 0 or here.live.closed or not _as_before(detail, if_none_match):
                break
            await waiter.wait(left)
    headers = {"etag": _etag(detail), "cache-control": "private, no-cache", "vary": "Cookie"}
    if wait is not None:
        headers["preference-applied"] = f"wait={wait:.0f}"
    if if_none_match and _as_before(detail, if_none_match):
        return Response(status_code=304, headers=headers)
    return JSONResponse(detail.model_dump(mode="json"), headers=headers)


async def _detail(here: Site, owner: Owner, job_id: str) -> JobDetail:
    async with reading(here.services.pool) as conn:
        job = await own_job(conn, owner, job_id)
        events = await history.events(conn, job.id)
        attempts = await history.attempts(conn, job.id)
    return JobDetail(
        **dict(await shape(job, here.paces)),
        events=[event_shape(event) for event in events],
        attempts=[attempt_shape(attempt) for attempt in attempts],
    )


def _etag(job: JobShape) -> str:
    """Weak: the time left and the lease move without a change of the job."""
    return f'W/"{job.id[:8]}-{job.updated_at:%Y%m%d%H%M%S%f}"'


def _as_before(job: JobShape, if_none_match: str | None) -> bool:
    if if_none_match is None:
        return Status(job.status) not in ENDED
    return _etag(job) in {tag.strip() for tag in if_none_match.split(",")}


@router.post(
    "/{job_id}/retry",
    summary="Queue a failed job again",
    responses=problems.documented(*LOOKUP, "CROSS_SITE", "WRONG_STATE", "EXPIRED"),
)
async def retry_job(job_id: str, here: Here, owner: Asker) -> JobAnswer:
    async with connection(here.services.pool) as conn:
        job = await own_job(conn, owner, job_id)
        if job.status is Status.FAILED and job.upload_key is None:
            raise Faulted("EXPIRED", jobId=str(job.id))
        if job.status is not Status.FAILED or not await jobs.retry(conn, job):
            raise Faulted("WRONG_STATE", jobId=str(job.id), jobStatus=str(job.status))
        job = await own_job(conn, owner, job_id)
    here.services.work.ring()
    return await _changed(here, job)


@router.post(
    "/{job_id}/cancel",
    summary="Cancel a job that has not ended",
    responses=problems.documented(*LOOKUP, "CROSS_SITE", "WRONG_STATE"),
)
async def cancel_job(job_id: str, here: Here, owner: Asker) -> JobAnswer:
    async with connection(here.services.pool) as conn:
        job = await own_job(conn, owner, job_id)
        if not await jobs.cancel(conn, job.id):
            raise Faulted("WRONG_STATE", jobId=str(job.id), jobStatus=str(job.status))
        await jobs.tell_cancelled(conn, job.id)
        job = await own_job(conn, owner, job_id)
    return await _changed(here, job)


async def _changed(here: Site, job: Job) -> JobAnswer:
    here.services.changes.ring()
    return JobAnswer(success=True, job_id=str(job.id), job=await shape(job, here.paces))


@router.delete(
    "/{job_id}",
    status_code=204,
    summary="Delete a job with its history, its result and its file",
    responses=problems.documented(*LOOKUP, "CROSS_SITE"),
)
async def delete_job(job_id: str, here: Here, owner: Asker) -> None:
    async with connection(here.services.pool) as conn:
        job = await own_job(conn, owner, job_id)
        if job.status in ACTIVE and await jobs.cancel(conn, job.id):
            await jobs.tell_cancelled(conn, job.id)
        document_id, keys = await jobs.delete(conn, job.id)
        upload_key = document_id and await documents.drop_orphan(conn, document_id)
    here.services.changes.ring()
    # The rows are gone; bytes that cannot be deleted now are found by the sweep of orphans.
    with suppress(Faulted):
        for key in filter(None, [*keys, upload_key]):
            await here.services.store.delete(key)
