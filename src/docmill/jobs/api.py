"""Jobs: listed, looked at, retried, cancelled, deleted."""

import hashlib
import time
from contextlib import suppress
from dataclasses import fields
from datetime import UTC, datetime
from decimal import Decimal
from typing import Annotated, Any, ClassVar, Final

from fastapi import APIRouter, Header, Query
from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel
from starlette.responses import Response

from docmill.core.actions import list_actions
from docmill.core.documents import DocumentState
from docmill.core.faults import DocmillError
from docmill.core.jobs import ACTIVE, ENDED, Job, Status
from docmill.core.owners import Owner
from docmill.db.pool import Connection, read_connection, write
from docmill.documents import queries as documents_queries
from docmill.documents.queries import DocumentRow
from docmill.jobs import params, queries
from docmill.jobs.estimator import Estimator
from docmill.jobs.formats import list_formats
from docmill.jobs.kept import KeptAnswer, KeptLists, KeptStatuses
from docmill.jobs.live import LiveChanges
from docmill.jobs.params import JobListing, PipelineText, StatusText
from docmill.queue import enqueue
from docmill.queue.enqueue import find_own_job
from docmill.services.model_calls import list_calls
from docmill.web import params as web_params
from docmill.web import problems
from docmill.web.params import Cursor, CursorOrTimeText, Instant, MomentText
from docmill.web.site import CurrentOwner, CurrentSite, Site


class JobActionModel(BaseModel):
    """A request that helps; it needs no body."""

    model_config: ClassVar[ConfigDict] = ConfigDict(from_attributes=True)

    name: str = Field(examples=["retry"])
    label: str = Field(examples=["Try again"])
    method: str = Field(examples=["POST"])
    href: str


class JobModel(BaseModel):
    """A job as its owner sees it."""

    id: str
    document_id: str
    owner_session_id: str | None
    user_id: str | None
    filename: str
    original_filename: str
    content_type: str
    bytes: int
    sha256: str
    source: str = Field(examples=["upload"])
    pipeline: str = Field(description="What it is read as")
    requested_pipeline: str = Field(description="What was asked for", examples=["auto"])
    decision: str | None = Field(description="Why it is read so, where nobody said how")
    mapping: str | None
    status: str = Field(examples=["processing"])
    label: str = Field(examples=["Converting..."])
    priority: int
    progress: int
    stage: str
    upload_location: str | None
    result_location: str | None
    error_code: str | None
    error_message: str | None
    reason: str | None = Field(description="Why it failed, in a sentence")
    actions: list[JobActionModel] = Field(description="What can be done about it as it is now")
    summary: dict[str, Any] | None = Field(
        description="What was read, in short: title, number, date, amount, currency, note, check "
        "(how many values to look at) and state, each where it is known"
    )
    created_at: Instant
    updated_at: Instant
    queued_at: Instant | None
    started_at: Instant | None
    completed_at: Instant | None
    failed_at: Instant | None
    cancelled_at: Instant | None
    run_at: Instant | None = Field(
        description="When it runs at the earliest: its own time, or that of a waiting retry"
    )
    after: list[str] = Field(description="The jobs that it still waits for")
    leased_by: str | None
    lease_expires_at: Instant | None
    attempt_count: int
    expires_at: Instant | None
    download_count: int
    first_downloaded_at: Instant | None
    duplicate_of: str | None
    estimated_seconds_left: float | None


_COPIED: Final = tuple(
    name
    for name in JobModel.model_fields
    if name in {f.name for f in fields(Job)} - {"id", "document_id", "duplicate_of", "after"}
)


async def build_job(job: Job, estimator: Estimator) -> JobModel:
    owner, left = Owner(job.owner), await estimator.seconds_left(job)
    same: dict[str, Any] = {name: getattr(job, name) for name in _COPIED}
    return JobModel(
        **same,
        id=str(job.id),
        document_id=str(job.document_id),
        duplicate_of=str(job.duplicate_of) if job.duplicate_of else None,
        after=[str(one) for one in job.after or ()],
        owner_session_id=owner.session_id,
        user_id=owner.user_id,
        filename=job.original_filename,
        label=job.status.label,
        actions=[JobActionModel.model_validate(one) for one in list_actions(job)],
        upload_location=job.upload_key,
        result_location=job.result_key,
        estimated_seconds_left=None if left is None else round(left, 1),
    )


class UploadedDocument(BaseModel):
    """The file behind a job."""

    id: str
    filename: str
    original_filename: str
    content_type: str
    bytes: int
    sha256: str
    source: str
    upload_location: str | None
    created_at: Instant
    state: DocumentState = Field(description="GET /api/documents/{id} tells it later on")
    reason: str | None
    attempts: int


def build_document(job: JobModel, row: DocumentRow) -> UploadedDocument:
    """A job and its document are written in one transaction, so they are of the same age."""
    stands = {"state": row.state, "reason": row.reason, "attempts": row.attempts}
    return UploadedDocument.model_validate({**dict(job), "id": job.document_id, **stands})


class JobEventModel(BaseModel):
    """One line of a job's history."""

    model_config: ClassVar[ConfigDict] = ConfigDict(from_attributes=True)

    at: Instant
    kind: str
    worker: str | None
    meta: dict[str, Any]


class JobAttemptModel(BaseModel):
    """One try at a job. The stack and the detail stay with the operators."""

    model_config: ClassVar[ConfigDict] = ConfigDict(from_attributes=True)

    attempt: int
    worker: str
    started_at: Instant
    ended_at: Instant | None
    outcome: str | None
    error_code: str | None
    error_message: str | None = Field(validation_alias="sentence")
    duration_ms: int | None
    cpu_ms: int | None
    memory_bytes: int | None
    reason: str | None = Field(description="Why it failed, in a sentence")


class ModelCallModel(BaseModel):
    """A question that a language model was asked for this job."""

    model_config: ClassVar[ConfigDict] = ConfigDict(from_attributes=True)

    asked_at: Instant
    model: str
    purpose: str = Field(description="What was asked for", examples=["invoice"])
    prompt_version: str = Field(examples=["invoice-1"])
    outcome: str = Field(description="`answered`, or the code of what went wrong")
    took_ms: int
    prompt_tokens: int | None
    completion_tokens: int | None
    cost_usd: Decimal | None = Field(description="Where the operator has set the prices")


router = APIRouter(prefix="/api/jobs", tags=["jobs"])

MOST_DELETED: Final = 10_000
NEVER: Final = datetime.fromtimestamp(0, UTC)


class JobList(BaseModel):
    jobs: list[JobModel]
    active_count: int = Field(description="All the owner's jobs that have not ended")
    next_cursor: str | None = Field(description="For the next page; null on the last one")
    since: Instant = Field(description="Ask with this for whatever changes after this answer")
    deleted: list[str] = Field(default=[], description="With `since`: jobs deleted after it")


class FormatModel(BaseModel):
    """A format of `/download?format=`."""

    model_config: ClassVar[ConfigDict] = ConfigDict(from_attributes=True)

    name: str = Field(examples=["ubl"])
    label: str = Field(examples=["UBL 2.1"])
    ready: bool
    reason: str | None = Field(description="Why it can't be written now, in a sentence")
    draft: bool = Field(description="It can be had with `draft=true`, without what is missing")


class JobDetail(JobModel):
    formats: list[FormatModel] = Field(description="What its reading can be downloaded as")
    events: list[JobEventModel]
    attempts: list[JobAttemptModel]
    model_calls: list[ModelCallModel]


class JobAnswer(BaseModel):
    model_config: ClassVar[ConfigDict] = ConfigDict(alias_generator=to_camel, populate_by_name=True)

    success: bool
    job_id: str
    job: JobModel


@router.get(
    "",
    summary="The owner's jobs, newest first; with `since` those changed, oldest change first",
    response_model=JobList,
    responses=problems.fault_responses("BAD_REQUEST", "UNAUTHORIZED", "DATABASE_DOWN", "BUSY"),
)
async def list_jobs(
    site: CurrentSite,
    owner: CurrentOwner,
    since: Annotated[
        MomentText | None, Query(description="A time; only what changed after it")
    ] = None,
    status: Annotated[
        list[StatusText] | None, Query(description="One or several, with commas")
    ] = None,
    pipeline: PipelineText | None = None,
    q: Annotated[str | None, Query(description="A part of the file's name")] = None,
    cursor: CursorOrTimeText = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> Response:
    asked = params.parse_listing(params.parse_filter(status or [], pipeline, q), since, cursor)
    lists, name = (
        site.find(KeptLists),
        f"{owner.key}:{hashlib.sha256(repr((asked, limit)).encode()).hexdigest()}",
    )
    async with read_connection(site.pool) as conn:
        # The clock first: what changes after it is told to who asks again with it.
        clock = (await queries.read_clocks(conn, [owner.key])).get(owner.key, NEVER)
        kept = await lists.find(name)
        if kept and kept.is_of(owner.key, clock):
            lists.count(hit=True)
            return Response(kept.body, media_type="application/json")
        found = await _build_list(site, conn, owner, asked=asked, limit=limit, clock=clock)
    lists.count(hit=False)
    body = found.model_dump_json().encode()
    await lists.keep(name, KeptAnswer(owner.key, clock.isoformat(), body))
    return Response(body, media_type="application/json")


async def _build_list(
    site: Site, conn: Connection, owner: Owner, *, asked: JobListing, limit: int, clock: datetime
) -> JobList:
    found = await _list_page(conn, owner, asked, limit + 1)
    active = await queries.count_active(conn, owner.key)
    page, more = found[:limit], len(found) > limit
    until = _next_since(asked, page, clock, more=more)
    return JobList(
        jobs=[await build_job(job, site.find(Estimator)) for job in page],
        active_count=active,
        next_cursor=_next_cursor(asked, page[-1]) if more else None,
        since=until,
        deleted=await _list_gone(conn, owner, asked, until),
    )


async def _list_gone(
    conn: Connection, owner: Owner, asked: JobListing, until: datetime
) -> list[str]:
    """Those deleted in the time the answer is about; later ones belong to the next answer."""
    if asked.since is None:
        return []
    found = await queries.list_deleted(conn, owner.key, since=asked.since, limit=MOST_DELETED)
    return [str(each.job_id) for each in found if each.deleted_at <= until]


async def _list_page(conn: Connection, owner: Owner, asked: JobListing, limit: int) -> list[Job]:
    if asked.since is not None:
        return await queries.list_changed(
            conn, owner.key, asked.only, since=asked.since, limit=limit
        )
    return await queries.list_recent(conn, owner.key, asked.only, after=asked.after, limit=limit)


def _next_cursor(asked: JobListing, last: Job) -> str:
    if asked.since is not None:
        return web_params.write_cursor(last.updated_at)
    return web_params.write_cursor(Cursor(last.created_at, last.id))


def _next_since(asked: JobListing, page: list[Job], clock: datetime, *, more: bool) -> datetime:
    if asked.since is None:
        return clock
    if more:
        return page[-1].updated_at
    return max([clock, asked.since, *(job.updated_at for job in page)])


@router.get(
    "/{job_id}",
    summary="One job with its events and attempts; `Prefer: wait=N` waits for a change",
    response_model=JobDetail,
    responses=problems.fault_responses(*problems.LOOKUP_FAULTS)
    | {304: {"description": "As the ETag knows it"}},
)
async def one_job(
    job_id: str,
    site: CurrentSite,
    owner: CurrentOwner,
    prefer: Annotated[str | None, Header(examples=["wait=30"])] = None,
    if_none_match: Annotated[str | None, Header()] = None,
) -> Response:
    """Waits until the job differs from `If-None-Match`, or without one until it has ended."""
    wait = web_params.parse_wait(prefer)
    until = time.monotonic() + (wait or 0)
    with site.find(LiveChanges).waiting(owner.key) as waiter:
        while True:
            detail = await _load_detail(site, owner, job_id)
            left = until - time.monotonic()
            if (
                left <= 0
                or site.find(LiveChanges).closed
                or not _is_unchanged(detail, if_none_match)
            ):
                break
            await waiter.wait(left)
    headers = {"etag": _etag(detail), "cache-control": "private, no-cache", "vary": "Cookie"}
    if wait is not None:
        headers["preference-applied"] = f"wait={wait:.0f}"
    if if_none_match and _is_unchanged(detail, if_none_match):
        return Response(status_code=304, headers=headers)
    return Response(detail.model_dump_json(), headers=headers, media_type="application/json")


async def _load_detail(site: Site, owner: Owner, job_id: str) -> JobDetail:
    async with read_connection(site.pool) as conn:
        job = await find_own_job(conn, owner, job_id)
        events = await queries.list_events(conn, job.id)
        # Both come with a claim: of a job that nobody has claimed yet there are none.
        attempts = await queries.list_attempts(conn, job.id) if job.claim else []
        calls = await list_calls(conn, job.id) if job.claim else []
    return JobDetail(
        **dict(await build_job(job, site.find(Estimator))),
        formats=[FormatModel.model_validate(one) for one in await list_formats(site, job)],
        events=[JobEventModel.model_validate(event) for event in events],
        attempts=[JobAttemptModel.model_validate(attempt) for attempt in attempts],
        model_calls=[ModelCallModel.model_validate(call) for call in calls],
    )


def _etag(job: JobModel) -> str:
    """Weak: the time left and the lease move without a change of the job."""
    return f'W/"{job.id[:8]}-{job.updated_at:%Y%m%d%H%M%S%f}"'


def _is_unchanged(job: JobModel, if_none_match: str | None) -> bool:
    if if_none_match is None:
        return Status(job.status) not in ENDED
    return _etag(job) in {tag.strip() for tag in if_none_match.split(",")}


@router.post(
    "/{job_id}/retry",
    summary="Queue a failed job again",
    responses=problems.fault_responses(
        *problems.LOOKUP_FAULTS, "CROSS_SITE", "WRONG_STATE", "EXPIRED"
    ),
)
async def retry_job(job_id: str, site: CurrentSite, owner: CurrentOwner) -> JobAnswer:
    async def retry(conn: Connection) -> Job:
        job = await find_own_job(conn, owner, job_id)
        if job.status is Status.FAILED and job.upload_key is None:
            raise DocmillError("EXPIRED", jobId=str(job.id))
        if job.status is not Status.FAILED or not await enqueue.retry_job(conn, job):
            raise DocmillError("WRONG_STATE", jobId=str(job.id), jobStatus=str(job.status))
        return await find_own_job(conn, owner, job_id)

    job = await write(site.pool, retry)
    await site.find(KeptStatuses).forget(str(job.id))
    site.work.ring()
    return await _answer_change(site, job)


@router.post(
    "/{job_id}/cancel",
    summary="Cancel a job that has not ended",
    responses=problems.fault_responses(*problems.LOOKUP_FAULTS, "CROSS_SITE", "WRONG_STATE"),
)
async def cancel_job(job_id: str, site: CurrentSite, owner: CurrentOwner) -> JobAnswer:
    async def cancel(conn: Connection) -> Job:
        job = await find_own_job(conn, owner, job_id)
        if not await queries.cancel_job(conn, job.id):
            raise DocmillError("WRONG_STATE", jobId=str(job.id), jobStatus=str(job.status))
        await queries.notify_cancelled(conn, job.id)
        return await find_own_job(conn, owner, job_id)

    return await _answer_change(site, await write(site.pool, cancel))


async def _answer_change(site: Site, job: Job) -> JobAnswer:
    site.changes.ring()
    return JobAnswer(
        success=True, job_id=str(job.id), job=await build_job(job, site.find(Estimator))
    )


@router.delete(
    "/{job_id}",
    status_code=204,
    summary="Delete a job with its history, its result and its file",
    responses=problems.fault_responses(*problems.LOOKUP_FAULTS, "CROSS_SITE"),
)
async def delete_job(job_id: str, site: CurrentSite, owner: CurrentOwner) -> None:
    async def delete(conn: Connection) -> list[str | None]:
        job = await find_own_job(conn, owner, job_id)
        if job.status in ACTIVE and await queries.cancel_job(conn, job.id):
            await queries.notify_cancelled(conn, job.id)
        document_id, keys = await queries.delete_job(conn, job.id)
        return [
            *keys,
            await documents_queries.drop_orphan_document(conn, document_id)
            if document_id
            else None,
        ]

    keys = await write(site.pool, delete)
    await site.find(KeptStatuses).forget(job_id)
    site.changes.ring()
    # The rows are gone; bytes that cannot be deleted now are found by the sweep of orphans.
    with suppress(DocmillError):
        for key in filter(None, keys):
            await site.store.delete(key)
