"""The pages /admin and /admin/audit: plain forms, which need no script."""

from typing import Annotated, Final
from urllib.parse import parse_qsl, urlencode

from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from docmill.accounts import api as accounts_api
from docmill.admin import actions, charts, overview
from docmill.admin.actions import MOST_RETRIED, AdminAction
from docmill.core.faults import DocmillError
from docmill.core.texts import clean_text
from docmill.db import audit
from docmill.db.pool import read_connection
from docmill.documents.source_api import change_pause
from docmill.jobs import boosting
from docmill.web import json_body, render
from docmill.web.auth import check_admin
from docmill.web.site import CurrentOwner, CurrentSite

router = APIRouter(include_in_schema=False)

AUDIT_SHOWN: Final = 100
# What a person can see for themselves on the page when it comes again.
MENDABLE: Final = frozenset({"WRONG_STATE", "EXPIRED", "JOB_NOT_FOUND", "SESSION_NOT_FOUND"})
Told = Annotated[str, Query(max_length=200)]


@router.get("/admin")
async def admin_page(
    site: CurrentSite, owner: CurrentOwner, done: Told = "", wrong: Told = ""
) -> Response:
    seen = await overview.load_overview(site, owner)
    sessions = await accounts_api.list_sessions(site, owner, limit=10)
    return render.render_page(
        "admin.html",
        seen=seen,
        sessions=sessions.sessions,
        throughput=charts.draw_throughput(seen.minutes),
        latency=charts.draw_latency(seen.minutes),
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
    given = await _read_form(request)
    count = await actions.retry_failed(
        site,
        owner,
        code=given.get("code") or None,
        pipeline=given.get("pipeline") or None,
        limit=MOST_RETRIED,
    )
    return _go_back(done=f"{count} failed jobs are queued again.")


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


@router.get("/admin/audit")
async def audit_page(
    site: CurrentSite,
    owner: CurrentOwner,
    before: Annotated[int | None, Query(ge=1, le=2**62)] = None,
) -> Response:
    check_admin(owner)
    async with read_connection(site.pool) as conn:
        entries = await audit.list_entries(conn, limit=AUDIT_SHOWN + 1, before=before)
        verdict = await audit.verify(conn)
    page = entries[:AUDIT_SHOWN]
    older = page[-1].id if len(entries) > AUDIT_SHOWN else None
    return render.render_page("audit.html", entries=page, verdict=verdict, older=older)
