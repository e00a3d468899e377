"""Who asks: the owner behind a session cookie or a token, and whether a page of ours sent it."""

import asyncio
import re
import secrets
from typing import Any, Final
from urllib.parse import urlsplit

import jwt
from starlette.datastructures import Headers
from starlette.requests import Request

from docmill.core import owners
from docmill.core.documents import clean_text
from docmill.core.faults import Faulted
from docmill.core.owners import Owner
from docmill.web.rules import Rules, TokenRules

COOKIE: Final = "docmill_session"
COOKIE_FORM: Final = re.compile(r"[A-Za-z0-9_-]{43}")
COOKIE_SECONDS: Final = 365 * 24 * 3600
SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS"})
LONGEST_TOKEN: Final = 8192
LONGEST_SUBJECT: Final = 255


class Tokens:
    """Believes tokens by fixed rules; keeps the keys fetched from the issuer for a while."""

    def __init__(self, rules: TokenRules) -> None:
        self._rules: TokenRules = rules
        self._keys: jwt.PyJWKClient | None = None
        if rules.jwks_url:
            self._keys = jwt.PyJWKClient(rules.jwks_url, timeout=5)

    async def owner(self, token: str) -> Owner:
        if len(token) > LONGEST_TOKEN:
            raise Faulted("UNAUTHORIZED", "the token is too long")
        try:
            claims = await self._claims(token)
        except jwt.PyJWKClientConnectionError as exc:
            raise Faulted("KEYS_UNREACHABLE", str(exc), retryAfter=10) from exc
        except jwt.PyJWTError as exc:
            raise Faulted("UNAUTHORIZED", type(exc).__name__) from exc
        subject: str = claims["sub"]
        if not 0 < len(subject) <= LONGEST_SUBJECT or clean_text(subject) != subject:
            raise Faulted("UNAUTHORIZED", "the subject is not usable")
        return owners.user(
            subject,
            premium=claims.get(self._rules.premium_claim) is True,
            desks=self._desks(subject, claims.get(self._rules.desk_claim)),
        )

    def _desks(self, subject: str, claim: Any) -> tuple[str, ...]:
        """The desks a user may look into: all for those the operator names, else by the claim."""
        if subject in self._rules.desk_users or claim is True:
            return ("*",)
        names: list[Any] = [claim] if isinstance(claim, str) else claim or []
        return tuple(name for name in names if isinstance(name, str)) if names else ()

    async def _claims(self, token: str) -> dict[str, Any]:
        """The header's algorithm chooses among keys, never how a key is used."""
        algorithm = jwt.get_unverified_header(token).get("alg")
        if algorithm == "HS256" and self._rules.secret:
            return self._decode(token, self._rules.secret, "HS256")
        if algorithm in ("RS256", "ES256") and self._keys:
            key = await asyncio.to_thread(self._keys.get_signing_key_from_jwt, token)
            return self._decode(token, key.key, algorithm)
        raise jwt.InvalidAlgorithmError("no key for this algorithm")

    def _decode(self, token: str, key: Any, algorithm: str) -> dict[str, Any]:
        rules = self._rules
        return jwt.decode(
            token,
            key,
            algorithms=[algorithm],
            audience=rules.audience,
            issuer=rules.issuer,
            options={
                "require": ["exp", "sub"],
                "verify_aud": rules.audience is not None,
                "verify_iss": rules.issuer is not None,
                "enforce_minimum_key_length": True,
            },
        )


async def owner_of(request: Request, rules: Rules, tokens: Tokens) -> Owner:
    """The owner who asks, or the refusal. A new session's cookie goes out with the answer."""
    return await owner_by(bearer(request.headers), request, rules, tokens)


async def owner_by(token: str | None, request: Request, rules: Rules, tokens: Tokens) -> Owner:
    """As `owner_of`, with the token from wherever it was sent."""
    if rules.auth_mode != "session" and (token is not None or rules.auth_mode == "jwt"):
        if not token:
            raise Faulted("UNAUTHORIZED", "no token")
        return await tokens.owner(token)
    # Also without a cookie: the answer would bring a new one and lose the sender his session.
    if request.method not in SAFE:
        check_same_site(request.headers)
    cookie = request.cookies.get(COOKIE, "")
    if not COOKIE_FORM.fullmatch(cookie):
        cookie = secrets.token_urlsafe(32)
        request.state.set_cookie = set_cookie(cookie, secure=rules.secure_cookies)
    # Without accounts nobody can be told apart: every session may look into every desk.
    return owners.session(cookie, desks=("*",) if rules.auth_mode == "session" else ())


def bearer(headers: Headers) -> str | None:
    """The token sent, empty when the header makes no sense, None without a header."""
    sent = headers.get("authorization")
    if sent is None:
        return None
    scheme, _, token = sent.partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


def check_same_site(headers: Headers) -> None:
    """Browsers say where a request comes from; programs say nothing and are let through."""
    if headers.get("sec-fetch-site", "none") in {"cross-site", "same-site"}:
        raise Faulted("CROSS_SITE")
    origin = headers.get("origin")
    # Our pages tell no referrer, so a browser sends a form of theirs (one without a script) with
    # the origin "null". Only browsers set Sec-Fetch-Site, no page can, and a sandboxed or foreign
    # page is told as cross-site: "null" alone stays refused.
    if origin == "null" and headers.get("sec-fetch-site") == "same-origin":
        return
    # The scheme is not compared: behind a proxy that ends TLS we don't know our own.
    if origin is not None and _host(origin) != headers.get("host", "").lower():
        raise Faulted("CROSS_SITE")


def _host(origin: str) -> str | None:
    try:
        return urlsplit(origin).netloc.lower() or None
    except ValueError:
        return None


def set_cookie(cookie: str, *, secure: bool) -> str:
    attributes = f"Max-Age={COOKIE_SECONDS}; Path=/; HttpOnly; SameSite=Lax"
    return f"{COOKIE}={cookie}; {attributes}{'; Secure' if secure else ''}"
