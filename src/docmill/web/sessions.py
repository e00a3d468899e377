"""Cookies: of anonymous sessions, and of people who signed in. An ended one counts as none."""

import asyncio
import base64
import hashlib
import hmac
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import lru_cache
from typing import Any, Final

from psycopg.types.json import Jsonb
from starlette.requests import Request, cookie_parser

from docmill.core import owners
from docmill.core.owners import Owner, OwnerKey
from docmill.db import wall
from docmill.db.pool import Connection, Pool, connection, read_connection
from docmill.web.recent import RecentAnswers

COOKIE: Final = "docmill_session"
# Browsers take a cookie of this name only from the very host itself, over TLS: no neighbour of a
# shared domain can plant one.
SECURE_COOKIE: Final = f"__Host-{COOKIE}"
SIGNED_IN_COOKIE: Final = "docmill_account"
# A secret, and the proof that we issued it. Those of the first version had no proof.
COOKIE_FORM: Final = re.compile(r"([A-Za-z0-9_-]{43})(?:\.([A-Za-z0-9_-]{43}))?")
SECRET_FORM: Final = re.compile(r"[A-Za-z0-9_-]{43}")
COOKIE_SECONDS: Final = 365 * 24 * 3600
SECRET_BYTES: Final = 32
ALL: Final = ""
MOST_PROVED: Final = 10_000


def write_cookie(name: str, value: str, *, seconds: int, secure: bool) -> str:
    """A line of Set-Cookie; with 0 seconds the browser forgets it."""
    attributes = f"Max-Age={seconds}; Path=/; HttpOnly; SameSite=Lax"
    return f"{name}={value}; {attributes}{'; Secure' if secure else ''}"


ADDED: Final = "docmill.cookies"


def read_cookies(request: Request) -> Mapping[str, str]:
    """As `request.cookies`; who sends the same header again and again has it read once."""
    added: Mapping[str, str] | None = request.scope.get(ADDED)
    return added or _parse_cookies("; ".join(request.headers.getlist("cookie")))


def add_cookie(request: Request, name: str, value: str) -> None:
    """As if the request had brought it: some clients send it in a header of their own."""
    request.scope[ADDED] = {**read_cookies(request), name: value}


@lru_cache(maxsize=1024)
def _parse_cookies(header: str) -> Mapping[str, str]:
    return cookie_parser(header)


class Sessions:
    """The cookies of anonymous sessions. A session that we did not issue is never taken."""

    def __init__(self, pool: Pool, *, secure: bool) -> None:
        self.cookie: str = SECURE_COOKIE if secure else COOKIE
        self._pool: Pool = pool
        self._secure: bool = secure
        self._key: bytes | None = None
        self._asking: asyncio.Lock = asyncio.Lock()
        self._ended: RecentAnswers[frozenset[str]] = RecentAnswers(pool, self._load_ended)
        # Whose proof was found right: the same for as long as this process has its key.
        self._proved: dict[str, Owner] = {}

    async def owner(self, request: Request) -> Owner:
        """The session of the cookie, or a new one whose cookie goes out with the answer."""
        known = await self.find(request)
        if known:
            return known
        secret = await self._first_version(request) or secrets.token_urlsafe(SECRET_BYTES)
        request.state.set_cookie = self._line(secret, await self._prove(secret))
        return owners.session(secret)

    async def find(self, request: Request) -> Owner | None:
        """The session of the cookie, if it is one of ours and goes on."""
        sent = read_cookies(request).get(self.cookie, "")
        owner = self._proved.get(sent) or await self._check(sent)
        if owner is None or owner.session_id in await self._ended.find(ALL):
            return None
        return owner

    def recall(self, header: bytes) -> Owner | None:
        """As `find`, by a header whose cookie was proved before; None where `find` has to ask."""
        owner = self._proved.get(_parse_cookies(header.decode("latin-1")).get(self.cookie, ""))
        ended = self._ended.recall(ALL)
        return owner if owner and ended is not None and owner.session_id not in ended else None

    async def _check(self, sent: str) -> Owner | None:
        cut = COOKIE_FORM.fullmatch(sent)
        if not cut or not cut[2] or not hmac.compare_digest(cut[2], await self._prove(cut[1])):
            return None
        if len(self._proved) >= MOST_PROVED:
            self._proved.clear()
        self._proved[sent] = owner = owners.session(cut[1])
        return owner

    async def prepare(self) -> None:
        """What it takes to know a session again is there before the database may go away."""
        await self._shared_key()
        await self._ended.find(ALL)

    def forget(self) -> None:
        """What this process believes of sessions is asked again."""
        self._ended.forget(ALL)

    def end_line(self) -> str:
        """What makes a browser forget its cookie."""
        return write_cookie(self.cookie, "", seconds=0, secure=self._secure)

    async def _load_ended(self, _: str) -> frozenset[str]:
        with wall.beyond():
            async with read_connection(self._pool) as conn:
                return await list_ended(conn)

    async def _first_version(self, request: Request) -> str | None:
        """One without a proof that has owned something: nobody gets that far with one now.

        Where cookies are secure they had another name then, so there is none to know again.
        """
        sent = COOKIE_FORM.fullmatch(read_cookies(request).get(self.cookie, ""))
        if not sent or sent[2]:
            return None
        owner = owners.session(sent[1])
        if owner.session_id in await self._ended.find(ALL):
            return None
        with wall.beyond():
            async with read_connection(self._pool) as conn:
                return sent[1] if await owner_exists(conn, owner.key) else None

    async def _prove(self, secret: str) -> str:
        digest = hmac.digest(await self._shared_key(), secret.encode(), "sha256")
        return base64.urlsafe_b64encode(digest).decode().rstrip("=")

    async def _shared_key(self) -> bytes:
        """Asked for once, however many come at once."""
        async with self._asking:
            if self._key is None:
                self._key = await load_shared_secret(self._pool, "sessions")
            return self._key

    def _line(self, secret: str, proof: str) -> str:
        value = f"{secret}.{proof}"
        return write_cookie(self.cookie, value, seconds=COOKIE_SECONDS, secure=self._secure)


@dataclass(frozen=True, slots=True)
class SignedIn:
    """A person who signed in, as their session knows them."""

    id: str
    owner: Owner
    name: str


class SignedInSessions:
    """The cookies of people who signed in. Each has a row, which is all that the cookie names."""

    def __init__(self, pool: Pool, *, secure: bool) -> None:
        self.cookie: str = f"__Host-{SIGNED_IN_COOKIE}" if secure else SIGNED_IN_COOKIE
        self._pool: Pool = pool
        self._secure: bool = secure
        self._known: RecentAnswers[SignedIn | None] = RecentAnswers(pool, self._load)

    async def find(self, request: Request) -> SignedIn | None:
        sent = read_cookies(request).get(self.cookie, "")
        return await self._known.find(_name_session(sent)) if SECRET_FORM.fullmatch(sent) else None

    async def begin(self, conn: Connection, who: Owner, name: str, lasts: timedelta) -> str:
        """The cookie of a new session, as a line of Set-Cookie."""
        secret = secrets.token_urlsafe(SECRET_BYTES)
        await add_session(conn, SignedIn(_name_session(secret), who, name), lasts)
        seconds = int(lasts.total_seconds())
        return write_cookie(self.cookie, secret, seconds=seconds, secure=self._secure)

    async def end(self, conn: Connection, session: SignedIn) -> None:
        await end_session(conn, session.id)
        self._known.forget(session.id)

    def end_line(self) -> str:
        return write_cookie(self.cookie, "", seconds=0, secure=self._secure)

    def forget(self, session_id: str) -> None:
        self._known.forget(session_id)

    async def _load(self, session_id: str) -> SignedIn | None:
        with wall.beyond():
            async with connection(self._pool) as conn:
                return await find_session(conn, session_id)


def _name_session(secret: str) -> str:
    """The secret is not kept: its hash names the session."""
    return hashlib.sha256(secret.encode()).hexdigest()


LIST_ENDED: Final = """
SELECT id FROM sessions WHERE ended_at IS NOT NULL AND owner LIKE 'session:%'
"""


async def list_ended(conn: Connection) -> frozenset[str]:
    """The anonymous sessions that an operator has ended."""
    rows = await (await conn.execute(LIST_ENDED)).fetchall()
    return frozenset(row[0] for row in rows)


ADD_SESSION: Final = """
INSERT INTO sessions (id, owner, name, grants, expires_at)
VALUES (%(id)s, %(owner)s, %(name)s, %(grants)s, now() + %(lasts)s)
"""


async def add_session(conn: Connection, session: SignedIn, lasts: timedelta) -> None:
    owner = session.owner
    args: dict[str, Any] = {"id": session.id, "owner": owner.key, "name": session.name}
    await conn.execute(ADD_SESSION, {**args, "grants": Jsonb(owner.grants), "lasts": lasts})


# Seen is written down once a minute, so that an operator knows who is there.
FIND_SESSION: Final = """
WITH found AS (
    SELECT id, owner, name, grants, seen_at FROM sessions
     WHERE id = %(id)s AND ended_at IS NULL AND expires_at > now()),
seen AS (
    UPDATE sessions SET seen_at = now() FROM found
     WHERE sessions.id = found.id AND found.seen_at < now() - interval '1 minute')
SELECT id, owner, name, grants FROM found
"""


async def find_session(conn: Connection, session_id: str) -> SignedIn | None:
    """The session, unless it ended or expired."""
    row = await (await conn.execute(FIND_SESSION, {"id": session_id})).fetchone()
    return SignedIn(row[0], owners.restore(row[1], row[3]), row[2]) if row else None


END_SESSION: Final = "UPDATE sessions SET ended_at = now() WHERE id = %s AND ended_at IS NULL"


async def end_session(conn: Connection, session_id: str) -> bool:
    return (await conn.execute(END_SESSION, (session_id,))).rowcount == 1


OWNER_EXISTS: Final = "SELECT EXISTS (SELECT FROM owners WHERE owner = %s)"


async def owner_exists(conn: Connection, owner: OwnerKey) -> bool:
    """Whether the owner was ever here with something to keep."""
    row = await (await conn.execute(OWNER_EXISTS, (owner,))).fetchone()
    assert row is not None
    return row[0]


FIND_SHARED: Final = "SELECT secret FROM secrets WHERE name = %s"
ADD_SHARED: Final = "INSERT INTO secrets (name, secret) VALUES (%s, %s) ON CONFLICT DO NOTHING"


async def load_shared_secret(pool: Pool, name: str) -> bytes:
    """The secret of that name that all processes share, made where there is none yet."""
    with wall.beyond():
        async with read_connection(pool) as conn:
            return await share_secret(conn, name, secrets.token_bytes(SECRET_BYTES))


async def share_secret(conn: Connection, name: str, fresh: bytes) -> bytes:
    """The secret of that name: `fresh` where there is none yet."""
    row = await (await conn.execute(FIND_SHARED, (name,))).fetchone()
    if row is None:
        await conn.execute(ADD_SHARED, (name, fresh))
        row = await (await conn.execute(FIND_SHARED, (name,))).fetchone()
    assert row is not None
    return bytes(row[0])
