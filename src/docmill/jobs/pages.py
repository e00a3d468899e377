"""Facts of a job in words for people: sizes, spans, ages, and the line under a badge."""

import asyncio
import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Final
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, Header, Query
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response, StreamingResponse

from docmill.core.faults import FAULTS, DocmillError, Fault
from docmill.core.installed import PipelineCatalog, find_rooms
from docmill.core.jobs import ACTIVE, ACTIVE_WORDS, ENDED, Job, Status
from docmill.db.pool import read_connection
from docmill.documents import upload as uploads
from docmill.documents.accept import JobRequest
from docmill.jobs import events, params, preview, queries, results
from docmill.jobs.api import JobAttemptModel, JobEventModel, JobModel, build_job
from docmill.jobs.downloads import PARTIAL_STATUSES
from docmill.jobs.estimator import Estimator
from docmill.jobs.events import ServerEvent
from docmill.jobs.queries import JobEvent, JobFilter
from docmill.jobs.upload import take_in
from docmill.queue import steps
from docmill.queue.enqueue import find_own_job
from docmill.reading.page_json import KIND as PAGES
from docmill.services import breaker
from docmill.web import params as web_params
from docmill.web import render
from docmill.web.params import Cursor, format_instant
from docmill.web.render import HOUR, MINUTE, format_span
from docmill.web.site import CurrentOwner, CurrentSite, Site


def format_left(seconds: float) -> str:
    """An estimate: nobody believes it to the second."""
    if seconds < MINUTE:
        return f"about {max(math.ceil(seconds), 1)} s left"
    if seconds < HOUR:
        return f"about {math.ceil(seconds / MINUTE)} min left"
    return f"about {math.ceil(seconds / HOUR)} h left"


def is_expired(job: Job) -> bool:
    return job.status is Status.COMPLETE and job.result_key is None


def describe_trouble(job: Job) -> str | None:
    """The one sentence about what is wrong with a job."""
    if is_expired(job):
        return FAULTS["EXPIRED"].says
    return job.reason or job.error_message


def describe_progress(job: Job, shape: JobModel) -> str:
    """What there is to say about how far a job is."""
    if job.status is Status.COMPLETE and job.completed_at and job.started_at:
        return f"in {format_span((job.completed_at - job.started_at).total_seconds())}"
    if job.status is Status.FAILED and job.failed_at and job.started_at:
        return f"after {format_span((job.failed_at - job.started_at).total_seconds())}"
    parts = [job.stage] if job.status is Status.PROCESSING and job.stage else []
    if job.run_at:
        parts.append("waits to try again")
    if shape.estimated_seconds_left is not None:
        parts.append(format_left(shape.estimated_seconds_left))
    return " · ".join(parts)


router = APIRouter(include_in_schema=False)

PAGE_SIZE: Final = 50
HEARTBEAT: Final = b"event: beat\ndata: still here\n\n"
ACTIVE_STATUSES: Final = ",".join(ACTIVE_WORDS)
STATUS_CHOICES: Final = (
    ("", "All"),
    (ACTIVE_STATUSES, "Active"),
    *((str(status), status.label) for status in Status if status in ENDED),
)


@dataclass(frozen=True, slots=True)
class QueueView:
    """What of the queue is shown, as the address says it."""

    status: str
    pipeline: str
    text: str
    only: JobFilter

    def address(self, **changes: str) -> str:
        asked = {"status": self.status, "pipeline": self.pipeline, "q": self.text, **changes}
        given = {name: value for name, value in asked.items() if value}
        return f"/queue?{urlencode(given)}" if given else "/queue"


def read_view(
    status: Annotated[list[str] | None, Query()] = None, pipeline: str = "", q: str = ""
) -> QueueView:
    only = params.parse_filter(status or [], pipeline, q)
    return QueueView(",".join(status or []), pipeline, only.text or "", only)


CurrentView = Annotated[QueueView, Depends(read_view)]


@router.get("/")
async def home() -> Response:
    return RedirectResponse("/queue")


@router.post("/queue/upload")
async def upload_form(request: Request, site: CurrentSite, owner: CurrentOwner) -> Response:
    """For browsers without scripts: back to the queue, which tells what became of the files."""
    context = uploads.UploadContext(site.store, site.catalog, site.config, read_fields=_read_form)
    wanted = JobRequest(owner, site.config.default_pipeline, source="upload")
    try:
        outcomes = await take_in(request, site, wanted, context)
    except DocmillError as exc:
        received, refused = 0, [exc.fault.code]
    else:
        received = sum(one.success for one in outcomes)
        refused = [one.code for one in outcomes if not one.success]
    told = urlencode({"received": received, "refused": refused}, doseq=True)
    return RedirectResponse(f"/queue?{told}", status_code=303)


def _read_form(values: Mapping[str, str], offer: PipelineCatalog) -> uploads.UploadFields:
    """The form sends a mapping always; without a script, perhaps one of another pipeline."""
    known = offer.mappings.get(values.get("pipeline", ""), ())
    fitting = values.get("mapping") in known or "pipeline" not in values
    return uploads.read_fields(values if fitting else {**values, "mapping": ""}, offer)


@dataclass(frozen=True, slots=True)
class UploadNotice:
    """One sentence about what became of files that were sent by the form."""

    says: str
    look: str
    icon: str


def read_notices(
    received: Annotated[int, Query(ge=0, le=10_000)] = 0,
    refused: Annotated[list[str] | None, Query(max_length=100)] = None,
) -> list[UploadNotice]:
    """In sentences of ours alone: anybody can make such an address."""
    lines: list[UploadNotice] = []
    if received:
        lines.append(UploadNotice(f"{_count_files(received)} received", "good", "check"))
    for code, count in Counter(refused or []).items():
        if code in FAULTS:
            says = FAULTS[code].says
            lines.append(
                UploadNotice(
                    says if count == 1 else f"{_count_files(count)}: {says}", "bad", "warn"
                )
            )
    return lines


def _count_files(count: int) -> str:
    return "1 file" if count == 1 else f"{count} files"


CurrentNotices = Annotated[list[UploadNotice], Depends(read_notices)]


@router.get("/queue")
async def queue_page(
    site: CurrentSite,
    owner: CurrentOwner,
    view: CurrentView,
    outcome: CurrentNotices,
    cursor: str | None = None,
) -> Response:
    after = params.parse_listing(view.only, None, cursor).after
    since = await events.find_start(site, owner, None)
    async with read_connection(site.pool) as conn:
        found = await queries.list_recent(
            conn, owner.key, view.only, after=after, limit=PAGE_SIZE + 1
        )
        failing = [one for one in await breaker.read_states(conn) if one.failing_from]
    jobs, older = web_params.cut_page(found, PAGE_SIZE, lambda job: Cursor(job.created_at, job.id))
    return render.render_page(
        "queue.html",
        outcome=outcome,
        view=view,
        choices=STATUS_CHOICES,
        rows=[await render_row(site, job) for job in jobs],
        since=format_instant(since),
        after=cursor or "",
        older=older,
        offer=site.catalog,
        default_pipeline=site.config.default_pipeline,
        max_bytes=site.config.max_upload_bytes,
        too_large=FAULTS["TOO_LARGE"].fill({"maxSize": site.config.max_upload_bytes}).says,
        failing=[
            (one.service, format_instant(one.failing_from)) for one in failing if one.failing_from
        ],
    )


@router.get("/queue/events")
async def row_events(
    site: CurrentSite,
    owner: CurrentOwner,
    view: CurrentView,
    since: Annotated[str | None, Query()] = None,
    last_event_id: Annotated[str | None, Header()] = None,
) -> Response:
    """As /api/events, but each job comes drawn as its row, or as gone if it is not in the view."""
    begin = await events.find_start(site, owner, last_event_id or since)
    stream = events.stream_changes(site, owner, begin, _make_drawer(site, view), beat=HEARTBEAT)
    return StreamingResponse(stream, media_type="text/event-stream", headers=events.HEADERS)


@router.get("/queue/changes")
async def row_changes(
    site: CurrentSite,
    owner: CurrentOwner,
    view: CurrentView,
    since: Annotated[str | None, Query()] = None,
) -> Response:
    """The same for pages whose stream is cut: asked for now and then while jobs are under way."""
    begin = await events.find_start(site, owner, since)
    told = await events.list_news(site, owner, begin, _make_drawer(site, view))
    async with read_connection(site.pool) as conn:
        active = await queries.count_active(conn, owner.key)
    return JSONResponse(
        {
            "since": format_instant(told[-1][0] if told else begin),
            "active": active,
            "more": len(told) == events.PAGE,
            "events": [{"name": one.name, "data": one.data} for _, one in told],
        }
    )


def _make_drawer(site: Site, view: QueueView) -> events.DrawJob:
    async def draw(job: Job) -> ServerEvent:
        if not view.only.lets(job):
            return events.deletion_event(job.id)
        return ServerEvent("row", await render_row(site, job))

    return draw


async def render_row(site: Site, job: Job) -> str:
    shown = await build_job(job, site.find(Estimator))
    ready = job.status is Status.COMPLETE and not is_expired(job)
    facts: dict[str, Any] = {
        "active": job.status in ACTIVE,
        "failed": _can_retry(shown),
        "running": job.status is Status.PROCESSING,
        "ready": ready,
        "links": find_rooms().job_links(job.pipeline, job.mapping) if ready else [],
        "expired": is_expired(job),
        "exportable": job.pipeline in site.catalog.mappings,
        "trouble": describe_trouble(job),
        "detail": describe_progress(job, shown),
    }
    return render.render_template("row.html", job=shown, **facts)


# A result this large is for programs; reading and drawing it would keep everybody waiting.
MOST_BYTES: Final = 4_000_000
MOST_XML: Final = 100_000
EVENT_LABELS: Final = {
    **{str(status): status.row.event for status in Status},
    "created": Status.UPLOADED.row.event,
    "progress": "Under way",
    "retry": "Will be tried again",
    "downloaded": "Result downloaded",
    "viewed": "Document looked at",
    "expired": "Removed by retention",
    "reviewed": "Reviewed",
}


@dataclass(frozen=True, slots=True)
class TimelineStep:
    """One line of the timeline, and how long after the line before."""

    at: datetime
    kind: str
    says: str
    about: str
    seconds: float | None


@dataclass(frozen=True, slots=True)
class Preview:
    """What came out, drawn; or why it is not."""

    data: Markup | None = None
    xml: Markup | None = None
    cut: bool = False
    missing: str = ""


@router.get("/jobs/{job_id}")
async def job_page(job_id: str, site: CurrentSite, owner: CurrentOwner) -> Response:
    async with read_connection(site.pool) as conn:
        job = await find_own_job(conn, owner, job_id)
        events = await queries.list_events(conn, job.id)
        attempts = await queries.list_attempts(conn, job.id)
        read = await steps.count_items(conn, job.id, PAGES) if job.status in PARTIAL_STATUSES else 0
    shown = await build_job(job, site.find(Estimator))
    ready = job.status is Status.COMPLETE and not is_expired(job)
    raw = [JobEventModel.model_validate(event).model_dump(mode="json") for event in events]
    return render.render_page(
        "job.html",
        job=shown,
        active=job.status in ACTIVE,
        failed=_can_retry(shown),
        ready=ready,
        links=find_rooms().job_links(job.pipeline, job.mapping) if ready else [],
        detail=describe_progress(job, shown),
        fault=_find_fault(job),
        trouble=describe_trouble(job),
        steps=_build_timeline(events),
        attempts=[JobAttemptModel.model_validate(attempt) for attempt in attempts],
        preview=await _load_preview(site, job),
        read=read,
        raw=json.dumps(raw, indent=2, ensure_ascii=False),
    )


def _can_retry(job: JobModel) -> bool:
    return any(action.name == "retry" for action in job.actions)


def _find_fault(job: Job) -> Fault | None:
    code = "EXPIRED" if is_expired(job) else job.error_code
    return FAULTS.get(code) if code else None


def _build_timeline(events: Sequence[JobEvent]) -> list[TimelineStep]:
    before = [None, *(event.at for event in events)]
    return [
        TimelineStep(
            at=event.at,
            kind=event.kind,
            says=EVENT_LABELS.get(event.kind, event.kind),
            about=_describe_event(event),
            seconds=(event.at - last).total_seconds() if last else None,
        )
        for event, last in zip(events, before, strict=False)
    ]


def _describe_event(event: JobEvent) -> str:
    """What of the meta a person wants to know; all of it is in the raw events."""
    meta = event.meta
    parts: list[Any] = []
    if event.kind == "progress":
        parts += [f"{meta['progress']} %" if "progress" in meta else None, meta.get("stage")]
    fault = FAULTS.get(meta.get("code", ""))
    if fault:
        parts.append(fault.final if event.kind == "failed" else fault.says)
    if meta.get("recalled"):
        parts.append("went on from where an earlier attempt had come")
    if "what" in meta:
        parts.append({"upload": "the file", "result": "the result"}.get(meta["what"]))
    return " · ".join(str(part) for part in parts if part)


async def _load_preview(site: Site, job: Job) -> Preview | None:
    if job.result_key is None:
        return None
    async with read_connection(site.pool) as conn:
        data = await results.find_result(conn, job.id, "data")
        document = await results.find_result(conn, job.id, "document")
    try:
        found = await _read_text(site, data.key) if data and _fits(data.bytes) else ""
        text = await _read_text(site, document.key) if document and _fits(document.bytes) else ""
    except DocmillError as exc:
        site.metrics.count_damage(exc)
        return Preview(missing=exc.fault.says)
    return await asyncio.to_thread(_draw_preview, found, text)


def _draw_preview(found: str, text: str) -> Preview:
    if not found and not text:
        return Preview(missing="The result is too large to be shown here; download it.")
    return Preview(
        data=preview.draw_tree(json.loads(found)) if found else None,
        xml=preview.draw_xml(text[:MOST_XML]) if text else None,
        cut=len(text) > MOST_XML,
    )


def _fits(count: int) -> bool:
    return count <= MOST_BYTES


async def _read_text(site: Site, key: str) -> str:
    content = await results.read_result(site.pool, site.store, key)
    return content.decode("utf-8", "replace")
