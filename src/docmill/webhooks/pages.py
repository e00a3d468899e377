"""The pages /webhooks and /webhooks/{id}: plain forms, which need no script."""

from collections.abc import Sequence
from typing import Final
from urllib.parse import parse_qsl

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from docmill.core.faults import DocmillError
from docmill.core.owners import Owner
from docmill.core.texts import clean_text
from docmill.web import json_body, params, render
from docmill.web.params import CursorText
from docmill.web.site import CurrentOwner, CurrentSite, Site
from docmill.webhooks import manage
from docmill.webhooks.api import place_of
from docmill.webhooks.fields import KINDS, NAMES

router = APIRouter(include_in_schema=False)

PAGE_LENGTH: Final = 50
# What a person can mend in the form itself; anything else is shown as everywhere.
MENDABLE: Final = frozenset({"URL_REFUSED", "TOO_MANY_WEBHOOKS", "FORBIDDEN"})


@router.get("/webhooks")
async def webhooks_page(site: CurrentSite, owner: CurrentOwner) -> Response:
    return await _render_list(site, owner, status=200)


@router.post("/webhooks")
async def create_webhook(request: Request, site: CurrentSite, owner: CurrentOwner) -> Response:
    """The answer is the page itself: it shows the secret, which is not kept for showing."""
    given = await _read_form(request)
    url = next((text for name, text in given if name == "url"), "")
    desk = next((text for name, text in given if name == "desk"), "")
    events = [text for name, text in given if name == "event" and text in NAMES]
    wrong = "" if events else "Choose at least one event."
    secret = ""
    if not wrong:
        try:
            _, secret = await manage.create(site, owner, url, events=events, desk=desk or None)
        except DocmillError as exc:
            if exc.fault.code not in MENDABLE:
                raise
            wrong = exc.reason or f"{exc.fault.says}. {exc.fault.advice}"
    return await _render_list(
        site,
        owner,
        status=400 if wrong else 201,
        url=url if wrong else "",
        desk=desk if wrong else "",
        events=events if wrong else NAMES,
        wrong=wrong,
        secret=secret,
    )


async def _read_form(request: Request) -> list[tuple[str, str]]:
    body = (await json_body.read_limited(request)).decode("utf-8", "replace")
    pairs = parse_qsl(body, keep_blank_values=True)
    return [(name, clean_text(text).strip()) for name, text in pairs]


async def _render_list(
    site: Site,
    owner: Owner,
    *,
    status: int,
    events: Sequence[str] = NAMES,
    **given: str,
) -> Response:
    shown = {"url": "", "desk": "", "wrong": "", "secret": "", **given}
    return render.render_page(
        "webhooks.html",
        status=status,
        webhooks=await manage.list_own(site, owner.key),
        kinds=KINDS,
        chosen=set(events),
        desks=owner.desks,
        **shown,
    )


@router.get("/webhooks/{webhook_id}")
async def webhook_page(
    webhook_id: str,
    site: CurrentSite,
    owner: CurrentOwner,
    cursor: CursorText = None,
    replayed: str = "",
) -> Response:
    count = replayed if replayed.isdecimal() else ""
    return await _render_one(site, owner, webhook_id, cursor=cursor, replayed=count[:6])


async def _render_one(
    site: Site,
    owner: Owner,
    webhook_id: str,
    *,
    cursor: str | None = None,
    secret: str = "",
    replayed: str = "",
) -> Response:
    known = await manage.find(site, owner, webhook_id)
    after = params.parse_cursor(cursor) if cursor else None
    found = await manage.list_log(site, known, after=after, limit=PAGE_LENGTH + 1)
    page, last = params.cut_page(found, PAGE_LENGTH, place_of)
    return render.render_page(
        "webhook.html",
        webhook=known,
        log=page,
        next_cursor=last,
        secret=secret,
        replayed=replayed,
    )


@router.post("/webhooks/{webhook_id}/rotate")
async def rotate_secret(webhook_id: str, site: CurrentSite, owner: CurrentOwner) -> Response:
    _, secret = await manage.rotate(site, owner, webhook_id)
    return await _render_one(site, owner, webhook_id, secret=secret)


@router.post("/webhooks/{webhook_id}/delete")
async def delete_webhook(webhook_id: str, site: CurrentSite, owner: CurrentOwner) -> Response:
    await manage.delete(site, owner, webhook_id)
    return RedirectResponse("/webhooks", status_code=303)


@router.post("/webhooks/{webhook_id}/enable")
async def enable_webhook(webhook_id: str, site: CurrentSite, owner: CurrentOwner) -> Response:
    """And what it missed meanwhile is delivered."""
    known = await manage.enable(site, owner, webhook_id)
    count = await manage.replay_since(site, owner, webhook_id, known.created_at, missed=True)
    return RedirectResponse(f"/webhooks/{known.id}?replayed={count}", status_code=303)


@router.post("/webhooks/{webhook_id}/replay")
async def replay(
    webhook_id: str, request: Request, site: CurrentSite, owner: CurrentOwner
) -> Response:
    """One delivery, or all that did not get through."""
    known = await manage.find(site, owner, webhook_id)
    if delivery_id := dict(await _read_form(request)).get("delivery"):
        count = await manage.replay(site, owner, webhook_id, delivery_id)
    else:
        count = await manage.replay_since(site, owner, webhook_id, known.created_at, missed=True)
    return RedirectResponse(f"/webhooks/{known.id}?replayed={count}", status_code=303)
