"""Facts of a job in words for people: sizes, spans, ages, and the line under a badge."""

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final
from urllib.parse import parse_qsl, urlencode

from fastapi import APIRouter, Depends, Header, Query
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response, StreamingResponse

from docmill.core.amounts import show_amount
from docmill.core.cleanup import on_failure
from docmill.core.faults import FAULTS, DocmillError
from docmill.core.installed import PipelineCatalog, find_rooms
from docmill.core.jobs import ACTIVE, ACTIVE_WORDS, ENDED, Job, Status
from docmill.core.owners import Owner
from docmill.core.plugins import PDF
from docmill.core.summaries import APPROVED, CHECK, STATE, TO_CHECK
from docmill.db.pool import Connection, read_connection
from docmill.documents import accept
from docmill.documents import upload as uploads
from docmill.documents.accept import Acceptor, JobRequest
from docmill.documents.staging import FileStage
from docmill.jobs import events, params, queries
from docmill.jobs.api import JobModel, build_job
from docmill.jobs.estimator import Estimator
from docmill.jobs.events import ServerEvent
from docmill.jobs.preferences import read_preferences
from docmill.jobs.queries import JobFilter
from docmill.jobs.results import has_approved_reading
from docmill.jobs.samples import SAMPLES
from docmill.jobs.upload import check_sender, take_in
from docmill.services import breaker
from docmill.web import json_body, render
from docmill.web import params as web_params
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


def is_ready(job: Job) -> bool:
    """Whether there is something to download: a result, or what a person approved."""
    return (job.status is Status.COMPLETE and not is_expired(job)) or has_approved_reading(job)


def describe_trouble(job: Job) -> str | None:
    """The one sentence about what is wrong with a job; none about what a person settled."""
    if has_approved_reading(job):
        return None
    if is_expired(job):
        return FAULTS["EXPIRED"].says
    return job.reason or job.error_message


def describe_progress(job: Job, shape: JobModel) -> str:
    """What there is to say about how far a job is."""
    if job.status is Status.COMPLETE and job.completed_at and job.started_at:
        return f"in {format_span((job.completed_at - job.started_at).total_seconds())}"
    if job.status is Status.FAILED and job.failed_at and job.started_at:
        if has_approved_reading(job):
            return f"refused as {find_rooms().title_of(job.mapping or '')}"
        return f"after {format_span((job.failed_at - job.started_at).total_seconds())}"
    parts = [job.stage] if job.status is Status.PROCESSING and job.stage else []
    if waits := _describe_wait(job):
        return waits
    if job.run_at:
        parts.append("waits to try again")
    if shape.estimated_seconds_left is not None:
        parts.append(format_left(shape.estimated_seconds_left))
    return " · ".join(parts)


def _describe_wait(job: Job) -> str:
    """What its owner wanted to come first; nobody knows how long that takes."""
    if job.status is not Status.QUEUED:
        return ""
    if job.after:
        return f"Waits for {count_noun(len(job.after), 'other job')}"
    if job.run_at and job.run_at == job.not_before:
        return f"Runs at {job.run_at:%d %b %Y, %H:%M} UTC"
    return ""


def count_noun(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


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
    sort: str
    only: JobFilter

    def address(self, **changes: str) -> str:
        shown = {"status": self.status, "pipeline": self.pipeline, "q": self.text}
        asked = {**shown, "sort": self.sort, **changes}
        given = {name: value for name, value in asked.items() if value}
        return f"/queue?{urlencode(given)}" if given else "/queue"


def read_view(
    status: Annotated[list[str] | None, Query()] = None,
    pipeline: str = "",
    q: str = "",
    sort: str = "",
) -> QueueView:
    only = params.parse_filter(status or [], pipeline, q)
    known = sort if sort in queries.SORTS else ""
    return QueueView(",".join(status or []), pipeline, only.text or "", known, only)


CurrentView = Annotated[QueueView, Depends(read_view)]


@router.get("/")
async def home() -> Response:
    return RedirectResponse("/queue")


@router.post("/queue/upload")
async def upload_form(request: Request, site: CurrentSite, owner: CurrentOwner) -> Response:
    """For browsers without scripts: back to the queue, which tells what became of the files."""
    context = uploads.UploadContext(site.store, site.catalog, site.config, read_fields=_read_form)
    wanted = JobRequest(owner, site.config.default_pipeline, source="upload", preferred=True)
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
        found = await _list_jobs(conn, owner, view, after)
        counts = await _count_choices(conn, owner)
        services = await breaker.read_states(conn)
        preferred = await read_preferences(conn, owner.key)
    jobs, older = web_params.cut_page(found, PAGE_SIZE, lambda job: Cursor(job.created_at, job.id))
    return render.render_page(
        "queue.html",
        outcome=outcome,
        view=view,
        choices=STATUS_CHOICES,
        counts=counts,
        sorts=queries.SORTS.items(),
        title_of=find_rooms().title_of,
        rows=[await render_row(site, job) for job in jobs],
        since=format_instant(since),
        after=cursor or "",
        older=older,
        offer=site.catalog,
        default_pipeline=preferred.pipeline or site.config.default_pipeline,
        default_mapping=preferred.mapping,
        max_bytes=site.config.max_upload_bytes,
        too_large=FAULTS["TOO_LARGE"].fill({"maxSize": site.config.max_upload_bytes}).says,
        samples=[one for one in SAMPLES.values() if one.pipeline in site.catalog.accepts],
        failing=[
            (one.service, format_instant(one.failing_from))
            for one in services
            if one.failing_from and not one.paused_at
        ],
        paused=[one for one in services if one.paused_at],
    )


async def _list_jobs(
    conn: Connection, owner: Owner, view: QueueView, after: Cursor | None
) -> list[Job]:
    limit = PAGE_SIZE + 1
    if view.sort:
        page = queries.SortedPage(view.sort, after, limit)
        return await queries.list_sorted(conn, owner.key, view.only, page=page)
    return await queries.list_recent(conn, owner.key, view.only, after=after, limit=limit)


async def _count_choices(conn: Connection, owner: Owner) -> dict[str, int]:
    """By each choice of the tabs, how many there are."""
    found = await queries.count_by_status(conn, owner.key)
    return {
        choice: sum(
            count for word, count in found.items() if not choice or word in choice.split(",")
        )
        for choice, _ in STATUS_CHOICES
    }


@router.get("/queue/counts")
async def queue_counts(site: CurrentSite, owner: CurrentOwner) -> Response:
    async with read_connection(site.pool) as conn:
        return JSONResponse(await _count_choices(conn, owner))


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
    ready = is_ready(job)
    facts: dict[str, Any] = {
        "active": job.status in ACTIVE,
        "failed": can_retry(shown),
        "running": job.status is Status.PROCESSING,
        "ready": ready,
        "links": find_rooms().job_links(job.pipeline, job.mapping) if ready else [],
        "expired": is_expired(job),
        "exportable": job.pipeline in site.catalog.mappings,
        "trouble": describe_trouble(job),
        "detail": describe_progress(job, shown),
        "is_pdf": job.content_type == PDF,
        "thumb": has_pictures(job),
        "kind": find_rooms().title_of(job.pipeline),
        **describe_reading(job),
    }
    return render.render_template("row.html", job=shown, **facts)


def has_pictures(job: Job) -> bool:
    """Whether its pages can be looked at: a PDF that was read, and is still there."""
    read = job.result_key or job.reading_key
    return bool(read) and job.content_type == PDF and job.upload_key is not None


def can_retry(job: JobModel) -> bool:
    return any(action.name == "retry" for action in job.actions)


def describe_reading(job: Job) -> dict[str, Any]:
    """What was read in short, and where its review stands; of a job that has ended well."""
    about = job.summary or {}
    standing, look = _describe_standing(job)
    settled = has_approved_reading(job)
    return {
        "about": about,
        "amount": show_amount(about),
        "badge": "Approved" if settled else job.status.label,
        "settled": settled,
        "standing": standing,
        "standing_look": look,
    }


def _describe_standing(job: Job) -> tuple[str, str]:
    about = job.summary or {}
    if job.status is not Status.COMPLETE or STATE not in about:
        return "", "meta"
    if about[STATE] == TO_CHECK:
        count = about.get(CHECK) or 0
        return (f"{count} to check", "warm") if count else ("nothing to check", "meta")
    return str(about[STATE]), "good" if about[STATE] == APPROVED else "bad"


@router.post("/queue/samples")
async def try_sample(request: Request, site: CurrentSite, owner: CurrentOwner) -> Response:
    """One of our own documents, as if the owner had uploaded it; leads to its job."""
    sent = dict(parse_qsl((await json_body.read_limited(request)).decode("utf-8", "replace")))
    sample = SAMPLES.get(sent.get("sample", ""))
    if sample is None or sample.pipeline not in site.catalog.accepts:
        raise DocmillError("NO_FILE")
    await check_sender(request, site, owner)
    stage = FileStage(site.store, sample.filename, max_bytes=site.config.max_upload_bytes)
    async with on_failure(stage.abort):
        await stage.write(sample.read())
        staged = await stage.finish()
    wanted = JobRequest(owner, sample.pipeline, source="upload")
    accepted = await accept.accept(site.find(Acceptor), staged, wanted)
    return RedirectResponse(f"/jobs/{accepted.job.id}", status_code=303)
