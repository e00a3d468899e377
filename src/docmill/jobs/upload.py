"""POST /api/upload and POST /documents: files come in and become jobs."""

import math
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, Final, cast
from uuid import UUID

from fastapi import APIRouter
from fastapi.routing import APIRoute
from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel
from starlette.requests import Request
from starlette.types import Receive, Scope, Send

from docmill.core import field_request
from docmill.core.documents import clean_filename
from docmill.core.faults import DocmillError
from docmill.core.installed import PipelineCatalog
from docmill.core.jobs import DocumentId
from docmill.core.owners import Owner
from docmill.db.pool import read_connection, write
from docmill.documents import accept, queries, quotas
from docmill.documents import upload as uploads
from docmill.documents.accept import Accepted, Acceptor, AcceptOutcome, JobRequest
from docmill.documents.assignments import OwnerChoices
from docmill.documents.multipart import LONGEST_FIELD
from docmill.documents.staging import StagedFile
from docmill.documents.upload import ReceivedUpload, RefusedFile
from docmill.jobs.api import JobModel, UploadedDocument, build_document, build_job
from docmill.jobs.estimator import Estimator
from docmill.jobs.preferences import apply_preferences, parse_preferences
from docmill.services.outbound import LONGEST_URL
from docmill.storage.contract import Store
from docmill.web import problems
from docmill.web.config import QuotaConfig
from docmill.web.limits import Grant, RequestSender
from docmill.web.params import check_texts
from docmill.web.responses import EncodedJson
from docmill.web.site import CurrentOwner, CurrentSite, Site, identify_owner


class UploadRoute(APIRoute):
    """What its endpoint takes is found here, and its answer is encoded once.

    The endpoint's signature still says what the description of the API tells.
    """

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] not in self.methods:
            await super().handle(scope, receive, send)
            return
        request = Request(scope, receive)
        await check_texts(request)  # as with every route of the application
        owner = await identify_owner(request)
        answer: UploadAnswer = await self.endpoint(request, scope["app"].state.site, owner)
        encoded = answer.model_dump_json(by_alias=True, exclude_unset=True).encode()
        await EncodedJson(encoded)(scope, receive, send)


router = APIRouter(tags=["upload"], route_class=UploadRoute)

NO_QUOTAS: Final = QuotaConfig()
GAUGE_SECONDS: Final = 0.2

SAYS: Final = {
    AcceptOutcome.CREATED: "File received and queued for conversion",
    AcceptOutcome.EXISTING: "This file was uploaded before; this is its job",
    AcceptOutcome.REQUEUED: "This file was uploaded before and failed; it was queued again",
}


class FileOutcome(BaseModel):
    """What became of one file: a job, or the fault that kept it out."""

    model_config: ClassVar[ConfigDict] = ConfigDict(
        alias_generator=to_camel, populate_by_name=True, extra="allow"
    )

    success: bool
    message: str = Field(default="", examples=[SAYS[AcceptOutcome.CREATED]])
    filename: str = ""
    job_id: str = ""
    duplicate: bool = Field(default=False, description="The same content had come before")
    outcome: str = Field(default="", examples=["created", "existing", "requeued"])
    estimated_time: float = Field(default=0, description="Seconds until the job is done, about")
    job: JobModel | None = None
    document_id: str = ""
    document: UploadedDocument | None = Field(default=None, description="Only from /documents")
    code: str = Field(default="", description="Set for a file that was refused, with `error`")
    error: str = ""


class UploadAnswer(FileOutcome):
    """One file: its outcome. Several: `jobs` has an outcome for each, in the order sent."""

    jobs: list[FileOutcome] = Field(default=[], description="Only when several files were sent")


FORM: Final[dict[str, Any]] = {
    "type": "object",
    "anyOf": [{"required": ["file"]}, {"required": ["url"]}],
    "properties": {
        "file": {
            "type": "array",
            "minItems": 1,
            "items": {"type": "string", "format": "binary"},
            "description": "One file or several",
        },
        "url": {"type": "string", "maxLength": LONGEST_URL, "description": uploads.URL_HELP},
        "pipeline": {
            "type": "string",
            "maxLength": LONGEST_FIELD,
            "description": "GET /api/pipelines lists them",
        },
        "mapping": {
            "type": "string",
            "maxLength": LONGEST_FIELD,
            "description": "GET /api/mappings lists them",
        },
        "priority": {
            "type": "integer",
            "minimum": -uploads.MOST_PRIORITY,
            "maximum": uploads.MOST_PRIORITY,
            "description": "At most what the owner is granted",
        },
        "fields": {
            "type": "string",
            "maxLength": field_request.LONGEST,
            "description": f"{field_request.HELP}. The result has them under `asked`",
            "examples": ["invoice_no:id,total:amount,due:date"],
        },
        "run_at": {
            "type": "string",
            "format": "date-time",
            "description": uploads.RUN_AT_HELP,
        },
        "after": {
            "type": "string",
            "description": f"{uploads.AFTER_HELP}. With commas between them",
        },
    },
}
DOCUMENTED: Final[dict[str, Any]] = {
    "parameters": [
        {
            "name": "Idempotency-Key",
            "in": "header",
            "schema": {"type": "string", "pattern": uploads.KEY_PATTERN},
            "description": "Repeat a request with its key, and it makes no second job",
        }
    ],
    "requestBody": {
        "required": True,
        "content": {
            "multipart/form-data": {"schema": FORM},
            "application/json": {"schema": uploads.AddressRequest.model_json_schema()},
        },
    },
}


@router.post(
    "/api/upload",
    summary="Upload files; each becomes a job",
    response_model_exclude_unset=True,
    responses=problems.fault_responses(*problems.UPLOAD_FAULTS),
    openapi_extra=DOCUMENTED,
)
async def upload_files(request: Request, site: CurrentSite, owner: CurrentOwner) -> UploadAnswer:
    wanted = JobRequest(owner, site.config.default_pipeline, source="upload", preferred=True)
    return combine_outcomes(await take_in(request, site, wanted))


@router.post(
    "/documents",
    summary="Send documents; the answer has their metadata and their jobs",
    response_model_exclude_unset=True,
    responses=problems.fault_responses(*problems.UPLOAD_FAULTS),
    openapi_extra=DOCUMENTED,
)
async def send_documents(request: Request, site: CurrentSite, owner: CurrentOwner) -> UploadAnswer:
    wanted = JobRequest(owner, site.config.documents_pipeline, source="api")
    outcomes = await take_in(request, site, wanted)
    async with read_connection(site.pool) as conn:
        for outcome in outcomes:
            if outcome.job:
                outcome.document_id = outcome.job.document_id
                document_id = DocumentId(UUID(outcome.document_id))
                row = await queries.find_document_row(conn, document_id)
                outcome.document = build_document(outcome.job, row) if row else None
    return combine_outcomes(outcomes)


route: Final = cast(UploadRoute, router.routes[0])


async def take_in(
    request: Request, site: Site, wanted: JobRequest, context: uploads.UploadContext | None = None
) -> list[FileOutcome]:
    """Refuse what can be refused unread, read the body, accept its files."""
    try:
        sender = await check_sender(request, site, wanted.owner)
        key = uploads.read_request_key(request.headers)
        context = context or uploads.UploadContext(site.store, site.catalog, site.config)
        received = await uploads.receive(request, context)
        received = await _apply_rate_limit(request, site, sender, received)
        if key or site.config.quotas != wanted.quotas:
            wanted = replace(wanted, request_key=key, quotas=site.config.quotas)
        outcomes = await accept_received(site, received, wanted)
        request.state.jobs = [one.job_id for one in outcomes if one.success]
        return outcomes
    except DocmillError as exc:
        site.metrics.uploads.labels(exc.fault.code).inc()
        raise


async def check_sender(request: Request, site: Site, owner: Owner) -> RequestSender:
    """Who sends a file, if there is room for it and they may send one now."""
    await check_disk(site)
    await _check_quotas(site, owner)
    sender = site.limits.sender(request, owner)
    await _check_rate(request, site, sender)
    return sender


class DiskGauge:
    """How full the store is, as of a moment ago: a burst of uploads looks once.

    The limit is far below full, and a disk that is full refuses what is written to it anyway.
    """

    def __init__(self, store: Store) -> None:
        self._store: Store = store
        self._until: float = 0.0
        self._fullness: float | None = None

    async def measure(self) -> float | None:
        if time.monotonic() >= self._until:
            if self._until:  # the others of the burst go by what was known
                self._until = time.monotonic() + GAUGE_SECONDS
            self._fullness = await self._store.fullness()
            self._until = time.monotonic() + GAUGE_SECONDS
        return self._fullness


async def check_disk(site: Site) -> None:
    fullness = await site.find(DiskGauge).measure()
    if fullness is not None and fullness > site.config.disk_limit:
        raise DocmillError("DISK_FULL", f"{fullness:.0%} used", retryAfter=60)


async def _check_quotas(site: Site, owner: Owner) -> None:
    """Who has no room left is told so before anything is read; the upload itself looks again."""
    if site.config.quotas != NO_QUOTAS:
        limits = site.config.quotas
        await write(site.pool, lambda conn: quotas.check_room(conn, owner.key, limits))


async def _check_rate(request: Request, site: Site, sender: RequestSender) -> None:
    """The first file is counted before anything of it is read."""
    grant = await site.limits.take_uploads(sender, 1)
    _tell_limit(request, grant)
    if not grant.given:
        raise _rate_fault(grant)


async def _apply_rate_limit(
    request: Request, site: Site, sender: RequestSender, received: ReceivedUpload
) -> ReceivedUpload:
    """Each further file is counted; those too many get an outcome that says so."""
    staged = [file for file in received.files if isinstance(file, StagedFile)]
    if len(staged) < 2:
        return received
    try:
        grant = await site.limits.take_uploads(sender, len(staged) - 1)
    except BaseException:
        await received.abort()
        raise
    _tell_limit(request, grant)
    excess = {id(file): file for file in staged[1 + grant.given :]}
    for file in excess.values():
        await file.writer.abort()
    files = [
        RefusedFile(file.filename, _rate_fault(grant)) if id(file) in excess else file
        for file in received.files
    ]
    return replace(received, files=files)


def _rate_fault(grant: Grant) -> DocmillError:
    return DocmillError("RATE_LIMITED", retryAfter=max(1, math.ceil(grant.retry_after)))


def _tell_limit(request: Request, grant: Grant) -> None:
    if not grant.burst:
        return
    request.state.rate_limit = {
        "ratelimit-limit": str(grant.burst),
        "ratelimit-remaining": str(grant.left),
        "ratelimit-reset": str(math.ceil(grant.full_after)),
    }


async def accept_received(
    site: Site, received: ReceivedUpload, wanted: JobRequest
) -> list[FileOutcome]:
    """One file's fault is the answer; of several, each has its own outcome."""
    asked = received.fields
    wanted = replace(
        wanted,
        pipeline=asked.pipeline or wanted.pipeline,
        mapping=asked.mapping,
        priority=asked.priority,
        options=asked.options,
        schedule=asked.schedule,
        prefer=partial(_prefer, site.catalog, asked.pipeline) if wanted.preferred else None,
    )
    outcomes: list[FileOutcome] = []
    for position, file in enumerate(received.files):
        try:
            accepted = await _accept(site, file, wanted, position)
        except DocmillError as exc:
            # A fault on our side would meet the other files as well.
            if len(received.files) == 1 or exc.fault.status >= 500:
                await received.abort(after=position)
                raise
            outcomes.append(_describe_refused(site, file, exc))
        else:
            outcomes.append(await describe_accepted(site, accepted))
    return outcomes


def _prefer(
    catalog: PipelineCatalog, asked: str | None, wanted: JobRequest, choices: OwnerChoices
) -> JobRequest:
    return apply_preferences(wanted, parse_preferences(choices.preferences), catalog, asked)


async def _accept(
    site: Site, file: StagedFile | RefusedFile, wanted: JobRequest, position: int
) -> Accepted:
    if isinstance(file, RefusedFile):
        raise file.fault
    return await accept.accept(site.find(Acceptor), file, wanted, position=position)


async def describe_accepted(site: Site, accepted: Accepted) -> UploadAnswer:
    """The whole answer, where it is the only file."""
    site.metrics.uploads.labels(str(accepted.outcome)).inc()
    job = await build_job(accepted.job, site.find(Estimator))
    return UploadAnswer(
        success=True,
        message=SAYS[accepted.outcome],
        filename=job.filename,
        job_id=job.id,
        duplicate=accepted.outcome is not AcceptOutcome.CREATED,
        outcome=str(accepted.outcome),
        estimated_time=job.estimated_seconds_left or 0,
        job=job,
    )


def _describe_refused(site: Site, file: StagedFile | RefusedFile, exc: DocmillError) -> FileOutcome:
    site.metrics.uploads.labels(exc.fault.code).inc()
    return FileOutcome(
        success=False,
        message=exc.fault.says,
        filename=clean_filename(file.filename),
        **problems.describe_fault(exc.fault, exc.facts),
    )


def combine_outcomes(outcomes: Sequence[FileOutcome]) -> UploadAnswer:
    match outcomes:
        case [UploadAnswer() as only]:
            return only
        case _:
            pass
    good = sum(outcome.success for outcome in outcomes)
    return UploadAnswer(
        success=good == len(outcomes),
        message=f"{good} of {len(outcomes)} files received",
        jobs=list(outcomes),
    )
