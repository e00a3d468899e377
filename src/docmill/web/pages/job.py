"""The page of one job: how far it is, what happened, what came out, what to do about it."""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from fastapi import APIRouter
from markupsafe import Markup
from starlette.responses import Response

from docmill.core.faults import FAULTS, Fault, Faulted
from docmill.core.jobs import ACTIVE, Job, Status
from docmill.db import history, results, steps
from docmill.db.history import Event
from docmill.db.pool import reading
from docmill.reading.remembered import KIND as PAGES
from docmill.web.api.partial import SO_FAR
from docmill.web.api.results import unpacked
from docmill.web.deps import Asker, Here, Site, own_job
from docmill.web.pages import pretty, render, words
from docmill.web.shapes import attempt_shape, event_shape, shape
from docmill.web.streams import opened

router = APIRouter(include_in_schema=False)

# A result this large is for programs; reading and drawing it would keep everybody waiting.
MOST_BYTES: Final = 4_000_000
MOST_XML: Final = 100_000
SAID: Final = {
    "created": "Received and stored",
    "queued": "Put in the queue",
    "processing": "Conversion began",
    "progress": "Under way",
    "complete": "Finished",
    "failed": "Failed",
    "retry": "Will be tried again",
    "downloaded": "Result downloaded",
    "viewed": "Document looked at",
    "expired": "Removed by retention",
    "cancelled": "Cancelled",
    "reviewed": "Reviewed",
}


@dataclass(frozen=True, slots=True)
class Step:
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
async def job_page(job_id: str, here: Here, owner: Asker) -> Response:
    async with reading(here.services.pool) as conn:
        job = await own_job(conn, owner, job_id)
        events = await history.events(conn, job.id)
        attempts = await history.attempts(conn, job.id)
        read = await steps.count(conn, job.id, PAGES) if job.status in SO_FAR else 0
    shown = await shape(job, here.paces)
    raw = [event_shape(event).model_dump(mode="json") for event in events]
    return render.page(
        "job.html",
        job=shown,
        active=job.status in ACTIVE,
        failed=job.status is Status.FAILED,
        ready=job.status is Status.COMPLETE and not words.is_expired(job),
        detail=words.detail(job, shown),
        fault=_fault(job),
        trouble=words.trouble(job),
        steps=_steps(events),
        attempts=[attempt_shape(attempt) for attempt in attempts],
        preview=await _preview(here, job),
        read=read,
        raw=json.dumps(raw, indent=2, ensure_ascii=False),
    )


def _fault(job: Job) -> Fault | None:
    code = "EXPIRED" if words.is_expired(job) else job.error_code
    return FAULTS.get(code) if code else None


def _steps(events: Sequence[Event]) -> list[Step]:
    before = [None, *(event.at for event in events)]
    return [
        Step(
            at=event.at,
            kind=event.kind,
            says=SAID.get(event.kind, event.kind),
            about=_about(event),
            seconds=(event.at - last).total_seconds() if last else None,
        )
        for event, last in zip(events, before, strict=False)
    ]


def _about(event: Event) -> str:
    """What of the meta a person wants to know; all of it is in the raw events."""
    meta = event.meta
    parts: list[Any] = []
    if event.kind == "progress":
        parts += [f"{meta['progress']} %" if "progress" in meta else None, meta.get("stage")]
    fault = FAULTS.get(meta.get("code", ""))
    parts += [fault.says if fault else None]
    if meta.get("recalled"):
        parts.append("went on from where an earlier attempt had come")
    if "what" in meta:
        parts.append({"upload": "the file", "result": "the result"}.get(meta["what"]))
    return " · ".join(str(part) for part in parts if part)


async def _preview(here: Site, job: Job) -> Preview | None:
    if job.result_key is None:
        return None
    async with reading(here.services.pool) as conn:
        data = await results.of_job(conn, job.id, "data")
        document = await results.of_job(conn, job.id, "document")
    try:
        found = await _read(here, data.key) if data and _fits(data.bytes) else ""
        text = await _read(here, document.key) if document and _fits(document.bytes) else ""
    except Faulted as exc:
        return Preview(missing=exc.fault.says)
    return await asyncio.to_thread(_drawn, found, text)


def _drawn(found: str, text: str) -> Preview:
    if not found and not text:
        return Preview(missing="The result is too large to be shown here; download it.")
    return Preview(
        data=pretty.tree(json.loads(found)) if found else None,
        xml=pretty.xml(text[:MOST_XML]) if text else None,
        cut=len(text) > MOST_XML,
    )


def _fits(count: int) -> bool:
    return count <= MOST_BYTES


async def _read(here: Site, key: str) -> str:
    _, packed = await opened(here.services.store, key)
    pieces = [piece async for piece in unpacked(packed)]
    return b"".join(pieces).decode("utf-8", "replace")
