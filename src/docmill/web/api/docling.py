"""docling-serve's front door: its clients send a file here, poll and fetch, and it is a job.

Only what its asynchronous file conversion needs. The result has Markdown, text and JSON whatever
was asked for; options of docling's own models are let be.
"""

import time
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from pathlib import PurePath
from typing import Annotated, Any, Final

from fastapi import APIRouter, Depends, Query
from pydantic import BaseModel, Field
from starlette.requests import Request

from docmill import __version__
from docmill.core.documents import clean_text
from docmill.core.faults import FAULTS, Faulted
from docmill.core.jobs import ENDED, Job, Status
from docmill.core.owners import Owner
from docmill.db import results
from docmill.db.pool import reading
from docmill.forms import docling, markdown
from docmill.ingest.checks import Offer
from docmill.ingest.intake import Wanted
from docmill.web import auth, problems
from docmill.web.api.jobs import LOOKUP
from docmill.web.api.results import read_data
from docmill.web.api.upload import DOCUMENTED, take_in
from docmill.web.api.upload import FAULTS as UPLOAD_FAULTS
from docmill.web.asking import LONGEST_WAIT
from docmill.web.deps import Here, Site, own_job
from docmill.web.upload import Desk, Wishes

router = APIRouter(tags=["docling"])

PIPELINE: Final = "extract"
STATUSES: Final = {
    Status.UPLOADED: "pending",
    Status.QUEUED: "pending",
    Status.PROCESSING: "started",
    Status.COMPLETE: "success",
    Status.FAILED: "failure",
    Status.CANCELLED: "failure",
}


async def the_caller(request: Request, here: Here) -> Owner:
    """docling's clients send their key in a header of its own: a token, or the session's cookie."""
    key = request.headers.get("x-api-key")
    token = auth.bearer(request.headers)
    if token is None and here.rules.auth_mode != "session":
        token = key
    if token is None and key and auth.COOKIE_FORM.fullmatch(key):
        request.cookies[auth.COOKIE] = key
    owner = await auth.owner_by(token, request, here.rules, here.tokens)
    request.state.owner = owner.key
    return owner


Caller = Annotated[Owner, Depends(the_caller)]


class TaskMeta(BaseModel):
    num_docs: int = 1
    num_processed: int = 0
    num_succeeded: int = 0
    num_failed: int = 0


class TaskStatus(BaseModel):
    """A job as docling-serve tells of a task."""

    task_id: str
    task_type: str = "convert"
    task_status: str = Field(examples=["pending", "started", "success", "failure"])
    task_position: int | None = None
    task_meta: TaskMeta
    error_message: str | None = None


class Exported(BaseModel):
    filename: str
    md_content: str
    json_content: dict[str, Any] = Field(description="A DoclingDocument")
    html_content: str | None = None
    text_content: str
    doctags_content: str | None = None


class Converted(BaseModel):
    """The result of a task that succeeded."""

    document: Exported
    status: str = "success"
    errors: list[dict[str, Any]] = []
    processing_time: float = Field(description="Seconds")
    timings: dict[str, Any] = {}


class Failure(BaseModel):
    category: str = Field(examples=["timeout", "unknown"])
    message: str
    retryable: bool = False
    phase: str = "execution"
    details: dict[str, str]


class TaskFailure(BaseModel):
    """The end of a task that failed."""

    kind: str = "TaskFailureResult"
    failure: Failure


@router.get("/version", summary="What answers here")
async def version() -> dict[str, str]:
    return {"docmill": __version__}


@router.post(
    "/v1/convert/file/async",
    summary="Convert one file, as docling-serve does",
    responses=problems.documented(*UPLOAD_FAULTS),
    openapi_extra=DOCUMENTED,
)
async def convert_file(request: Request, here: Here, owner: Caller) -> TaskStatus:
    """One file a task, in the field `files`."""
    services, alone = here.services, replace(here.rules, max_files=1)
    desk = Desk(services.store, services.offer, alone, frozenset({"target_type"}), _wishes)
    (outcome,) = await take_in(request, here, Wanted(owner, PIPELINE, source="api"), desk)
    return await _status(here, owner, outcome.job_id)


def _wishes(values: Mapping[str, str], _offer: Offer) -> Wishes:
    """A result comes in the answer, or not at all; its clients understand this sentence."""
    if values.get("target_type", "inbody") != "inbody":
        why = "target_type: input should be inbody; presigned_url is not offered"
        raise Faulted("BAD_REQUEST", why, detail=why)
    return Wishes()


@router.get(
    "/v1/status/poll/{task_id}",
    summary="How a task stands; waits so many seconds for its end",
    responses=problems.documented(*LOOKUP),
)
async def poll_status(
    task_id: str, here: Here, owner: Caller, wait: Annotated[float, Query(ge=0)] = 0
) -> TaskStatus:
    until = time.monotonic() + min(wait, LONGEST_WAIT)
    with here.live.waiting(owner.key) as waiter:
        while True:
            status = await _status(here, owner, task_id)
            left = until - time.monotonic()
            if left <= 0 or here.live.closed or status.task_status in {"success", "failure"}:
                return status
            await waiter.wait(left)


@router.get(
    "/v1/result/{task_id}",
    summary="What a task gave, or why it failed",
    responses=problems.documented(*LOOKUP, "NOT_READY", "EXPIRED", "IO_ERROR"),
)
async def task_result(task_id: str, here: Here, owner: Caller) -> Converted | TaskFailure:
    async with reading(here.services.pool) as conn:
        job = await own_job(conn, owner, task_id)
        result = await results.of_job(conn, job.id, "data")
    if job.status not in ENDED:
        raise Faulted("NOT_READY", jobId=str(job.id), jobStatus=str(job.status))
    if job.status is not Status.COMPLETE:
        return _failure(job)
    if result is None or job.pipeline != PIPELINE:
        raise Faulted("EXPIRED", jobId=str(job.id))
    async with here.exporting:
        data = await read_data(here, result)
    return _converted(job, data)


def _failure(job: Job) -> TaskFailure:
    code = job.error_code or "CANCELLED"
    category = "timeout" if code in {"TIMED_OUT", "GW_TIMEOUT"} else "unknown"
    says = job.error_message or FAULTS[code].says
    return TaskFailure(failure=Failure(category=category, message=says, details={"code": code}))


def _converted(job: Job, data: Any) -> Converted:
    name = PurePath(job.original_filename).stem or "document"
    took = timedelta()
    if job.completed_at and job.started_at:
        took = job.completed_at - job.started_at
    return Converted(
        document=Exported(
            filename=job.original_filename,
            md_content=markdown.marked(data),
            json_content=docling.document(data, clean_text(name)),
            text_content=markdown.plain(data),
        ),
        processing_time=round(took.total_seconds(), 3),
    )


async def _status(here: Site, owner: Owner, task_id: str) -> TaskStatus:
    async with reading(here.services.pool) as conn:
        job = await own_job(conn, owner, task_id)
    ended, good = job.status in ENDED, job.status is Status.COMPLETE
    meta = TaskMeta(num_processed=ended, num_succeeded=good, num_failed=ended and not good)
    return TaskStatus(
        task_id=str(job.id),
        task_status=STATUSES[job.status],
        task_meta=meta,
        error_message=job.error_message,
    )
