"""POST /api/upload and POST /documents: files come in and become jobs."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any, ClassVar, Final

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel
from starlette.requests import Request

from docmill.core import asked
from docmill.core.documents import shown_filename
from docmill.core.faults import Faulted
from docmill.core.owners import Owner
from docmill.db import owners
from docmill.db.pool import connection
from docmill.ingest import intake, parts
from docmill.ingest.intake import Accepted, Outcome, Wanted
from docmill.ingest.staging import Staged
from docmill.web import problems, upload
from docmill.web.deps import Asker, Here, Site
from docmill.web.shapes import DocumentShape, JobShape, document_shape, shape
from docmill.web.upload import Received, Refused

router = APIRouter(tags=["upload"])

WINDOW: Final = timedelta(minutes=1)
SAYS: Final = {
    Outcome.CREATED: "File received and queued for conversion",
    Outcome.EXISTING: "This file was uploaded before; this is its job",
    Outcome.REQUEUED: "This file was uploaded before and failed; it was queued again",
}
FAULTS: Final = (
    "NOT_PDF", "UNSUPPORTED_TYPE", "UNKNOWN_PIPELINE", "UNKNOWN_MAPPING", "NO_FILE", "EMPTY_FILE",
    "TOO_MANY_FILES", "BAD_REQUEST", "UNAUTHORIZED", "CROSS_SITE", "TOO_SLOW", "TOO_LARGE",
    "KEY_REUSED", "RATE_LIMITED", "IO_ERROR", "DATABASE_DOWN", "DISK_FULL", "BUSY",
)  # fmt: skip


class FileOutcome(BaseModel):
    """What became of one file: a job, or the fault that kept it out."""

    model_config: ClassVar[ConfigDict] = ConfigDict(
        alias_generator=to_camel, populate_by_name=True, extra="allow"
    )

    success: bool
    message: str = Field(default="", examples=[SAYS[Outcome.CREATED]])
    filename: str = ""
    job_id: str = ""
    duplicate: bool = Field(default=False, description="The same content had come before")
    outcome: str = Field(default="", examples=["created", "existing", "requeued"])
    estimated_time: float = Field(default=0, description="Seconds until the job is done, about")
    job: JobShape | None = None
    document_id: str = ""
    document: DocumentShape | None = Field(default=None, description="Only from /documents")
    code: str = Field(default="", description="Set for a file that was refused, with `error`")
    error: str = ""


class UploadAnswer(FileOutcome):
    """One file: its outcome. Several: `jobs` has an outcome for each, in the order sent."""

    jobs: list[FileOutcome] = Field(default=[], description="Only when several files were sent")


FORM: Final[dict[str, Any]] = {
    "type": "object",
    "required": ["file"],
    "properties": {
        "file": {
            "type": "array",
            "items": {"type": "string", "format": "binary"},
            "description": "One file or several",
        },
        "pipeline": {"type": "string", "description": "GET /api/pipelines lists them"},
        "mapping": {"type": "string", "description": "GET /api/mappings lists them"},
        "priority": {"type": "integer", "description": "At most what the owner is granted"},
        "fields": {
            "type": "string",
            "maxLength": asked.LONGEST,
            "description": f"{asked.SAYS}. The result has them under `asked`",
            "examples": ["invoice_no:id,total:amount,due:date"],
        },
    },
}
DOCUMENTED: Final[dict[str, Any]] = {
    "parameters": [
        {
            "name": "Idempotency-Key",
            "in": "header",
            "schema": {"type": "string", "minLength": 1, "maxLength": 255},
            "description": "Repeat a request with its key, and it makes no second job",
        }
    ],
    "requestBody": {"required": True, "content": {"multipart/form-data": {"schema": FORM}}},
}


@router.post(
    "/api/upload",
    summary="Upload files; each becomes a job",
    response_model_exclude_unset=True,
    responses=problems.documented(*FAULTS),
    openapi_extra=DOCUMENTED,
)
async def upload_files(request: Request, here: Here, owner: Asker) -> UploadAnswer:
    wanted = Wanted(owner, here.rules.default_pipeline, source="upload")
    return together(await take_in(request, here, wanted))


@router.post(
    "/documents",
    summary="Send documents; the answer has their metadata and their jobs",
    response_model_exclude_unset=True,
    responses=problems.documented(*FAULTS),
    openapi_extra=DOCUMENTED,
)
async def send_documents(request: Request, here: Here, owner: Asker) -> UploadAnswer:
    wanted = Wanted(owner, here.rules.documents_pipeline, source="api")
    outcomes = await take_in(request, here, wanted)
    for outcome in outcomes:
        if outcome.job:
            outcome.document_id = outcome.job.document_id
            outcome.document = document_shape(outcome.job)
    return together(outcomes)


async def take_in(
    request: Request, here: Site, wanted: Wanted, desk: upload.Desk | None = None
) -> list[FileOutcome]:
    """Refuse what can be refused unread, read the body, accept its files."""
    try:
        await _check_room(here)
        await _check_rate(here, wanted.owner)
        boundary = parts.boundary_of(request.headers, upload.most_of(here.rules))
        key = upload.request_key_of(request.headers)
        desk = desk or upload.Desk(here.services.store, here.services.offer, here.rules)
        received = await upload.receive(request, boundary, desk)
        return await _accept_all(here, received, replace(wanted, request_key=key))
    except Faulted as exc:
        here.meters.uploads.labels(exc.fault.code).inc()
        raise


async def _check_room(here: Site) -> None:
    fullness = await here.services.store.fullness()
    if fullness is not None and fullness > here.rules.disk_limit:
        raise Faulted("DISK_FULL", f"{fullness:.0%} used", retryAfter=60)


async def _check_rate(here: Site, owner: Owner) -> None:
    if not here.rules.uploads_per_minute:
        return
    async with connection(here.services.pool) as conn:
        wait = await owners.count_upload(
            conn, owner.key, limit=here.rules.uploads_per_minute, window=WINDOW
        )
    if wait is not None:
        raise Faulted("RATE_LIMITED", retryAfter=max(1, round(wait)))


async def _accept_all(here: Site, received: Received, wanted: Wanted) -> list[FileOutcome]:
    """One file's fault is the answer; of several, each has its own outcome."""
    wishes = received.wishes
    wanted = replace(
        wanted,
        pipeline=wishes.pipeline or wanted.pipeline,
        mapping=wishes.mapping,
        priority=wishes.priority,
        options=wishes.options,
    )
    outcomes: list[FileOutcome] = []
    for position, file in enumerate(received.files):
        try:
            accepted = await _accept(here, file, wanted, position)
        except Faulted as exc:
            # A fault on our side would meet the other files as well.
            if len(received.files) == 1 or exc.fault.status >= 500:
                await received.abort(after=position)
                raise
            outcomes.append(_kept_out(here, file, exc))
        else:
            outcomes.append(await _let_in(here, accepted))
    return outcomes


async def _accept(here: Site, file: Staged | Refused, wanted: Wanted, position: int) -> Accepted:
    if isinstance(file, Refused):
        raise file.fault
    return await intake.accept(here.services.intake, file, wanted, position=position)


async def _let_in(here: Site, accepted: Accepted) -> FileOutcome:
    here.meters.uploads.labels(str(accepted.outcome)).inc()
    job = await shape(accepted.job, here.paces)
    return FileOutcome(
        success=True,
        message=SAYS[accepted.outcome],
        filename=job.filename,
        job_id=job.id,
        duplicate=accepted.outcome is not Outcome.CREATED,
        outcome=str(accepted.outcome),
        estimated_time=job.estimated_seconds_left or 0,
        job=job,
    )


def _kept_out(here: Site, file: Staged | Refused, exc: Faulted) -> FileOutcome:
    here.meters.uploads.labels(exc.fault.code).inc()
    return FileOutcome(
        success=False,
        message=exc.fault.says,
        filename=shown_filename(file.filename),
        **problems.describe(exc.fault, exc.facts),
    )


def together(outcomes: Sequence[FileOutcome]) -> UploadAnswer:
    if len(outcomes) == 1:
        (only,) = outcomes
        return UploadAnswer.model_construct(only.model_fields_set, **dict(only))
    good = sum(outcome.success for outcome in outcomes)
    return UploadAnswer(
        success=good == len(outcomes),
        message=f"{good} of {len(outcomes)} files received",
        jobs=list(outcomes),
    )
