"""The page of one document: its pages beside what was read, and below how that came about."""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from fastapi import APIRouter
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from docmill.core.faults import FAULTS, DocmillError, Fault
from docmill.core.installed import find_rooms
from docmill.core.jobs import ACTIVE, Job, Status
from docmill.core.json_values import as_object
from docmill.core.plugins import PDF, resolve
from docmill.core.shown import Shown
from docmill.db.pool import read_connection
from docmill.documents import queries as documents_queries
from docmill.documents.originals import make_pdf_link
from docmill.jobs import preview, queries, results
from docmill.jobs.api import JobAttemptModel, JobEventModel, build_job
from docmill.jobs.downloads import PARTIAL_STATUSES
from docmill.jobs.estimator import Estimator
from docmill.jobs.formats import list_formats
from docmill.jobs.pages import (
    can_retry,
    count_noun,
    describe_progress,
    describe_reading,
    describe_trouble,
    has_pictures,
    is_expired,
    is_ready,
)
from docmill.jobs.queries import JobEvent
from docmill.jobs.results import has_approved_reading
from docmill.queue import steps
from docmill.queue.enqueue import find_own_job
from docmill.reading.page_json import KIND as PAGES
from docmill.services.model_calls import list_calls
from docmill.web import render
from docmill.web.site import CurrentOwner, CurrentSite, Site

# A result this large is for programs; reading and drawing it would keep everybody waiting.
MOST_BYTES: Final = 4_000_000
MOST_XML: Final = 100_000
MOST_PAGES: Final = 200
BOOSTS: Final = {"place": "moved ahead of its owner's others", "priority": "moved ahead of all"}
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
    shown: Shown | None = None
    pages: int = 0
    mapping: str = ""


router = APIRouter(include_in_schema=False)


@router.get("/jobs/{job_id}/pdf")
async def open_pdf(
    job_id: str, request: Request, site: CurrentSite, owner: CurrentOwner
) -> Response:
    """The document in the browser's own viewer, by an address that is signed for a while."""
    async with read_connection(site.pool) as conn:
        job = await find_own_job(conn, owner, job_id)
        document = await documents_queries.find_document_row(conn, job.document_id)
    if document is None:
        raise DocmillError("EXPIRED", jobId=str(job.id))
    answer = await make_pdf_link(site, document, str(request.base_url))
    return RedirectResponse(answer.pdf_url, status_code=303)


@router.get("/jobs/{job_id}")
async def job_page(job_id: str, site: CurrentSite, owner: CurrentOwner) -> Response:
    async with read_connection(site.pool) as conn:
        job = await find_own_job(conn, owner, job_id)
        events = await queries.list_events(conn, job.id)
        attempts = await queries.list_attempts(conn, job.id)
        calls = await list_calls(conn, job.id)
        read = await steps.count_items(conn, job.id, PAGES) if job.status in PARTIAL_STATUSES else 0
    shown = await build_job(job, site.find(Estimator))
    ready, settled = is_ready(job), has_approved_reading(job)
    raw = [JobEventModel.model_validate(event).model_dump(mode="json") for event in events]
    rooms, seen = find_rooms(), await _load_preview(site, job)
    return render.render_page(
        "job.html",
        job=shown,
        active=job.status in ACTIVE,
        waiting=job.status is Status.QUEUED,
        failed=can_retry(shown),
        actions=[one for one in shown.actions if one.name != "retry" and not settled],
        ready=ready,
        links=rooms.job_links(job.pipeline, job.mapping) if ready else [],
        detail=describe_progress(job, shown),
        fault=_find_fault(job),
        trouble=describe_trouble(job),
        steps=_build_timeline(events),
        attempts=[JobAttemptModel.model_validate(attempt) for attempt in attempts],
        calls=calls,
        preview=seen,
        pictures=_count_pictures(job, seen),
        is_pdf=job.content_type == PDF,
        kind=rooms.title_of(job.pipeline),
        written=rooms.title_of((seen and seen.mapping) or job.mapping or ""),
        formats=await list_formats(site, job),
        **describe_reading(job),
        read=read,
        raw=json.dumps(raw, indent=2, ensure_ascii=False),
    )


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
    parts += _describe_schedule(event)
    if "what" in meta:
        parts.append({"upload": "the file", "result": "the result"}.get(meta["what"]))
    return " · ".join(str(part) for part in parts if part)


def _describe_schedule(event: JobEvent) -> list[str]:
    """When it was to run, what it waited for, and that it was moved ahead."""
    meta = event.meta
    said = [BOOSTS[meta["boosted"]]] if meta.get("boosted") in BOOSTS else []
    if event.kind == "queued" and meta.get("run_at"):
        said.append(f"runs at {meta['run_at'][:16].replace('T', ' ')} UTC")
    if event.kind == "queued" and isinstance(meta.get("after"), list):
        said.append(f"waits for {count_noun(len(meta['after']), 'other job')}")
    return said


async def _load_preview(site: Site, job: Job) -> Preview | None:
    if job.result_key is None and job.reading_key is None:
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
    return await asyncio.to_thread(_draw_preview, job.pipeline, found, text)


def _draw_preview(pipeline: str, found: str, text: str) -> Preview:
    if not found and not text:
        return Preview(missing="The result is too large to be shown here; download it.")
    data = json.loads(found) if found else None
    show = next((room.show for room in find_rooms().of(pipeline) if room.show), None)
    return Preview(
        data=preview.draw_tree(data) if found else None,
        xml=preview.draw_xml(text[:MOST_XML]) if text else None,
        cut=len(text) > MOST_XML,
        shown=resolve(show)(data) if show and data else None,
        pages=_count_pages(data),
        mapping=_find_mapping(data),
    )


def _count_pages(data: Any) -> int:
    """Of any pipeline's result: what it says itself, or the pages that it lists."""
    given = as_object(data)
    count = given.get("page_count") or len(given.get("pages") or ())
    return count if isinstance(count, int) else 0


def _find_mapping(data: Any) -> str:
    """The format that a run chose by itself, which its result names."""
    return str(as_object(data).get("mapping") or "")


def _count_pictures(job: Job, seen: Preview | None) -> int:
    """How many pages can be looked at; those of other files than PDFs can't."""
    return min(max(seen.pages, 1), MOST_PAGES) if seen and has_pictures(job) else 0


def _fits(count: int) -> bool:
    return count <= MOST_BYTES


async def _read_text(site: Site, key: str) -> str:
    content = await results.read_result(site.pool, site.store, key)
    return content.decode("utf-8", "replace")
