"""The study page: a study set's cards to flip, and its words."""

from fastapi import APIRouter
from starlette.responses import Response

from docmill.core.faults import Faulted
from docmill.core.jobs import Status
from docmill.db import results
from docmill.db.pool import reading
from docmill.forms import FORMS
from docmill.web.api.results import read_data
from docmill.web.deps import Asker, Here, own_job
from docmill.web.pages import render

router = APIRouter(include_in_schema=False)


@router.get("/study/{job_id}")
async def study_page(job_id: str, here: Here, owner: Asker) -> Response:
    async with reading(here.services.pool) as conn:
        job = await own_job(conn, owner, job_id)
        result = await results.of_job(conn, job.id, "data")
    if job.pipeline != "study":
        raise Faulted("NOT_FOUND")
    if job.status is not Status.COMPLETE:
        raise Faulted("NOT_READY", jobId=str(job.id), jobStatus=str(job.status))
    if result is None:
        raise Faulted("EXPIRED", jobId=str(job.id))
    found = await read_data(here, result)
    return render.page("study.html", job=job, found=found, forms=["data", *FORMS["study"]])
