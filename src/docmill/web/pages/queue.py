"""The queue page: drop files, watch them convert, take the results."""

from typing import Annotated, Final

from fastapi import APIRouter, Header, Query
from starlette.responses import RedirectResponse, Response, StreamingResponse

from docmill.core.jobs import ACTIVE, Job, Status
from docmill.db import breakers, lists
from docmill.db.lists import Filter
from docmill.db.pool import reading
from docmill.web.api import events
from docmill.web.deps import Asker, Here, Site
from docmill.web.pages import render
from docmill.web.shapes import iso, shape

router = APIRouter(include_in_schema=False)

SHOWN: Final = 100


@router.get("/")
async def home() -> Response:
    return RedirectResponse("/queue")


@router.get("/queue")
async def queue_page(here: Here, owner: Asker) -> Response:
    since = await events.beginning(here, owner, None)
    async with reading(here.services.pool) as conn:
        found = await lists.recent(conn, owner.key, Filter(), after=None, limit=SHOWN)
        failing = [one for one in await breakers.shown(conn) if one.failing_from]
    rows = [await _row(here, job) for job in found]
    return render.page(
        "queue.html",
        rows=rows,
        since=iso(since),
        max_bytes=here.rules.max_upload_bytes,
        failing=[(one.service, iso(one.failing_from)) for one in failing if one.failing_from],
    )


@router.get("/queue/events")
async def row_events(
    here: Here,
    owner: Asker,
    since: Annotated[str | None, Query()] = None,
    last_event_id: Annotated[str | None, Header()] = None,
) -> Response:
    """As /api/events, but each job comes drawn as its row."""

    async def draw(job: Job) -> str:
        return await _row(here, job)

    begin = await events.beginning(here, owner, last_event_id or since)
    stream = events.changes(here, owner, begin, draw)
    return StreamingResponse(stream, media_type="text/event-stream", headers=events.HEADERS)


async def _row(here: Site, job: Job) -> str:
    return render.draw(
        "row.html",
        job=await shape(job, here.paces),
        active=job.status in ACTIVE,
        failed=job.status is Status.FAILED,
        complete=job.status is Status.COMPLETE,
    )
