"""Who asks: the owner behind a session cookie or a token, and whether a page of ours sent it."""

import asyncio
import base64
import hmac
import re
import secrets
from dataclasses import dataclass
from typing import Any, Final, cast
from urllib.parse import urlsplit

import jwt
from starlette.datastructures import Headers
from starlette.requests import Request

from docmill.core import owners
from docmill.core.faults import DocmillError
from docmill.core.owners import Owner, OwnerKey
from docmill.core.texts import clean_text
from docmill.db.pool import Connection, Pool, read_connection
from docmill.web.config import TokenConfig, WebConfig

COOKIE: Final = "docmill_session"
# Browsers take a cookie of this name only from the very host itself, over TLS: no neighbour of a
# shared domain can plant one.
SECURE_COOKIE: Final = f"__Host-{COOKIE}"
# A secret, and the proof that we issued it. Those of the first version had no proof.
COOKIE_FORM: Final = re.compile(r"([A-Za-z0-9_-]{43})(?:\.([A-Za-z0-9_-]{43}))?")
COOKIE_SECONDS: Final = 365 * 24 * 3600
SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS"})
SECRET_BYTES: Final = 32
LONGEST_TOKEN: Final = 8192
LONGEST_SUBJECT: Final = 255
LONGEST_DESK: Final = 255
MOST_DESKS: Final = 100
PROXIES: Final = ("forwarded", "x-forwarded-for", "x-forwarded-host", "x-real-ip")
# What a broken token, or one with claims of odd types, makes the libraries raise besides their own.
ODD_CLAIMS: Final = (TypeError, ValueError, OverflowError, RecursionError, AttributeError)


class TokenReader:
    """Believes tokens by fixed rules; keeps the keys fetched from the issuer for a while."""

    def __init__(self, config: TokenConfig) -> None:
        self._config: TokenConfig = config
        self._keys: jwt.PyJWKClient | None = None
        if config.jwks_url:
            self._keys = jwt.PyJWKClient(config.jwks_url, timeout=5)

    async def owner(self, token: str) -> Owner:
        if len(token) > LONGEST_TOKEN:
            raise DocmillError("UNAUTHORIZED", "the token is too long")
        try:
            claims = await self._claims(token)
        except jwt.PyJWKClientConnectionError as exc:
            raise DocmillError("KEYS_UNREACHABLE", str(exc), retryAfter=10) from exc
        except (jwt.PyJWTError, *ODD_CLAIMS) as exc:
            raise DocmillError("UNAUTHORIZED", type(exc).__name__) from exc
        subject: Any = claims["sub"]
        if not _is_name(subject, LONGEST_SUBJECT):
            raise DocmillError("UNAUTHORIZED", "the subject is not usable")
        return owners.user(
            subject,
            premium=claims.get(self._config.premium_claim) is True,
            desks=self._desks(subject, claims.get(self._config.desk_claim)),
        )

    def _desks(self, subject: str, claim: Any) -> tuple[str, ...]:
        """The desks a user may look into: all for those the operator names, else by the claim."""
        if subject in self._config.desk_users or claim is True:
            return ("*",)
        names: Any = [claim] if isinstance(claim, str) else claim
        if not isinstance(names, list):
            return ()
        given = cast("list[Any]", names)[:MOST_DESKS]
        return tuple(name for name in given if _is_name(name, LONGEST_DESK))

    async def _claims(self, token: str) -> dict[str, Any]:
        """The header's algorithm chooses among keys, never how a key is used."""
        algorithm = jwt.get_unverified_header(token).get("alg")
        if algorithm == "HS256" and self._config.secret:
            return self._decode(token, self._config.secret, "HS256")
        if algorithm in ("RS256", "ES256") and self._keys:
            key = await asyncio.to_thread(self._keys.get_signing_key_from_jwt, token)
            return self._decode(token, key.key, algorithm)
        raise jwt.InvalidAlgorithmError("no key for this algorithm")

    def _decode(self, token: str, key: Any, algorithm: str) -> dict[str, Any]:
        config = self._config
        return jwt.decode(
            token,
            key,
            algorithms=[algorithm],
            audience=config.audience,
            issuer=config.issuer,
            options={
                "require": ["exp", "sub"],
                "verify_aud": config.audience is not None,
                "verify_iss": config.issuer is not None,
                "enforce_minimum_key_length": True,
            },
        )


def _is_name(given: Any, longest: int) -> bool:
    """Whether a claim is a text that can name somebody."""
    return isinstance(given, str) and 0 < len(given) <= longest and clean_text(given) == given


class Sessions:
    """The cookies of anonymous sessions. A session that we did not issue is never taken."""

    def __init__(self, pool: Pool, *, secure: bool) -> None:
        self.cookie: str = SECURE_COOKIE if secure else COOKIE
        self._pool: Pool = pool
        self._secure: bool = secure
        self._key: bytes | None = None
        self._asking: asyncio.Lock = asyncio.Lock()

    async def owner(self, request: Request) -> Owner:
        """The session of the cookie, or a new one whose cookie goes out with the answer."""
        found = COOKIE_FORM.fullmatch(request.cookies.get(self.cookie, ""))
        secret, proof = (found[1], found[2]) if found else ("", None)
        if proof and hmac.compare_digest(proof, await self._proof(secret)):
            return owners.session(secret)
        if not secret or proof or not await self._is_of_the_first_version(secret):
            secret = secrets.token_urlsafe(SECRET_BYTES)
        request.state.set_cookie = self._line(secret, await self._proof(secret))
        return owners.session(secret)

    async def _is_of_the_first_version(self, secret: str) -> bool:
        """One without a proof that has owned something: nobody gets that far with one now.

        Where cookies are secure they had another name then, so there is none to know again.
        """
        async with read_connection(self._pool) as conn:
            return await owner_exists(conn, owners.session(secret).key)

    async def _proof(self, secret: str) -> str:
        digest = hmac.digest(await self._shared_key(), secret.encode(), "sha256")
        return base64.urlsafe_b64encode(digest).decode().rstrip("=")

    async def _shared_key(self) -> bytes:
        """Asked for once, however many come at once."""
        async with self._asking:
            if self._key is None:
                fresh = secrets.token_bytes(SECRET_BYTES)
                async with read_connection(self._pool) as conn:
                    self._key = await share_secret(conn, "sessions", fresh)
            return self._key

    def _line(self, secret: str, proof: str) -> str:
        attributes = f"Max-Age={COOKIE_SECONDS}; Path=/; HttpOnly; SameSite=Lax"
        return f"{self.cookie}={secret}.{proof}; {attributes}{'; Secure' if self._secure else ''}"


@dataclass(frozen=True, slots=True)
class Authenticator:
    """What it takes to tell who asks."""

    config: WebConfig
    tokens: TokenReader
    sessions: Sessions

    async def identify(self, request: Request) -> Owner:
        """The owner who asks, or the refusal."""
        return await self.identify_by(bearer_token(request.headers), request)

    async def identify_by(self, token: str | None, request: Request) -> Owner:
        """As `identify`, with the token from wherever it was sent."""
        mode = self.config.auth_mode
        if mode == "local":
            check_local(request)
            return owners.LOCAL
        if mode != "session" and (token is not None or mode == "jwt"):
            if not token:
                raise DocmillError("UNAUTHORIZED", "no token")
            return await self.tokens.owner(token)
        # Also without a cookie: the answer would bring a new one and lose the sender his session.
        if request.method not in SAFE:
            check_same_site(request.headers)
        return await self.sessions.owner(request)


def check_local(request: Request) -> None:
    """A browser at this machine is let in without a cookie, so it must not act for other sites.

    It may follow their links to our pages; nothing else that they start is answered.
    """
    if any(name in request.headers for name in PROXIES):
        raise DocmillError("NOT_LOCAL")
    follows = request.headers.get("sec-fetch-mode") == "navigate"
    if request.method not in SAFE or not follows:
        check_same_site(request.headers)


def bearer_token(headers: Headers) -> str | None:
    """The token sent, empty when the header makes no sense, None without a header."""
    sent = headers.get("authorization")
    if sent is None:
        return None
    scheme, _, token = sent.partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


def check_same_site(headers: Headers) -> None:
    """Browsers say where a request comes from; programs say nothing and are let through."""
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


OWNER_EXISTS: Final = "SELECT EXISTS (SELECT FROM owners WHERE owner = %s)"


async def owner_exists(conn: Connection, owner: OwnerKey) -> bool:
    """Whether the owner was ever here with something to keep."""
    row = await (await conn.execute(OWNER_EXISTS, (owner,))).fetchone()
    assert row is not None
    return row[0]


FIND_SHARED: Final = "SELECT secret FROM secrets WHERE name = %s"
ADD_SHARED: Final = "INSERT INTO secrets (name, secret) VALUES (%s, %s) ON CONFLICT DO NOTHING"


async def share_secret(conn: Connection, name: str, fresh: bytes) -> bytes:
    """The secret of that name that all processes share: `fresh` where there is none yet."""
    row = await (await conn.execute(FIND_SHARED, (name,))).fetchone()
    if row is None:
        await conn.execute(ADD_SHARED, (name, fresh))
        row = await (await conn.execute(FIND_SHARED, (name,))).fetchone()
    assert row is not None
    return bytes(row[0])
