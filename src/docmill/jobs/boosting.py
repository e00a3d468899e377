"""POST /api/jobs/{id}/boost: a job that waits moves ahead."""

from typing import Final

from fastapi import APIRouter

from docmill.core.faults import DocmillError
from docmill.core.jobs import Job, Status
from docmill.core.owners import Owner
from docmill.db.pool import Connection, write
from docmill.jobs.api import JobAnswer, answer_change
from docmill.queue.boost import move_ahead, raise_priority
from docmill.queue.enqueue import find_job_by_text, find_own_job
from docmill.web import problems
from docmill.web.site import CurrentOwner, CurrentSite

router = APIRouter(prefix="/api/jobs", tags=["jobs"])

# What an administrator's boost gives: more than any claim of a token.
BOOSTED: Final = 50


@router.post(
    "/{job_id}/boost",
    summary="Move a queued job ahead: of your own others, or for an administrator of everybody's",
    responses=problems.fault_responses(*problems.LOOKUP_FAULTS, "CROSS_SITE", "WRONG_STATE"),
)
async def boost_job(job_id: str, site: CurrentSite, owner: CurrentOwner) -> JobAnswer:
    """It changes places with the first of your waiting jobs, or gets the priority you are granted.

    Administrators give any job a priority before all others. One that is ahead already stays so.
    """
    job = await write(site.pool, lambda conn: _boost(conn, owner, job_id))
    site.work.ring()
    return await answer_change(site, job)


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
    return await find_job_by_text(conn, job_id)
