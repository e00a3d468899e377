"""The queue page: drop files, watch them convert, take the results."""

from dataclasses import dataclass
from typing import Annotated, Any, Final
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, Header, Query
from starlette.responses import JSONResponse, RedirectResponse, Response, StreamingResponse

from docmill.core.faults import FAULTS
from docmill.core.jobs import ACTIVE, Job, Status
from docmill.db import lists
from docmill.db.lists import Filter, Place
from docmill.db.pool import reading
from docmill.web import asking
from docmill.web.api import events
from docmill.web.api.events import Told
from docmill.web.deps import Asker, Here, Site
from docmill.web.pages import render, words
from docmill.web.shapes import iso, shape

router = APIRouter(include_in_schema=False)

SHOWN: Final = 50
BEAT: Final = b"event: beat\ndata: still here\n\n"
UNDER_WAY: Final = "uploaded,queued,processing"
CHOICES: Final = (
    ("", "All"),
    (UNDER_WAY, "Active"),
    ("complete", "Ready"),
    ("failed", "Failed"),
    ("cancelled", "Cancelled"),
)


@dataclass(frozen=True, slots=True)
class View:
    """What of the queue is shown, as the address says it."""

    status: str
    pipeline: str
    text: str
    only: Filter

    def address(self, **changes: str) -> str:
        asked = {"status": self.status, "pipeline": self.pipeline, "q": self.text, **changes}
        given = {name: value for name, value in asked.items() if value}
        return f"/queue?{urlencode(given)}" if given else "/queue"


def the_view(
    status: Annotated[list[str] | None, Query()] = None, pipeline: str = "", q: str = ""
) -> View:
    only = asking.filter_of(status or [], pipeline, q)
    return View(",".join(status or []), pipeline, only.text or "", only)


Seen = Annotated[View, Depends(the_view)]


@router.get("/")
async def home() -> Response:
    return RedirectResponse("/queue")


@router.get("/queue")
async def queue_page(here: Here, owner: Asker, view: Seen, cursor: str | None = None) -> Response:
    after = asking.listing(view.only, None, cursor).after
    since = await events.beginning(here, owner, None)
    async with reading(here.services.pool) as conn:
        found = await lists.recent(conn, owner.key, view.only, after=after, limit=SHOWN + 1)
    jobs, last = found[:SHOWN], found[SHOWN - 1] if len(found) > SHOWN else None
    return render.page(
        "queue.html",
        view=view,
        choices=CHOICES,
        rows=[await row(here, job) for job in jobs],
        since=iso(since),
        after=cursor or "",
        older=asking.cursor_of(Place(last.created_at, last.id)) if last else None,
        offer=here.services.offer,
        default_pipeline=here.rules.default_pipeline,
        max_bytes=here.rules.max_upload_bytes,
        too_large=FAULTS["TOO_LARGE"].says,
    )


@router.get("/queue/events")
async def row_events(
    here: Here,
    owner: Asker,
    view: Seen,
    since: Annotated[str | None, Query()] = None,
    last_event_id: Annotated[str | None, Header()] = None,
) -> Response:
    """As /api/events, but each job comes drawn as its row, or as gone if it is not in the view."""
    begin = await events.beginning(here, owner, last_event_id or since)
    stream = events.changes(here, owner, begin, _draw(here, view), beat=BEAT)
    return StreamingResponse(stream, media_type="text/event-stream", headers=events.HEADERS)


@router.get("/queue/changes")
async def row_changes(
    here: Here, owner: Asker, view: Seen, since: Annotated[str | None, Query()] = None
) -> Response:
    """The same for pages whose stream is cut: asked for now and then while jobs are under way."""
    begin = await events.beginning(here, owner, since)
    told = await events.news(here, owner, begin, _draw(here, view))
    async with reading(here.services.pool) as conn:
        active = await lists.active_count(conn, owner.key)
    return JSONResponse(
        {
            "since": iso(told[-1][0] if told else begin),
            "active": active,
            "more": len(told) == events.PAGE,
            "events": [{"name": one.name, "data": one.data} for _, one in told],
        }
    )


def _draw(here: Site, view: View) -> events.Draw:
    async def draw(job: Job) -> Told:
        if not view.only.lets(job):
            return events.deleted(job.id)
        return Told("row", await row(here, job))

    return draw


async def row(here: Site, job: Job) -> str:
    shown = await shape(job, here.paces)
    facts: dict[str, Any] = {
        "active": job.status in ACTIVE,
        "failed": job.status is Status.FAILED,
        "running": job.status is Status.PROCESSING,
        "ready": job.status is Status.COMPLETE and not words.is_expired(job),
        "expired": words.is_expired(job),
        "exportable": job.pipeline in here.services.offer.mappings,
        "trouble": words.trouble(job),
        "detail": words.detail(job, shown),
    }
    return render.draw("row.html", job=shown, **facts)
