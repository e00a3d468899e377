"""Results going out: as a download, and inside the status that programs poll."""

import asyncio
import json
import zlib
from collections.abc import AsyncIterator
from datetime import datetime
from pathlib import PurePath
from typing import Annotated, Any, Final

from fastapi import APIRouter, Header, Query
from pydantic import BaseModel, Field
from starlette.background import BackgroundTask
from starlette.responses import JSONResponse, Response, StreamingResponse

from docmill import forms
from docmill.core.faults import FAULTS, Faulted
from docmill.core.jobs import Job, Status
from docmill.core.owners import Owner
from docmill.db import jobs, results
from docmill.db.pool import connection, reading
from docmill.db.results import Result
from docmill.web import asking, problems
from docmill.web.api.jobs import LOOKUP
from docmill.web.deps import Asker, Here, Site, own_job
from docmill.web.streams import attachment, opened

router = APIRouter(prefix="/api", tags=["results"])

PIECE: Final = 1 << 18
ENDINGS: Final = {"application/json": ".json", "application/xml": ".xml"}
STORED_FORMS: Final = (None, "data", "document")
ALL_FORMS: Final = [form for offered in forms.FORMS.values() for form in offered.values()]
FORM: Final = (
    "The JSON that was found (data) or the document made of it (document), by default that; or it "
    "is written anew: "
    + "; ".join(f"of {name} as {', '.join(offered)}" for name, offered in forms.FORMS.items())
)
WORDS: Final = {
    Status.UPLOADED: "queued",
    Status.QUEUED: "queued",
    Status.PROCESSING: "processing",
    Status.COMPLETE: "completed",
    Status.FAILED: "failed",
    Status.CANCELLED: "failed",
}


@router.get(
    "/jobs/{job_id}/download",
    summary="The result of a complete job",
    response_class=Response,
    responses=problems.documented(*LOOKUP, "BAD_REQUEST", "NOT_READY", "EXPIRED", "IO_ERROR")
    | {
        200: {
            "description": "The result",
            "content": {
                "application/json": {},
                "application/xml": {},
                **{form.content_type.partition(";")[0]: {} for form in ALL_FORMS},
            },
        }
    },
)
async def download_result(
    job_id: str,
    here: Here,
    owner: Asker,
    accept_encoding: Annotated[str | None, Header()] = None,
    form: Annotated[str | None, Query(description=FORM, examples=["data"])] = None,
    original: Annotated[bool, Query(description="As it was read, before any review")] = False,
) -> Response:
    if form not in STORED_FORMS:
        return await _formed(here, owner, job_id, form)
    async with reading(here.services.pool) as conn:
        job = await own_job(conn, owner, job_id)
        result = await results.of_job(conn, job.id, form, original=original)
        _check_there(job, result)
        assert result is not None
    _, packed = await opened(here.services.store, result.key)
    async with connection(here.services.pool) as conn:
        await jobs.count_download(conn, job.id)
    here.services.changes.ring()
    headers = {
        "content-disposition": _disposition(job, ENDINGS.get(result.content_type, "")),
        "cache-control": "private, no-store",
        "vary": "Accept-Encoding, Cookie",
    }
    if asking.accepts_gzip(accept_encoding):
        headers |= {"content-encoding": "gzip", "content-length": str(result.stored_bytes)}
        body = packed
    else:
        headers["content-length"] = str(result.bytes)
        body = unpacked(packed)
    delivery = Delivery(body)
    after = None
    if here.rules.delete_on_download:
        after = BackgroundTask(_forget, here, job, delivery)
    return StreamingResponse(
        delivery.chunks(), headers=headers, media_type=result.content_type, background=after
    )


async def _formed(here: Site, owner: Owner, job_id: str, name: str) -> Response:
    """The data that was found, written anew in a form of its pipeline."""
    async with reading(here.services.pool) as conn:
        job = await own_job(conn, owner, job_id)
        offered = forms.FORMS.get(job.pipeline, {})
        if name not in offered:
            known = ", ".join([*filter(None, STORED_FORMS), *offered])
            raise asking.refuse("form", f"of {job.pipeline} there is {known}")
        result = await results.of_job(conn, job.id, "data")
        _check_there(job, result)
        assert result is not None
    form = offered[name]
    async with here.exporting:
        data = await read_data(here, result)
        title = PurePath(job.original_filename).stem or "docmill"
        body = await asyncio.to_thread(form.write, data, title)
    async with connection(here.services.pool) as conn:
        await jobs.count_download(conn, job.id)
    here.services.changes.ring()
    headers = {
        "content-disposition": _disposition(job, form.ending),
        "cache-control": "private, no-store",
    }
    return Response(body, media_type=form.content_type, headers=headers)


async def read_data(here: Site, result: Result) -> Any:
    """A stored result as Python has it, whole."""
    _, packed = await opened(here.services.store, result.key)
    pieces = [piece async for piece in unpacked(packed)]
    return await asyncio.to_thread(json.loads, b"".join(pieces))


def _check_there(job: Job, result: Result | None) -> None:
    if job.status is not Status.COMPLETE:
        raise Faulted("NOT_READY", jobId=str(job.id), jobStatus=str(job.status))
    if result is None:
        raise Faulted("EXPIRED", jobId=str(job.id))


async def unpacked(packed: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Gunzip in small pieces: memory grows neither with the file nor with what it unpacks to."""
    gzip = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
    async for chunk in packed:
        left = chunk
        while left:
            yield gzip.decompress(left, PIECE)
            left = gzip.unconsumed_tail
    if rest := gzip.flush():
        yield rest


class Delivery:
    """Passes a body on and knows whether all of it went out."""

    def __init__(self, body: AsyncIterator[bytes]) -> None:
        self.whole: bool = False
        self._body: AsyncIterator[bytes] = body

    async def chunks(self) -> AsyncIterator[bytes]:
        async for chunk in self._body:
            yield chunk
        self.whole = True


async def _forget(here: Site, job: Job, delivery: Delivery) -> None:
    """Installations may let a result go with its first download, once it was sent to the end.

    It runs after the answer: the client may be gone by now, which cancels what still sends.
    """
    if not delivery.whole:
        return
    async with connection(here.services.pool) as conn:
        keys = await results.keys(conn, job.id)
        await results.expire(conn, job.id)
    for key in keys:
        await here.services.store.delete(key)
    here.services.changes.ring()


def _disposition(job: Job, ending: str) -> str:
    return attachment((PurePath(job.original_filename).stem or "result") + ending)


class StatusAnswer(BaseModel):
    """For programs that poll. Times are milliseconds since 1970, spans milliseconds."""

    success: bool
    jobId: str  # noqa: N815  the contract's names
    status: str = Field(examples=["queued", "processing", "completed", "failed"])
    progress: int
    queuedAt: int | None  # noqa: N815
    startedAt: int | None  # noqa: N815
    completedAt: int | None = Field(description="When the job ended, well or not")  # noqa: N815
    processingTime: int | None  # noqa: N815
    result: Any = Field(default=None, description="Only when completed")
    error: str | None = Field(default=None, description="Only when failed, with `code`")
    code: str | None = None


@router.get(
    "/job-status/{job_id}",
    summary="A job's status in four words; with its result when completed",
    response_model=StatusAnswer,
    responses=problems.documented(*LOOKUP, "IO_ERROR"),
)
async def job_status(job_id: str, here: Here, owner: Asker) -> Response:
    """A cancelled job shows as failed with the code CANCELLED."""
    async with reading(here.services.pool) as conn:
        job = await own_job(conn, owner, job_id)
        result = await results.of_job(conn, job.id, "data") if job.result_key else None
    facts = _facts(job)
    if result is None:
        return JSONResponse(facts | _error(job))
    _, packed = await opened(here.services.store, result.key)
    body = _with_result(facts, unpacked(packed))
    return StreamingResponse(body, media_type="application/json")


def _facts(job: Job) -> dict[str, Any]:
    ended_at = job.completed_at or job.failed_at or job.cancelled_at
    took = ended_at - job.started_at if ended_at and job.started_at else None
    return {
        "success": True,
        "jobId": str(job.id),
        "status": WORDS[job.status],
        "progress": job.progress,
        "queuedAt": _ms(job.queued_at),
        "startedAt": _ms(job.started_at),
        "completedAt": _ms(ended_at),
        "processingTime": None if took is None else round(took.total_seconds() * 1000),
    }


def _ms(at: datetime | None) -> int | None:
    return round(at.timestamp() * 1000) if at else None


def _error(job: Job) -> dict[str, Any]:
    if job.status is Status.FAILED:
        return {"error": job.error_message, "code": job.error_code}
    code = {Status.CANCELLED: "CANCELLED", Status.COMPLETE: "EXPIRED"}.get(job.status)
    return {"error": FAULTS[code].says, "code": code} if code else {}


async def _with_result(facts: dict[str, Any], result: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """The stored result is JSON already: it goes out between the braces as it is."""
    yield json.dumps(facts)[:-1].encode() + b', "result": '
    async for piece in result:
        yield piece
    yield b"}"
