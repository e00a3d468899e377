"""The tables of keys and sessions."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from psycopg.rows import class_row
from psycopg.types.json import Jsonb

from docmill.core.owners import Owner, OwnerKey
from docmill.db.pool import Connection

# An anonymous cookie lives so long; a session that was ended is remembered as long.
ANONYMOUS: Final = timedelta(days=366)


@dataclass(frozen=True, slots=True)
class ApiKey:
    """A key as its owner sees it. The key itself is not kept; `hint` is how it begins."""

    id: UUID
    owner: OwnerKey
    name: str
    hint: str
    scopes: list[str]
    created_at: datetime
    expires_at: datetime | None
    last_used_at: datetime | None
    revoked_at: datetime | None
    hash: bytes


@dataclass(frozen=True, slots=True)
class NewKey:
    name: str
    hash: bytes
    hint: str
    scopes: Sequence[str]
    lasts: timedelta | None


ADD_KEY: Final = """
INSERT INTO api_keys (owner, name, hash, hint, scopes, grants, expires_at)
VALUES (%(owner)s, %(name)s, %(hash)s, %(hint)s, %(scopes)s, %(grants)s, now() + %(lasts)s)
RETURNING id, owner, name, hint, scopes, created_at, expires_at, last_used_at, revoked_at, hash
"""


async def add_key(conn: Connection, owner: Owner, new: NewKey) -> ApiKey:
    args: dict[str, Any] = {
        "owner": owner.key,
        "name": new.name,
        "hash": new.hash,
        "hint": new.hint,
        "scopes": list(new.scopes),
        "grants": Jsonb(owner.grants),
        "lasts": new.lasts,
    }
    async with conn.cursor(row_factory=class_row(ApiKey)) as cur:
        key = await (await cur.execute(ADD_KEY, args)).fetchone()
    assert key is not None
    return key


LIST_KEYS: Final = """
SELECT id, owner, name, hint, scopes, created_at, expires_at, last_used_at, revoked_at, hash
  FROM api_keys WHERE owner = %s AND revoked_at IS NULL ORDER BY created_at DESC, id
"""


async def list_keys(conn: Connection, owner: OwnerKey) -> list[ApiKey]:
    """The newest first, without those that were revoked."""
    async with conn.cursor(row_factory=class_row(ApiKey)) as cur:
        return await (await cur.execute(LIST_KEYS, (owner,))).fetchall()


COUNT_KEYS: Final = "SELECT count(*) FROM api_keys WHERE owner = %s AND revoked_at IS NULL"


async def count_keys(conn: Connection, owner: OwnerKey) -> int:
    row = await (await conn.execute(COUNT_KEYS, (owner,))).fetchone()
    assert row is not None
    return row[0]


REVOKE_KEY: Final = """
UPDATE api_keys SET revoked_at = now()
 WHERE id = %(id)s AND owner = %(owner)s AND revoked_at IS NULL RETURNING hash
"""


async def revoke_key(conn: Connection, owner: OwnerKey, key_id: UUID) -> bytes | None:
    """Its hash, or None where the owner has no such key."""
    row = await (await conn.execute(REVOKE_KEY, {"id": key_id, "owner": owner})).fetchone()
    return bytes(row[0]) if row else None


REVOKE_KEYS: Final = (
    "UPDATE api_keys SET revoked_at = now() WHERE owner = %s AND revoked_at IS NULL"
)


async def revoke_keys(conn: Connection, owner: OwnerKey) -> int:
    return (await conn.execute(REVOKE_KEYS, (owner,))).rowcount


@dataclass(frozen=True, slots=True)
class OpenSession:
    """A session that goes on: of somebody who signed in, or an anonymous one that has something."""

    id: str
    owner: OwnerKey
    name: str
    signed_in: bool
    created_at: datetime
    seen_at: datetime
    expires_at: datetime | None


LIST_SESSIONS: Final = """
SELECT id, owner, name, true AS signed_in, created_at, seen_at, expires_at
  FROM sessions WHERE ended_at IS NULL AND expires_at > now()
UNION ALL
SELECT substr(o.owner, 9), o.owner, '', false, o.created_at, greatest(o.created_at, o.changed_at),
       NULL
  FROM owners o
 WHERE o.owner LIKE 'session:%%'
   AND NOT EXISTS (SELECT FROM sessions s WHERE s.id = substr(o.owner, 9))
 ORDER BY seen_at DESC, id LIMIT %(limit)s
"""


async def list_sessions(conn: Connection, limit: int) -> list[OpenSession]:
    """The last seen first."""
    async with conn.cursor(row_factory=class_row(OpenSession)) as cur:
        return await (await cur.execute(LIST_SESSIONS, {"limit": limit})).fetchall()


END_SIGNED_IN: Final = """
UPDATE sessions SET ended_at = now()
 WHERE ended_at IS NULL AND expires_at > now() AND (id = %(id)s OR owner = %(owner)s) RETURNING id
"""
END_ANONYMOUS: Final = """
INSERT INTO sessions (id, owner, expires_at, ended_at)
SELECT substr(owner, 9), owner, now() + %(lasts)s, now()
  FROM owners WHERE owner = 'session:' || %(id)s
ON CONFLICT (id) DO NOTHING RETURNING id
"""


async def end_session(conn: Connection, session_id: str) -> list[str]:
    """The ids of what ended: none where there is no such session."""
    args = {"id": session_id, "owner": None, "lasts": ANONYMOUS}
    ended = await (await conn.execute(END_SIGNED_IN, args)).fetchall()
    ended += await (await conn.execute(END_ANONYMOUS, args)).fetchall()
    return [row[0] for row in ended]


async def end_sessions_of(conn: Connection, owner: OwnerKey) -> list[str]:
    """Of a user, all of them."""
    ended = await (await conn.execute(END_SIGNED_IN, {"id": None, "owner": owner})).fetchall()
    return [row[0] for row in ended]
