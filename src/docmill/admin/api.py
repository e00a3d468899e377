"""/api/admin: the installation at a glance, and what administrators do about it."""

from typing import Annotated, Any, ClassVar, Final

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request

from docmill.admin import actions, overview
from docmill.admin.actions import MOST_RETRIED, AdminAction, FailedJobs
from docmill.admin.overview import Overview
from docmill.core.owners import Owner
from docmill.db import audit
from docmill.db.audit import AuditEntry, AuditVerdict
from docmill.db.pool import read_connection
from docmill.web import json_body, problems
from docmill.web.auth import check_admin, check_watcher
from docmill.web.params import Instant
from docmill.web.site import CurrentOwner, CurrentSite

router = APIRouter(prefix="/api/admin", tags=["admin"])

ADMIN_FAULTS: Final = ("UNAUTHORIZED", "SCOPE_MISSING", "ADMIN_ONLY", "DATABASE_DOWN", "BUSY")
LONGEST_LIST: Final = 1000


@router.get(
    "/overview",
    summary="Queue, workers, failures, storage and broken promises; for administrators",
    responses=problems.fault_responses(*ADMIN_FAULTS),
)
async def show_overview(site: CurrentSite, owner: CurrentOwner) -> Overview:
    """Bounded: it takes as long with a million jobs as with a thousand."""
    return await overview.load_overview(site, owner)


class AdminJob(BaseModel):
    """No more than that of a job: it may be anybody's."""

    id: str
    status: str = Field(examples=["queued"])
    owner: str
    pipeline: str


@router.post(
    "/jobs/{job_id}/{action}",
    summary="Retry, cancel or release anybody's job; for administrators",
    responses=problems.fault_responses(
        *ADMIN_FAULTS, "JOB_NOT_FOUND", "CROSS_SITE", "WRONG_STATE", "EXPIRED"
    ),
)
async def act_on_job(
    job_id: str, action: AdminAction, site: CurrentSite, owner: CurrentOwner
) -> AdminJob:
    """`retry` queues a failed job again, `cancel` ends one that has not ended, `release` takes a
    running one from its worker and queues it again. It is in the audit log."""
    job = await actions.act_on_job(site, owner, job_id, action)
    return AdminJob(id=str(job.id), status=str(job.status), owner=job.owner, pipeline=job.pipeline)


class FailedWish(BaseModel):
    """Which failed jobs: those of a code, of a pipeline, of both; all of them without a word."""

    model_config: ClassVar[ConfigDict] = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"code": "SERVICE_GONE"}]}
    )

    code: Annotated[str, Field(max_length=64)] | None = None
    pipeline: Annotated[str, Field(max_length=64)] | None = None
    limit: Annotated[int, Field(ge=1, le=MOST_RETRIED)] = MOST_RETRIED


async def _read_failed(request: Request, owner: Owner) -> FailedJobs:
    check_admin(owner)
    wish = await json_body.read_json(request, FailedWish)
    return FailedJobs(wish.code, wish.pipeline, wish.limit)


FAILED_BODY: Final = json_body.describe_body(FailedWish.model_json_schema())
FAILED_FAULTS: Final = problems.fault_responses(*ADMIN_FAULTS, "BAD_REQUEST", "CROSS_SITE")


class AdminRetryAnswer(BaseModel):
    retried: int = Field(description="How many were queued again; ask again for more")


@router.post(
    "/retry",
    summary="Queue failed jobs of everybody again, by code and pipeline; for administrators",
    openapi_extra=FAILED_BODY,
    responses=FAILED_FAULTS,
)
async def retry_failed(
    request: Request, site: CurrentSite, owner: CurrentOwner
) -> AdminRetryAnswer:
    """The newest first. Each of them is in the audit log."""
    meant = await _read_failed(request, owner)
    return AdminRetryAnswer(retried=await actions.retry_failed(site, owner, meant))


class ReprocessAnswer(BaseModel):
    reprocessed: int = Field(description="How many documents got a new job; ask again for more")


@router.post(
    "/reprocess",
    summary="Read failed documents of everybody again, each by a new job; for administrators",
    openapi_extra=FAILED_BODY,
    responses=FAILED_FAULTS,
)
async def reprocess_failed(
    request: Request, site: CurrentSite, owner: CurrentOwner
) -> ReprocessAnswer:
    """The failed job stays as it is, with its history. Each of them is in the audit log."""
    meant = await _read_failed(request, owner)
    return ReprocessAnswer(reprocessed=await actions.reprocess_failed(site, owner, meant))


class AuditShape(BaseModel):
    id: int
    at: Instant
    actor: str
    action: str = Field(examples=["job.cancel"])
    target: str = Field(examples=["job:8c1c3ad5-9c0f-4bd6-a7a0-6c3a7d0c2f10"])
    before: dict[str, Any]
    after: dict[str, Any]


class AuditList(BaseModel):
    entries: list[AuditShape] = Field(description="The newest first")


def shape_entry(entry: AuditEntry) -> AuditShape:
    return AuditShape(**{name: getattr(entry, name) for name in AuditShape.model_fields})


Limit = Annotated[int, Query(ge=1, le=LONGEST_LIST)]
Before = Annotated[int | None, Query(ge=1, le=2**62, description="Go on below this id")]


@router.get(
    "/audit",
    summary="Who did what; for administrators",
    responses=problems.fault_responses(*ADMIN_FAULTS),
)
async def list_audit(
    site: CurrentSite, owner: CurrentOwner, limit: Limit = 100, before: Before = None
) -> AuditList:
    check_watcher(owner)
    async with read_connection(site.pool) as conn:
        found = await audit.list_entries(conn, limit=limit, before=before)
    return AuditList(entries=[shape_entry(each) for each in found])


@router.get(
    "/audit/verify",
    summary="Whether the audit log is as it was written; for administrators",
    responses=problems.fault_responses(*ADMIN_FAULTS),
)
async def verify_audit(site: CurrentSite, owner: CurrentOwner) -> AuditVerdict:
    """`broken_at` is the first row that was changed or is gone; null where all is well. Who notes
    `head` elsewhere can tell later whether the log up to then is still the same."""
    check_watcher(owner)
    async with read_connection(site.pool) as conn:
        return await audit.verify(conn)
