"""Signing in and out: /sign-in goes to the provider, /sign-in/callback comes back from it."""

import re
from datetime import timedelta
from typing import Any, Final
from urllib.parse import parse_qs

import structlog
from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from docmill.accounts import adoption, keys
from docmill.accounts.oidc import FLOW_SECONDS, IdentityProvider
from docmill.core import owners
from docmill.core.faults import DocmillError
from docmill.core.owners import Owner
from docmill.core.texts import clean_text
from docmill.db import wall
from docmill.db.pool import Connection, write
from docmill.queue.enqueue import ensure_owner
from docmill.web import auth, json_body, render, sessions, tokens
from docmill.web.site import CurrentOwner, CurrentSite, Site

router = APIRouter(include_in_schema=False)
log = structlog.get_logger()

HOME: Final = "/queue"
FLOW_COOKIE: Final = "docmill_sign_in"
LONGEST_NAME: Final = 100
# A page of ours, never another site: one slash, and no character that a browser reads otherwise.
OWN_PAGE: Final = re.compile(r"/(?![/\\])[^\\\x00-\x1f]{0,500}")
NAMES: Final = ("name", "preferred_username", "email")


@router.get("/sign-in")
async def begin_sign_in(request: Request, site: CurrentSite, after: str = HOME) -> Response:
    provider = _find_provider(site)
    going = after if OWN_PAGE.fullmatch(after) else HOME
    response, kept = await provider.begin(request, _callback_url(request, site), going)
    _keep(response, site, kept, FLOW_SECONDS)
    return response


@router.get("/sign-in/callback")
async def finish_sign_in(request: Request, site: CurrentSite) -> Response:
    """What the browser did anonymously becomes the user's, and the session begins, together."""
    provider = _find_provider(site)
    try:
        claims, after = await provider.finish(request, request.cookies.get(_flow_name(site), ""))
        owner = tokens.read_owner(site.config.tokens, claims)
    except DocmillError as exc:
        log.warning("auth.refused", way="sign-in", code=exc.fault.code, why=exc.detail)
        raise
    line = await _begin_session(request, site, owner, _name_of(claims))
    log.info("auth.accepted", way="sign-in", owner=owner.key)
    response = RedirectResponse(after if OWN_PAGE.fullmatch(after) else HOME, status_code=303)
    response.headers.append("set-cookie", line)
    response.headers.append("set-cookie", site.auth.sessions.end_line())
    _keep(response, site, "", 0)
    return response


@router.post("/sign-out")
async def sign_out(request: Request, site: CurrentSite) -> Response:
    auth.check_same_site(request)
    person = await site.auth.signed_in.find(request)
    if person:
        wall.enclose(person.owner)
        await write(site.pool, lambda conn: site.auth.signed_in.end(conn, person))
        log.info("auth.signed_out", owner=person.owner.key)
    response = RedirectResponse("/signed-out", status_code=303)
    response.headers.append("set-cookie", site.auth.signed_in.end_line())
    return response


@router.get("/signed-out")
async def signed_out(request: Request, site: CurrentSite) -> Response:
    """A page of ours; where the provider has one for it, people may go there from here."""
    provider = site.find(IdentityProvider)
    leave = await provider.find_logout(_own_url(request, site) + HOME) if provider.is_set else None
    return render.render_page("signed_out.html", leave=leave)


async def _begin_session(request: Request, site: Site, owner: Owner, name: str) -> str:
    guest = await site.auth.sessions.find(request)
    before = await site.auth.signed_in.find(request)

    async def begin(conn: Connection) -> str:
        await ensure_owner(conn, owner.key)
        if guest:
            await adoption.take_over(site, conn, owner, guest)
        if before:
            await site.auth.signed_in.end(conn, before)
        lasts = site.config.sign_in.session
        return await site.auth.signed_in.begin(conn, owner, name, lasts)

    with wall.beyond():  # it is about two owners, and a third who used this browser before
        return await write(site.pool, begin)


@router.post("/settings/keys")
async def create_key(request: Request, site: CurrentSite, owner: CurrentOwner) -> Response:
    """The answer is the page that shows the key, once."""
    form = await _read_form(request)
    name = clean_text(form.get("name", [""])[0]).strip()[:LONGEST_NAME] or "key"
    scopes = [scope for scope in owners.SCOPES if scope in form.get("scope", [])]
    days = form.get("days", [""])[0].strip()
    lasts = timedelta(days=int(days)) if re.fullmatch(r"[1-9][0-9]{0,3}", days) else None
    key, kept = await keys.create_key(
        site, owner, name, scopes=scopes or keys.DEFAULT_SCOPES, lasts=lasts
    )
    return render.render_page("key_created.html", key=key, kept=kept)


@router.post("/settings/keys/revoke")
async def revoke_key(request: Request, site: CurrentSite, owner: CurrentOwner) -> Response:
    form = await _read_form(request)
    await keys.revoke_key(site, owner, form.get("id", [""])[0])
    return RedirectResponse("/settings?saved=keys#keys", status_code=303)


async def _read_form(request: Request) -> dict[str, list[str]]:
    body = (await json_body.read_limited(request)).decode("utf-8", "replace")
    return parse_qs(body, keep_blank_values=True)


def _find_provider(site: Site) -> IdentityProvider:
    provider = site.find(IdentityProvider)
    if not provider.is_set:
        raise DocmillError("SERVICE_UNSET", "DOCMILL_OIDC_ISSUER is not set")
    return provider


def _callback_url(request: Request, site: Site) -> str:
    return site.config.sign_in.callback_url or f"{_own_url(request, site)}/sign-in/callback"


def _own_url(request: Request, site: Site) -> str:
    """The host is one of ours, or the request would not be here; a proxy may end TLS before us."""
    scheme = "https" if site.config.secure_cookies else request.url.scheme
    return f"{scheme}://{request.url.netloc}"


def _flow_name(site: Site) -> str:
    return f"__Host-{FLOW_COOKIE}" if site.config.secure_cookies else FLOW_COOKIE


def _keep(response: Response, site: Site, value: str, seconds: int) -> None:
    secure = site.config.secure_cookies
    line = sessions.write_cookie(_flow_name(site), value, seconds=seconds, secure=secure)
    response.headers.append("set-cookie", line)


def _name_of(claims: dict[str, Any]) -> str:
    found = (claims.get(name) for name in NAMES)
    return next((clean_text(each)[:LONGEST_NAME] for each in found if isinstance(each, str)), "")
