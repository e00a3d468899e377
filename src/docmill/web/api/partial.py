"""What a long conversion has read so far, before it is finished or although it failed."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from typing import Annotated, Any, Final, Literal

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field
from starlette.responses import RedirectResponse, Response, StreamingResponse

from docmill.core.faults import Faulted
from docmill.core.jobs import JobId, Status
from docmill.db import steps
from docmill.db.pool import reading
from docmill.reading.pages import Page
from docmill.reading.remembered import KIND, unpacked
from docmill.web import problems
from docmill.web.api.jobs import LOOKUP
from docmill.web.deps import Asker, Here, Site, own_job

router = APIRouter(prefix="/api", tags=["results"])

HEADERS: Final = {"cache-control": "private, no-store"}
SO_FAR: Final = (Status.QUEUED, Status.PROCESSING, Status.FAILED)


class PageRead(BaseModel):
    number: int
    width: float = Field(description="In points")
    height: float
    scanned: bool = Field(description="It is a picture, read by OCR")
    text: str


class Partial(BaseModel):
    """The pages read so far, in their order."""

    job_id: str
    status: str
    pages_read: int
    pages: list[PageRead]


@router.get(
    "/jobs/{job_id}/partial",
    summary="The pages that a conversion under way has read so far",
    response_model=Partial,
    responses=problems.documented(*LOOKUP, "NOT_READY")
    | {200: {"content": {"text/plain": {}}}, 303: {"description": "It is complete: the result"}},
)
async def partial_result(
    job_id: str,
    here: Here,
    owner: Asker,
    form: Annotated[
        Literal["json", "text"], Query(description="As JSON, or as text alone")
    ] = "json",
) -> Response:
    """Long conversions keep what they have read every few seconds; short ones are sooner over."""
    async with reading(here.services.pool) as conn:
        job = await own_job(conn, owner, job_id)
        count = await steps.count(conn, job.id, KIND) if job.status in SO_FAR else 0
    if job.status is Status.COMPLETE:
        return RedirectResponse(f"/api/jobs/{job.id}/download?form=data", 303)
    if not count:
        raise Faulted("NOT_READY", jobId=str(job.id), jobStatus=str(job.status))
    if form == "text":
        body, kind = _written(here, job.id, count, _text), "text/plain"
    else:
        facts = {"job_id": str(job.id), "status": str(job.status), "pages_read": count}
        body, kind = _json(here, job.id, facts), "application/json"
    return StreamingResponse(body, media_type=kind, headers=HEADERS)


async def _json(here: Site, job_id: JobId, facts: dict[str, Any]) -> AsyncIterator[str]:
    yield json.dumps(facts)[:-1] + ', "pages": ['
    comma = ""
    async for text in _written(here, job_id, facts["pages_read"], _shape):
        yield comma + text
        comma = ","
    yield "]}"


async def _written(
    here: Site, job_id: JobId, count: int, write: Callable[[Page], str]
) -> AsyncIterator[str]:
    """One step after the other, so that memory holds one; what comes meanwhile is left out."""
    number = done = 0
    while done < count:
        async with reading(here.services.pool) as conn:
            step = await steps.recall(conn, job_id, KIND, number)
        if step is None:
            return
        for text in await asyncio.to_thread(_all, step.content, write):
            yield text
        number, done = number + 1, done + step.items


def _all(content: str, write: Callable[[Page], str]) -> list[str]:
    turned = map(unpacked, json.loads(content))
    return [write(one.page) for one in turned if one.page]


def _shape(page: Page) -> str:
    return json.dumps(
        {
            "number": page.number,
            "width": page.width,
            "height": page.height,
            "scanned": page.scanned,
            "text": page.text,
        }
    )


def _text(page: Page) -> str:
    return f"{page.text}\n\n\f"
