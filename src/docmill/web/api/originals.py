"""The file behind a job, as it came: to be saved, never to be run in the page's place."""

from fastapi import APIRouter
from starlette.responses import Response, StreamingResponse

from docmill.core.faults import Faulted
from docmill.db import jobs
from docmill.db.pool import connection, reading
from docmill.web import problems
from docmill.web.api.jobs import LOOKUP
from docmill.web.deps import Asker, Here, own_job
from docmill.web.streams import attachment, opened

router = APIRouter(prefix="/api/jobs", tags=["results"])


@router.get(
    "/{job_id}/original",
    summary="The file that was uploaded",
    response_class=Response,
    responses=problems.documented(*LOOKUP, "EXPIRED", "IO_ERROR")
    | {200: {"description": "The file", "content": {"application/octet-stream": {}}}},
)
async def download_original(job_id: str, here: Here, owner: Asker) -> Response:
    async with reading(here.services.pool) as conn:
        job = await own_job(conn, owner, job_id)
    if job.upload_key is None:
        raise Faulted("EXPIRED", jobId=str(job.id))
    _, body = await opened(here.services.store, job.upload_key)
    async with connection(here.services.pool) as conn:
        await jobs.note_view(conn, job.id)
    headers = {
        "content-disposition": attachment(job.original_filename),
        "content-length": str(job.bytes),
        "content-security-policy": "default-src 'none'; sandbox",
        "cache-control": "private, no-store",
    }
    return StreamingResponse(body, media_type=job.content_type, headers=headers)
