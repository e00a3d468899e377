"""The study page: a study set's cards to flip, and its words."""

from fastapi import APIRouter
from starlette.responses import Response

from docmill.core.faults import DocmillError
from docmill.core.plugins import JobAccess
from docmill.study.room import room
from docmill.web import render
from docmill.web.site import CurrentOwner, CurrentSite

router = APIRouter(include_in_schema=False)


@router.get("/study/{job_id}")
async def study_page(job_id: str, site: CurrentSite, owner: CurrentOwner) -> Response:
    access = site.find(JobAccess)
    job = await access.find_job(owner, job_id)
    if job.pipeline != room.pipeline:
        raise DocmillError("NOT_FOUND")
    found = await access.read_data(job)
    forms = ["data", *(one.name for one in room.formats)]
    return render.render_page("study.html", job=job, found=found, forms=forms)
