"""The status that programs poll, with the result when there is one.

The answer about a job that has ended is kept. While the database can be asked, one small statement
says whether what is kept is still true; while it can't, what is kept is the answer.
"""

import json
from collections.abc import AsyncIterator, Callable, Coroutine
from datetime import datetime
from typing import Any, Final

from fastapi import APIRouter
from fastapi.routing import APIRoute
from pydantic import BaseModel, Field
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from docmill.core.faults import FAULTS, DocmillError
from docmill.core.jobs import ENDED, Job, Status
from docmill.core.owners import Owner
from docmill.db.pool import read_connection
from docmill.documents.stored import open_stored
from docmill.jobs import queries, results
from docmill.jobs.kept import KeptAnswer, KeptStatuses
from docmill.queue.enqueue import find_own_job
from docmill.storage.checked import CheckedObject
from docmill.web import problems
from docmill.web.params import check_texts
from docmill.web.site import CurrentOwner, CurrentSite, Site, find_site, identify_owner


class StatusRoute(APIRoute):
    """Asked more often than any other: what its endpoint takes is found here, not by FastAPI.

    The endpoint's signature still says what the description of the API tells.
    """

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        async def answer(request: Request) -> Response:
            await check_texts(request)  # as with every route of the application
            site, owner = await find_site(request), await identify_owner(request)
            return await self.endpoint(request.path_params["job_id"], site, owner)

        return answer


router = APIRouter(prefix="/api", tags=["results"], route_class=StatusRoute)

# A status up to here goes out in one piece: the last of three small ones would wait for the
# client's delayed acknowledgement of the first.
ONE_BUFFER: Final = 1 << 20


class StatusAnswer(BaseModel):
    """For programs that poll. Times are milliseconds since 1970, spans milliseconds."""

    success: bool
    jobId: str  # noqa: N815  the contract's names
    status: str = Field(examples=[*dict.fromkeys(one.row.api_word for one in Status)])
    progress: int
    queuedAt: int | None  # noqa: N815
    startedAt: int | None  # noqa: N815
    completedAt: int | None = Field(description="When the job ended, well or not")  # noqa: N815
    processingTime: int | None  # noqa: N815
    result: Any = Field(default=None, description="Only when completed")
    error: str | None = Field(default=None, description="Only when failed, with `code`")
    code: str | None = None
    reason: str | None = Field(default=None, description="Why it failed, in a sentence")


@router.get(
    "/job-status/{job_id}",
    summary="A job's status in four words; with its result when completed",
    response_model=StatusAnswer,
    responses=problems.fault_responses(*problems.LOOKUP_FAULTS, "IO_ERROR", "DAMAGED"),
)
async def job_status(job_id: str, site: CurrentSite, owner: CurrentOwner) -> Response:
    """A cancelled job shows as failed with the code CANCELLED."""
    answers = site.find(KeptStatuses)
    try:
        async with site.pool.absence.refused():
            return await _find_kept(site, owner, job_id) or await _answer(site, owner, job_id)
    except DocmillError as exc:
        return _json(await answers.bridge(exc, job_id, owner.key))


async def _find_kept(site: Site, owner: Owner, job_id: str) -> Response | None:
    answers = site.find(KeptStatuses)
    kept = await answers.find(job_id)
    if not kept or kept.owner != owner.key:
        return None
    async with read_connection(site.pool) as conn:
        version = await queries.read_version(conn, owner.key, job_id)
    if not kept.is_of(owner.key, version):
        await answers.forget(job_id)
        return None
    answers.count(hit=True)
    await answers.confirm(job_id, kept)
    return _json(kept.body)


async def _answer(site: Site, owner: Owner, job_id: str) -> Response:
    answers = site.find(KeptStatuses)
    async with read_connection(site.pool) as conn:
        job = await find_own_job(conn, owner, job_id)
        result = await results.find_result(conn, job.id, "data") if job.result_key else None
    answers.count(hit=False)
    facts = _status_facts(job)
    if result is None:
        body = json.dumps(facts | _status_error(job)).encode()
    else:
        pieces = _stream_with_result(facts, await open_stored(site.pool, site.store, result.key))
        if result.bytes > ONE_BUFFER:
            return StreamingResponse(pieces, media_type="application/json")
        body = b"".join([piece async for piece in pieces])
    if job.status in ENDED:
        answer = KeptAnswer(owner.key, job.updated_at.isoformat(), body)
        await answers.keep(str(job.id), answer)
    return _json(body)


def _json(body: bytes) -> Response:
    return Response(body, media_type="application/json")


def _status_facts(job: Job) -> dict[str, Any]:
    ended_at = job.completed_at or job.failed_at or job.cancelled_at
    took = ended_at - job.started_at if ended_at and job.started_at else None
    return {
        "success": True,
        "jobId": str(job.id),
        "status": job.status.row.api_word,
        "progress": job.progress,
        "queuedAt": _epoch_ms(job.queued_at),
        "startedAt": _epoch_ms(job.started_at),
        "completedAt": _epoch_ms(ended_at),
        "processingTime": None if took is None else round(took.total_seconds() * 1000),
    }


def _epoch_ms(at: datetime | None) -> int | None:
    return round(at.timestamp() * 1000) if at else None


def _status_error(job: Job) -> dict[str, Any]:
    if job.status is Status.FAILED:
        return {"error": job.error_message, "code": job.error_code, "reason": job.reason}
    code = {Status.CANCELLED: "CANCELLED", Status.COMPLETE: "EXPIRED"}.get(job.status)
    return {"error": FAULTS[code].says, "code": code} if code else {}


async def _stream_with_result(facts: dict[str, Any], result: CheckedObject) -> AsyncIterator[bytes]:
    """The stored result is JSON already: it goes out between the braces as it is."""
    try:
        yield json.dumps(facts)[:-1].encode() + b', "result": '
        async for piece in result.content():
            yield piece
        yield b"}"
    finally:
        result.close()
