"""The pages /admin, its retention, costs and audit log: plain forms, which need no script."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, date, datetime
from typing import Annotated, Final
from urllib.parse import parse_qsl, urlencode

from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from docmill.accounts import api as accounts_api
from docmill.admin import actions, overview, upkeep, upkeep_api
from docmill.admin.actions import AdminAction, FailedJobs
from docmill.admin.queries import EndedMinute
from docmill.core.faults import DocmillError
from docmill.core.texts import clean_text
from docmill.db import audit
from docmill.db.pool import read_connection
from docmill.documents.source_api import change_pause
from docmill.jobs import boosting
from docmill.web import json_body, render
from docmill.web.auth import check_admin, check_watcher
from docmill.web.render import format_span
from docmill.web.site import CurrentOwner, CurrentSite

router = APIRouter(include_in_schema=False)

AUDIT_SHOWN: Final = 100
# What a person can see for themselves on the page when it comes again.
MENDABLE: Final = frozenset(
    {"WRONG_STATE", "EXPIRED", "JOB_NOT_FOUND", "SESSION_NOT_FOUND", "UNKNOWN_SERVICE"}
)
# The charts; the page's CSS says their colours, light and dark.
WIDE: Final = 600
HIGH: Final = 160
LEFT: Final = 72  # room for "59 min 59 s"
FOOT: Final = 20
TOP: Final = 8
Told = Annotated[str, Query(max_length=200)]


@router.get("/admin")
async def admin_page(
    site: CurrentSite, owner: CurrentOwner, done: Told = "", wrong: Told = ""
) -> Response:
    check_watcher(owner)
    seen, sessions = await asyncio.gather(
        overview.load_overview(site, owner), accounts_api.list_sessions(site, owner, limit=10)
    )
    return render.render_page(
        "admin.html",
        seen=seen,
        may_act=owner.admin,
        sessions=sessions.sessions,
        throughput=draw_throughput(seen.minutes),
        latency=draw_latency(seen.minutes),
        done=clean_text(done),
        wrong=clean_text(wrong),
    )


def _go_back(**told: str) -> Response:
    return RedirectResponse(f"/admin?{urlencode(told)}", status_code=303)


def _tell_fault(exc: DocmillError) -> Response:
    if exc.fault.code not in MENDABLE:
        raise exc
    return _go_back(wrong=f"{exc.fault.says}. {exc.fault.advice}")


PAST: Final = {"retry": "queued again", "cancel": "cancelled", "release": "taken back and queued"}


@router.post("/admin/jobs/{job_id}/boost")
async def boost_job(job_id: str, site: CurrentSite, owner: CurrentOwner) -> Response:
    check_admin(owner)
    try:
        answer = await boosting.boost_job(job_id, site, owner)
    except DocmillError as exc:
        return _tell_fault(exc)
    return _go_back(done=f"Job {answer.job_id} goes first.")


@router.post("/admin/jobs/{job_id}/{action}")
async def act_on_job(
    job_id: str, action: AdminAction, site: CurrentSite, owner: CurrentOwner
) -> Response:
    try:
        job = await actions.act_on_job(site, owner, job_id, action)
    except DocmillError as exc:
        return _tell_fault(exc)
    return _go_back(done=f"Job {job.id} is {PAST[action]}.")


@router.post("/admin/retry")
async def retry_failed(request: Request, site: CurrentSite, owner: CurrentOwner) -> Response:
    check_admin(owner)
    count = await actions.retry_failed(site, owner, await _read_meant(request))
    return _go_back(done=f"{count} failed jobs are queued again.")


@router.post("/admin/reprocess")
async def reprocess_failed(request: Request, site: CurrentSite, owner: CurrentOwner) -> Response:
    check_admin(owner)
    count = await actions.reprocess_failed(site, owner, await _read_meant(request))
    return _go_back(done=f"{count} failed documents are read again, each by a new job.")


async def _read_meant(request: Request) -> FailedJobs:
    given = await _read_form(request)
    return FailedJobs(given.get("code") or None, given.get("pipeline") or None)


@router.post("/admin/sources/{name}/{action}")
async def change_source(name: str, action: str, site: CurrentSite, owner: CurrentOwner) -> Response:
    check_admin(owner)
    if action not in {"pause", "resume"}:
        raise DocmillError("NOT_FOUND")
    await change_pause(site, owner, name, paused=action == "pause")
    return _go_back(done=f"The source {name} is {action}d.")


@router.post("/admin/sessions/{session_id}/end")
async def end_session(session_id: str, site: CurrentSite, owner: CurrentOwner) -> Response:
    try:
        await accounts_api.end_session(session_id, site, owner)
    except DocmillError as exc:
        return _tell_fault(exc)
    return _go_back(done="The session is ended.")


async def _read_form(request: Request) -> dict[str, str]:
    body = (await json_body.read_limited(request)).decode("utf-8", "replace")
    pairs = parse_qsl(body, keep_blank_values=True)
    return {name: clean_text(text).strip() for name, text in pairs}


@router.post("/admin/services/{service}/pause")
async def pause_service(
    service: str, request: Request, site: CurrentSite, owner: CurrentOwner
) -> Response:
    check_admin(owner)
    reason = (await _read_form(request)).get("reason", "")[:200]
    if not reason:
        return _go_back(wrong="Say why the service is paused: its jobs' owners are shown it.")
    try:
        await upkeep.pause_service(site, owner, service, reason)
    except DocmillError as exc:
        return _tell_fault(exc)
    return _go_back(done=f"The service {service} is paused.")


@router.post("/admin/services/{service}/resume")
async def resume_service(service: str, site: CurrentSite, owner: CurrentOwner) -> Response:
    try:
        await upkeep.resume_service(site, owner, service)
    except DocmillError as exc:
        return _tell_fault(exc)
    return _go_back(done=f"The service {service} is resumed.")


@router.get("/admin/retention")
async def retention_page(site: CurrentSite, owner: CurrentOwner, done: Told = "") -> Response:
    kept = await upkeep.load_retention(site, owner)
    return render.render_page(
        "retention.html", kept=kept, done=clean_text(done), may_act=owner.admin
    )


@router.post("/admin/sweep")
async def sweep_now(site: CurrentSite, owner: CurrentOwner) -> Response:
    asked = await upkeep.ask_sweep(site, owner)
    says = "The sweep begins within seconds." if asked else "A sweep is asked for already."
    return RedirectResponse(f"/admin/retention?{urlencode({'done': says})}", status_code=303)


@router.get("/admin/cost")
async def cost_page(
    site: CurrentSite, owner: CurrentOwner, since: Annotated[date | None, Query()] = None
) -> Response:
    check_watcher(owner)
    begin = since and datetime(since.year, since.month, since.day, tzinfo=UTC)
    return render.render_page("cost.html", cost=await upkeep_api.load_cost(site, begin))


@router.get("/admin/audit")
async def audit_page(
    site: CurrentSite,
    owner: CurrentOwner,
    before: Annotated[int | None, Query(ge=1, le=2**62)] = None,
) -> Response:
    check_watcher(owner)
    async with read_connection(site.pool) as conn:
        entries = await audit.list_entries(conn, limit=AUDIT_SHOWN + 1, before=before)
        verdict = await audit.verify(conn)
    page = entries[:AUDIT_SHOWN]
    older = page[-1].id if len(entries) > AUDIT_SHOWN else None
    return render.render_page("audit.html", entries=page, verdict=verdict, older=older)


def draw_throughput(minutes: Sequence[EndedMinute]) -> str:
    """A bar for each minute: complete jobs, and failed ones on top."""
    most = max((one.complete + one.failed for one in minutes), default=0)
    complete, failed = sum(one.complete for one in minutes), sum(one.failed for one in minutes)
    bars = "".join(_draw_bar(place, one, most) for place, one in enumerate(minutes) if most)
    says = f"Jobs ended per minute in the last hour: {complete} complete, {failed} failed"
    return _frame(says, f"{most:,}", minutes, bars)


def _draw_bar(place: int, one: EndedMinute, most: int) -> str:
    step = (WIDE - LEFT) / 60
    x, width = LEFT + place * step, step - 1.5
    good, bad = _height(one.complete, most), _height(one.failed, most)
    foot = HIGH - FOOT
    parts = [("good", foot - good, good), ("bad", foot - good - bad, bad)]
    return "".join(
        f'<rect class="{name}" x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{high:.1f}"/>'
        for name, y, high in parts
        if high
    )


def draw_latency(minutes: Sequence[EndedMinute]) -> str:
    """Two lines; a minute in which nothing ended is a gap."""
    most = max((one.p95 or 0.0 for one in minutes), default=0.0)
    lines = "".join(
        _draw_line(name, [getattr(one, name) for one in minutes], most)
        for name in ("p95", "p50")
        if most
    )
    says = "Seconds from queue to end in the last hour, half of the jobs and 95 of 100"
    return _frame(says, format_span(most) if most else "0 s", minutes, lines)


def _draw_line(name: str, values: Sequence[float | None], most: float) -> str:
    """A lone minute between two gaps is a dot."""
    step = (WIDE - LEFT) / 60
    path, pen = "", "M"
    for place, value in enumerate(values):
        if value is None:
            pen = "M"
            continue
        x, y = LEFT + (place + 0.5) * step, HIGH - FOOT - _height(value, most)
        path += f"{pen}{x:.1f} {y:.1f}" + ("h.1" if pen == "M" else "")
        pen = "L"
    return f'<path class="{name}" d="{path}"/>'


def _height(value: float, most: float) -> float:
    return round((HIGH - FOOT - TOP) * value / most, 1)


def _frame(says: str, top: str, minutes: Sequence[EndedMinute], inside: str) -> str:
    foot = HIGH - FOOT
    first, last = (f"{one.at:%H:%M}" for one in (minutes[0], minutes[-1]))
    return (
        f'<svg class="chart" viewBox="0 0 {WIDE} {HIGH}" role="img" aria-label="{says}">'
        f'<line class="axis" x1="{LEFT}" y1="{foot}" x2="{WIDE}" y2="{foot}"/>'
        f'<line class="axis faint" x1="{LEFT}" y1="{TOP}" x2="{WIDE}" y2="{TOP}"/>{inside}'
        f'<text x="{LEFT - 6}" y="{TOP + 8}" text-anchor="end">{top}</text>'
        f'<text x="{LEFT - 6}" y="{foot}" text-anchor="end">0</text>'
        f'<text x="{LEFT}" y="{HIGH - 5}">{first}</text>'
        f'<text x="{WIDE}" y="{HIGH - 5}" text-anchor="end">{last} UTC</text></svg>'
    )
