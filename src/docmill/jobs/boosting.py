"""POST /api/jobs/{id}/boost: a job that waits moves ahead."""

from typing import ClassVar, Final

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from docmill.core.faults import DocmillError
from docmill.core.jobs import Job, Status
from docmill.core.owners import Owner
from docmill.db import audit
from docmill.db.audit import AuditedAction
from docmill.db.pool import Connection, write
from docmill.queue.boost import move_ahead, raise_priority
from docmill.queue.enqueue import find_job_by_text, find_own_job
from docmill.web import auth, problems
from docmill.web.site import CurrentOwner, CurrentSite

router = APIRouter(prefix="/api/jobs", tags=["jobs"])

# What an administrator's boost gives: more than any claim of a token.
BOOSTED: Final = 50


class BoostedJob(BaseModel):
    """No more than that of a job: an administrator's may be anybody's."""

    id: str
    status: str = Field(examples=["queued"])
    priority: int


class BoostAnswer(BaseModel):
    model_config: ClassVar[ConfigDict] = ConfigDict(alias_generator=to_camel, populate_by_name=True)

    success: bool
    job_id: str
    job: BoostedJob


@router.post(
    "/{job_id}/boost",
    summary="Move a queued job ahead: of your own others, or for an administrator of everybody's",
    responses=problems.fault_responses(*problems.LOOKUP_FAULTS, "CROSS_SITE", "WRONG_STATE"),
)
async def boost_job(job_id: str, site: CurrentSite, owner: CurrentOwner) -> BoostAnswer:
    """It changes places with the first of your waiting jobs, or gets the priority you are granted.

    Administrators give any job a priority before all others. One that is ahead already stays so.
    """
    auth.widen_for_admin(owner)
    job = await write(site.pool, lambda conn: _boost(conn, owner, job_id))
    site.work.ring()
    site.changes.ring()
    told = BoostedJob(id=str(job.id), status=str(job.status), priority=job.priority)
    return BoostAnswer(success=True, job_id=str(job.id), job=told)


async def _boost(conn: Connection, owner: Owner, job_id: str) -> Job:
    if owner.admin:
        job = await find_job_by_text(conn, job_id)
    else:
        job = await find_own_job(conn, owner, job_id)
    if job.status is not Status.QUEUED:
        raise DocmillError("WRONG_STATE", jobId=str(job.id), jobStatus=str(job.status))
    granted = BOOSTED if owner.admin else owner.priority
    if not await raise_priority(conn, job.id, granted):
        await move_ahead(conn, job.id)
    boosted = await find_job_by_text(conn, job_id)
    if owner.admin:
        done = AuditedAction(owner.key, "job.boost", f"job:{job.id}")
        before, after = {"priority": job.priority}, {"priority": boosted.priority}
        await audit.record(conn, done, before=before, after=after)
    return boosted
