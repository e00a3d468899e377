"""/api/uploads: where to put a file's bytes, and the job that is made of them."""

from datetime import UTC, datetime
from typing import Annotated, ClassVar, Final
from uuid import uuid4

from fastapi import APIRouter, Depends, Query
from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request
from starlette.responses import Response

from docmill.core.documents import clean_filename, direct_key
from docmill.core.faults import DocmillError
from docmill.core.jobs import JobId
from docmill.core.owners import Owner
from docmill.db.pool import Connection, read, write
from docmill.documents import direct
from docmill.documents import upload as uploads
from docmill.documents.accept import Accepted, AcceptOutcome, JobRequest
from docmill.documents.content_types import check_pipeline
from docmill.documents.direct import DirectUpload, PutPermission
from docmill.documents.links import SignedLinks, find_base
from docmill.documents.upload import JobWishes, ReceivedUpload, UploadFields
from docmill.jobs.upload import (
    UploadAnswer,
    accept_received,
    check_disk,
    check_sender,
    combine_outcomes,
    describe_accepted,
)
from docmill.queue import enqueue
from docmill.web import json_body, params, problems
from docmill.web.params import Instant
from docmill.web.site import CurrentOwner, CurrentSite, Site

router = APIRouter(prefix="/api/uploads", tags=["upload"])

LONGEST_NAME: Final = 255
LAST_SECOND: Final = 1 << 40


class DirectRequest(JobWishes):
    """The file that will be put, and what shall be done with it."""

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    filename: str = Field(min_length=1, max_length=LONGEST_NAME, examples=["invoice.pdf"])
    bytes: json_body.WholeNumber = Field(gt=0, description="Its exact size")
    sha256: str | None = Field(
        None,
        pattern="^[0-9a-f]{64}$",
        description="Its hash, if you know it: checked when the file has arrived",
    )


class DirectAnswer(BaseModel):
    """Send `method` to `url` with exactly these `headers` and the bytes, then POST `complete`."""

    upload_id: str
    method: str = Field(examples=["PUT"])
    url: str
    headers: dict[str, str]
    expires_at: Instant
    complete: str = Field(description="Where to say that the bytes are there")


@router.post(
    "",
    status_code=201,
    summary="Upload a file straight into the store: where to put its bytes",
    openapi_extra=json_body.describe_body(DirectRequest.model_json_schema()),
    responses=problems.fault_responses(*problems.UPLOAD_FAULTS),
)
async def begin_upload(request: Request, site: CurrentSite, owner: CurrentOwner) -> DirectAnswer:
    """`Idempotency-Key` is kept for the job that is made at the end."""
    wish = await json_body.read_json(request, DirectRequest)
    values = wish.to_values()
    _check_wish(site, wish, uploads.read_fields(values, site.catalog))
    key = uploads.read_request_key(request.headers)
    await check_sender(request, site, owner)
    upload_id = uuid4()
    new = DirectUpload(
        id=upload_id,
        owner=owner.key,
        filename=clean_filename(wish.filename),
        bytes=wish.bytes,
        sha256=wish.sha256,
        wish=values,
        request_key=key,
        key=direct_key(upload_id),
        expires_at=datetime.now(UTC) + direct.LIFETIME,
    )

    async def add(conn: Connection) -> None:
        await enqueue.ensure_owner(conn, owner.key)
        await direct.add_upload(conn, new)

    await write(site.pool, add)
    base = find_base(request, site.config)
    signed = await direct.sign_put(site.store, site.find(SignedLinks), new, base)
    return DirectAnswer(
        upload_id=str(new.id),
        method="PUT",
        url=signed.url,
        headers=dict(signed.headers),
        expires_at=new.expires_at,
        complete=f"{base}/api/uploads/{new.id}/complete",
    )


def _check_wish(site: Site, wish: DirectRequest, asked: UploadFields) -> None:
    """What would be refused at the end is refused now."""
    limit = site.config.max_upload_bytes
    if wish.bytes > limit:
        raise DocmillError("TOO_LARGE", maxSize=limit)
    check_pipeline(site.catalog, asked.pipeline or site.config.default_pipeline, asked.mapping)


async def read_permission(
    upload_id: str,
    size: Annotated[int, Query(alias="bytes", ge=1, le=LAST_SECOND)],
    until: Annotated[int, Query(ge=0, le=LAST_SECOND, description="Seconds since 1970")],
    signature: Annotated[str, Query(max_length=64)],
) -> PutPermission:
    return PutPermission(upload_id, size, until, signature)


@router.put(
    "/{upload_id}/content",
    status_code=204,
    summary="The bytes of a direct upload, by an address that was signed for them",
    responses=problems.fault_responses(
        "LINK_EXPIRED", "BAD_REQUEST", "WRONG_CONTENT", "TOO_SLOW", "IO_ERROR", "DISK_FULL"
    ),
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {
                "application/octet-stream": {"schema": {"type": "string", "format": "binary"}}
            },
        }
    },
)
async def put_content(
    request: Request,
    site: CurrentSite,
    permission: Annotated[PutPermission, Depends(read_permission)],
) -> Response:
    """The address itself is the permission. Stores that sign their own never send you here."""
    await check_disk(site)
    await direct.receive_put(request, site.store, site.find(SignedLinks), permission)
    return Response(status_code=204)


@router.post(
    "/{upload_id}/complete",
    summary="The bytes are there: check them and make the job",
    response_model_exclude_unset=True,
    responses=problems.fault_responses(
        *problems.UPLOAD_FAULTS, "FORBIDDEN", "UPLOAD_NOT_FOUND", "NOT_UPLOADED", "WRONG_CONTENT"
    ),
)
async def complete_upload(upload_id: str, site: CurrentSite, owner: CurrentOwner) -> UploadAnswer:
    """Answers as POST /api/upload. Completing twice gives the same job."""
    try:
        known = await read(site.pool, lambda conn: direct.find_upload(conn, owner, upload_id))
        if known.completed_at is None:
            return await _complete(site, owner, known)
        return await _repeat(site, known)
    except DocmillError as exc:
        site.metrics.uploads.labels(exc.fault.code).inc()
        raise


async def _complete(site: Site, owner: Owner, known: DirectUpload) -> UploadAnswer:
    try:
        staged = await direct.stage_upload(site.store, known)
    except DocmillError as exc:
        # Somebody else completed it while we looked.
        if exc.fault.code not in {"NOT_UPLOADED", "EXPIRED"}:
            raise
        known = await read(site.pool, lambda conn: direct.find_upload(conn, owner, str(known.id)))
        if known.completed_at is None:
            raise DocmillError("NOT_UPLOADED", uploadId=str(known.id)) from exc
        return await _repeat(site, known)
    wanted = JobRequest(
        owner,
        site.config.default_pipeline,
        preferred=True,
        request_key=known.request_key,
        quotas=site.config.quotas,
    )
    try:
        received = ReceivedUpload(_read_wish(site, known), [staged])
        outcomes = await accept_received(site, received, wanted)
    except DocmillError as exc:
        if exc.fault.status < 500:
            await site.store.delete(known.key)
        raise
    job = outcomes[0].job
    assert job is not None, "one file that was accepted"
    job_id = params.parse_id(job.id, at="job")
    await write(site.pool, lambda conn: direct.complete_upload(conn, known.id, JobId(job_id)))
    await site.store.delete(known.key)
    return combine_outcomes(outcomes)


def _read_wish(site: Site, known: DirectUpload) -> UploadFields:
    """As it was checked at the beginning; a time that has come since is no wish any more."""
    values = dict(known.wish)
    if (run_at := values.get("run_at")) and params.parse_instant(
        run_at, at="run_at"
    ) <= datetime.now(UTC):
        del values["run_at"]
    return uploads.read_fields(values, site.catalog)


async def _repeat(site: Site, known: DirectUpload) -> UploadAnswer:
    job_id = known.job_id
    job = job_id and await read(site.pool, lambda conn: enqueue.find_job(conn, job_id))
    if not job:
        raise DocmillError("UPLOAD_NOT_FOUND", uploadId=str(known.id))
    accepted = Accepted(job, AcceptOutcome.EXISTING)
    return combine_outcomes([await describe_accepted(site, accepted)])
