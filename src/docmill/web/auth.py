"""Who asks: the owner behind a cookie, a token or a key, and whether a page of ours sent it."""

from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

import structlog
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.types import Scope

from docmill.core import owners
from docmill.core.faults import DocmillError
from docmill.core.owners import Owner
from docmill.db import wall
from docmill.db.pool import Pool
from docmill.web import api_keys
from docmill.web.api_keys import KeyReader
from docmill.web.config import WebConfig
from docmill.web.sessions import ADDED, Sessions, SignedInSessions, read_cookies
from docmill.web.tokens import EXPIRED, MISSING, TokenReader, make_unauthorized

log = structlog.get_logger()

SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS"})
CREDENTIALS: Final = frozenset({b"authorization", b"cookie"})
# By these a browser says which page of which site sends something.
ORIGINS: Final = frozenset({b"origin", b"sec-fetch-site"})
PROXIES: Final = ("forwarded", "x-forwarded-for", "x-forwarded-host", "x-real-ip")
# Where users are known, by tokens and by signing in.
USER_MODES: Final = frozenset({"jwt", "both"})


@dataclass(frozen=True, slots=True)
class Authenticator:
    """What it takes to tell who asks."""

    config: WebConfig
    tokens: TokenReader
    sessions: Sessions
    signed_in: SignedInSessions
    keys: KeyReader

    @classmethod
    def create(cls, config: WebConfig, pool: Pool) -> "Authenticator":
        secure = config.secure_cookies
        sessions, signed_in = Sessions(pool, secure=secure), SignedInSessions(pool, secure=secure)
        return cls(config, TokenReader(config.tokens), sessions, signed_in, KeyReader(pool))

    def recognize(self, scope: Scope) -> Owner | None:
        """As `identify`, for a session that was here before: nobody is asked.

        None for everybody else, and for a browser that sends something.
        """
        if self.config.auth_mode != "session" or ADDED in scope:
            return None
        headers = scope["headers"]
        telling = CREDENTIALS if scope["method"] in SAFE else CREDENTIALS | ORIGINS
        shown = [value for name, value in headers if name in telling]
        # One header, and it is the cookie's: with a key or a token more than this is looked at.
        if len(shown) != 1 or (b"cookie", shown[0]) not in headers:
            return None
        if owner := self.sessions.recall(shown[0]):
            wall.enclose(owner)
        return owner

    async def identify(self, request: Request) -> Owner:
        """The owner who asks, or the refusal."""
        return await self.identify_by(bearer_token(request.headers), request)

    async def identify_by(self, token: str | None, request: Request) -> Owner:
        """As `identify`, with the token from wherever it was sent. Each attempt is logged once."""
        way = self._name_way(token)
        try:
            owner = await self._find_owner(token, request)
        except DocmillError as exc:
            _log_refusal(request, way, exc)
            raise
        wall.enclose(owner)
        if is_key(token):
            request.state.by_key = True
        if way != "session":
            log.info("auth.accepted", way=way, owner=owner.key, request=_request_id(request))
        return owner

    async def _find_owner(self, token: str | None, request: Request) -> Owner:
        mode = self.config.auth_mode
        if mode == "local":
            check_local(request)
        if is_key(token):
            owner = await self.keys.owner(token or "")
            api_keys.check_scope(owner, owners.READ if request.method in SAFE else owners.WRITE)
            return owner
        if mode == "local":
            return owners.LOCAL
        if token is not None and mode in USER_MODES:
            return await self.tokens.owner(token)
        return await self._find_by_cookie(request)

    async def _find_by_cookie(self, request: Request) -> Owner:
        mode = self.config.auth_mode
        if mode == "jwt" and self.signed_in.cookie not in read_cookies(request):
            raise make_unauthorized(MISSING, "no token")
        # Also without a cookie: the answer would bring a new one and lose the sender his session.
        if request.method not in SAFE:
            check_same_site(request)
        if mode in USER_MODES and (person := await self.signed_in.find(request)):
            request.state.signed_in = person
            return person.owner
        if mode == "jwt":
            raise make_unauthorized(EXPIRED, "the session has ended")
        return await self.sessions.owner(request)

    def _name_way(self, token: str | None) -> str:
        if is_key(token):
            return "key"
        return "token" if token is not None and self.config.auth_mode in USER_MODES else "session"


def is_key(token: str | None) -> bool:
    """Whether it is meant to be a key of ours, good or not."""
    return token is not None and token.startswith(api_keys.PREFIX)


def _log_refusal(request: Request, way: str, exc: DocmillError) -> None:
    if exc.fault.status >= 500:
        return  # the database or the issuer is away: nobody was refused
    log.warning(
        "auth.refused",
        way=way,
        code=exc.fault.code,
        why=exc.detail or exc.facts.get("scope"),
        address=request.client.host if request.client else None,
        request=_request_id(request),
    )


def _request_id(request: Request) -> str | None:
    return getattr(request.state, "request_id", None)


def check_local(request: Request) -> None:
    """A browser at this machine is let in without a cookie, so it must not act for other sites.

    It may follow their links to our pages; nothing else that they start is answered.
    """
    if any(name in request.headers for name in PROXIES):
        raise DocmillError("NOT_LOCAL")
    follows = request.headers.get("sec-fetch-mode") == "navigate"
    if request.method not in SAFE or not follows:
        check_same_site(request)


def bearer_token(headers: Headers) -> str | None:
    """The token sent, empty when the header makes no sense, None without a header."""
    sent = headers.get("authorization")
    if sent is None:
        return None
    scheme, _, token = sent.partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


def check_same_site(request: Request) -> None:
    """Browsers say where a request comes from; programs say nothing and are let through.

    The pages of an origin that the operator names are as good as ours.
    """
    if getattr(request.state, "is_allowed_origin", False):
        return
    headers = request.headers
    if headers.get("sec-fetch-site", "none") in {"cross-site", "same-site"}:
        raise DocmillError("CROSS_SITE")
    origin = headers.get("origin")
    # Our pages tell no referrer, so a browser sends a form of theirs (one without a script) with
    # the origin "null". Only browsers set Sec-Fetch-Site, no page can, and a sandboxed or foreign
    # page is told as cross-site: "null" alone stays refused.
    if origin == "null" and headers.get("sec-fetch-site") == "same-origin":
        return
    # The scheme is not compared: behind a proxy that ends TLS we don't know our own.
    if origin is not None and _origin_host(origin) != headers.get("host", "").lower():
        raise DocmillError("CROSS_SITE")


def _origin_host(origin: str) -> str | None:
    try:
        return urlsplit(origin).netloc.lower() or None
    except ValueError:
        return None


def check_admin(owner: Owner) -> None:
    """Raises SCOPE_MISSING for a key that was not made for it, ADMIN_ONLY for everybody else.

    Whoever passes sees everything with this request.
    """
    api_keys.check_scope(owner, owners.ADMIN)
    if not owner.admin:
        raise DocmillError("ADMIN_ONLY")
    wall.open_for_admin()


def check_watcher(owner: Owner) -> None:
    """The same for who only looks: administrators, and those who see all and change nothing."""
    if owner.watches:
        api_keys.check_scope(owner, owners.ADMIN)
        wall.open_for_admin()
    else:
        check_admin(owner)


def widen_for_admin(owner: Owner) -> None:
    """From here on an administrator's request sees everything; anybody else's stays as it is."""
    if owner.admin:
        wall.open_for_admin()
