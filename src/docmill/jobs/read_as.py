"""A document read as something else than it was: a new job over the same bytes."""

from typing import Annotated, Any, ClassVar
from uuid import uuid4

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request

from docmill.core.faults import DocmillError
from docmill.core.jobs import Job, JobId, Status
from docmill.core.owners import Owner
from docmill.core.plugins import BY_PIPELINE
from docmill.db.pool import Connection, write
from docmill.documents import queries as documents_queries
from docmill.documents.accept import PROFILE
from docmill.documents.content_types import check_pipeline
from docmill.jobs.api import JobAnswer, build_job
from docmill.jobs.estimator import Estimator
from docmill.queue import enqueue
from docmill.queue.enqueue import NewJob, find_own_job
from docmill.web import json_body, problems
from docmill.web.site import CurrentOwner, CurrentSite, Site

router = APIRouter(prefix="/api/jobs", tags=["jobs"])


class ReadAsRequest(BaseModel):
    """What the document is, and in which format its reading shall be written."""

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid", title="ReadAs")

    pipeline: str = Field(examples=["trades"])
    mapping: str | None = None


@router.post(
    "/{job_id}/read-as",
    summary="Read a job's document as something else, by a new job",
    openapi_extra=json_body.describe_body(ReadAsRequest.model_json_schema()),
    responses=problems.fault_responses(
        *problems.LOOKUP_FAULTS, "CROSS_SITE", "BAD_REQUEST", "UNKNOWN_PIPELINE",
        "UNKNOWN_MAPPING", "UNSUPPORTED_TYPE", "EXPIRED",
    ),
)  # fmt: skip
async def read_as(
    job_id: str,
    request: Request,
    site: CurrentSite,
    owner: CurrentOwner,
    pipeline: Annotated[str | None, Query(description="Instead of a body")] = None,
) -> JobAnswer:
    """The job that was there stays as it is. One that reads it so already is given back."""
    if pipeline is not None:
        wish = ReadAsRequest(pipeline=pipeline)
    else:
        wish = await json_body.read_json(request, ReadAsRequest)
    check_pipeline(site.catalog, wish.pipeline, wish.mapping)
    job = await write(site.pool, lambda conn: _find_or_add(conn, site, owner, job_id, wish))
    site.work.ring()
    site.changes.ring()
    return JobAnswer(
        success=True, job_id=str(job.id), job=await build_job(job, site.find(Estimator))
    )


async def _find_or_add(
    conn: Connection, site: Site, owner: Owner, job_id: str, wish: ReadAsRequest
) -> Job:
    job = await find_own_job(conn, owner, job_id)
    if job.upload_key is None:
        raise DocmillError("EXPIRED", jobId=str(job.id))
    if job.content_type not in site.catalog.accepts[wish.pipeline]:
        raise DocmillError("UNSUPPORTED_TYPE", jobId=str(job.id), pipeline=wish.pipeline)
    await enqueue.ensure_owner(conn, owner.key)
    mapping = wish.mapping or site.catalog.default_mapping(wish.pipeline)
    if known := await enqueue.find_reading(conn, job, wish.pipeline, mapping):
        if known.status is Status.FAILED:
            await enqueue.retry_job(conn, known)
        return await find_own_job(conn, owner, str(known.id))
    again = NewJob(
        id=JobId(uuid4()),
        document_id=job.document_id,
        owner=owner.key,
        pipeline=wish.pipeline,
        mapping=mapping,
        options=await _make_options(conn, site, owner, job, wish.pipeline),
        priority=job.priority,
        dedupe_key=None,
    )
    await enqueue.add_job(conn, again)
    await enqueue.enqueue(conn, again)
    return await find_own_job(conn, owner, str(again.id))


async def _make_options(
    conn: Connection, site: Site, owner: Owner, job: Job, pipeline: str
) -> dict[str, Any]:
    """Those of the job before, with the owner's profile of today where it is used."""
    left_out = {PROFILE, BY_PIPELINE}
    before = await enqueue.read_options(conn, job.id)
    options = {name: value for name, value in before.items() if name not in left_out}
    if not site.catalog.mappings.get(pipeline):
        return options
    profile = await documents_queries.read_profile(conn, owner.key)
    return {**options, PROFILE: profile} if profile else options
