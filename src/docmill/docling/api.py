"""docling-serve's front door: its clients send a file here, poll and fetch, and it is a job.

Only what its asynchronous file conversion needs. The result has Markdown, text and JSON whatever
was asked for; options of docling's own models are let be.
"""

from datetime import timedelta
from pathlib import PurePath
from typing import Annotated, Any, Final

from fastapi import APIRouter, Depends, Query
from pydantic import BaseModel, Field
from starlette.requests import Request

from docmill import __version__
from docmill.core.faults import FAULTS, DocmillError
from docmill.core.installed import find_rooms
from docmill.core.jobs import ENDED, Job, Status
from docmill.core.owners import Owner
from docmill.core.plugins import JobAccess, resolve
from docmill.core.texts import clean_text
from docmill.docling.document import build_document
from docmill.web import auth, problems
from docmill.web.params import LONGEST_WAIT
from docmill.web.sessions import COOKIE_FORM, add_cookie
from docmill.web.site import CurrentSite

router = APIRouter(tags=["docling"])

MARKDOWN, TEXT = "markdown", "text"  # formats that a result is asked for
FORM: Final[dict[str, Any]] = {
    "type": "object",
    "required": ["files"],
    "properties": {
        "files": {"type": "string", "format": "binary", "description": "One file"},
        "target_type": {"type": "string", "enum": ["inbody"]},
    },
}


async def identify_caller(request: Request, site: CurrentSite) -> Owner:
    """docling's clients send their key in a header of its own: a token, or the session's cookie."""
    key = request.headers.get("x-api-key")
    token = auth.bearer_token(request.headers)
    if token is None and (auth.is_key(key) or site.config.auth_mode in auth.USER_MODES):
        token = key
    if token is None and key and COOKIE_FORM.fullmatch(key):
        add_cookie(request, site.auth.sessions.cookie, key)
    owner = await site.auth.identify_by(token, request)
    request.state.owner = owner.key
    return owner


Caller = Annotated[Owner, Depends(identify_caller)]


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


class ExportedDocument(BaseModel):
    filename: str
    md_content: str
    json_content: dict[str, Any] = Field(description="A DoclingDocument")
    html_content: str | None = None
    text_content: str
    doctags_content: str | None = None


class ConversionResult(BaseModel):
    """The result of a task that succeeded."""

    document: ExportedDocument
    status: str = "success"
    errors: list[dict[str, Any]] = []
    processing_time: float = Field(description="Seconds")
    timings: dict[str, Any] = {}


class TaskFault(BaseModel):
    category: str = Field(examples=["timeout", "unknown"])
    message: str
    retryable: bool = False
    phase: str = "execution"
    details: dict[str, str]


class TaskFailure(BaseModel):
    """The end of a task that failed."""

    kind: str = "TaskFailureResult"
    failure: TaskFault


@router.get("/version", summary="What answers here")
async def version() -> dict[str, str]:
    return {"docmill": __version__}


@router.post(
    "/v1/convert/file/async",
    summary="Convert one file, as docling-serve does",
    responses=problems.fault_responses(*problems.UPLOAD_FAULTS),
    openapi_extra={
        "requestBody": {"required": True, "content": {"multipart/form-data": {"schema": FORM}}}
    },
)
async def convert_file(request: Request, site: CurrentSite, owner: Caller) -> TaskStatus:
    """One file a task, in the field `files`."""
    pipeline = find_pipeline()
    check = {"target_type": _check_target}
    return _to_status(await site.find(JobAccess).submit(request, owner, pipeline, check=check))


def find_pipeline() -> str:
    """The pipeline whose results can be written as Markdown and as text."""
    formats = find_rooms().formats.items()
    return next(name for name, own in formats if own.keys() >= {MARKDOWN, TEXT})


def _check_target(value: str) -> None:
    """A result comes in the answer, or not at all; its clients understand this sentence."""
    if value != "inbody":
        why = "target_type: input should be inbody; presigned_url is not offered"
        raise DocmillError("BAD_REQUEST", why, detail=why)


@router.get(
    "/v1/status/poll/{task_id}",
    summary="How a task stands; waits so many seconds for its end",
    responses=problems.fault_responses(*problems.LOOKUP_FAULTS),
)
async def poll_status(
    task_id: str, site: CurrentSite, owner: Caller, wait: Annotated[float, Query(ge=0)] = 0
) -> TaskStatus:
    seconds = min(wait, LONGEST_WAIT)
    return _to_status(await site.find(JobAccess).wait_for_end(owner, task_id, seconds))


@router.get(
    "/v1/result/{task_id}",
    summary="What a task gave, or why it failed",
    responses=problems.fault_responses(
        *problems.LOOKUP_FAULTS, "NOT_READY", "EXPIRED", "IO_ERROR", "DAMAGED"
    ),
)
async def task_result(
    task_id: str, site: CurrentSite, owner: Caller
) -> ConversionResult | TaskFailure:
    access = site.find(JobAccess)
    job = await access.find_job(owner, task_id)
    if job.status in ENDED and job.status is not Status.COMPLETE:
        return _to_failure(job)
    if job.status is Status.COMPLETE and job.pipeline != find_pipeline():
        raise DocmillError("EXPIRED", jobId=str(job.id))
    return _to_result(job, await access.read_data(job))


def _to_failure(job: Job) -> TaskFailure:
    code = job.error_code or "CANCELLED"
    category = "timeout" if code in {"TIMED_OUT", "GW_TIMEOUT"} else "unknown"
    says = job.error_message or FAULTS[code].says
    return TaskFailure(failure=TaskFault(category=category, message=says, details={"code": code}))


def _to_result(job: Job, data: Any) -> ConversionResult:
    name = PurePath(job.original_filename).stem or "document"
    formats = find_rooms().formats[job.pipeline]
    took = timedelta()
    if job.completed_at and job.started_at:
        took = job.completed_at - job.started_at
    return ConversionResult(
        document=ExportedDocument(
            filename=job.original_filename,
            md_content=resolve(formats[MARKDOWN].write)(data, name).decode(),
            json_content=build_document(data, clean_text(name)),
            text_content=resolve(formats[TEXT].write)(data, name).decode(),
        ),
        processing_time=round(took.total_seconds(), 3),
    )


def _to_status(job: Job) -> TaskStatus:
    ended, good = job.status in ENDED, job.status is Status.COMPLETE
    meta = TaskMeta(num_processed=ended, num_succeeded=good, num_failed=ended and not good)
    return TaskStatus(
        task_id=str(job.id),
        task_status=job.status.row.docling_word,
        task_meta=meta,
        error_message=job.error_message,
    )
