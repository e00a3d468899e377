"""Keys of programs: `Authorization: Bearer dm_...`. Only their hash is kept."""

import hashlib
import re
from dataclasses import dataclass
from typing import Final

from docmill.core import owners
from docmill.core.faults import DocmillError
from docmill.core.owners import Owner
from docmill.db import wall
from docmill.db.pool import Connection, Pool, connection
from docmill.web.recent import RecentAnswers
from docmill.web.tokens import EXPIRED, WRONG, make_unauthorized

PREFIX: Final = "dm_"
KEY_FORM: Final = re.compile(rf"{PREFIX}[A-Za-z0-9_-]{{43}}")


def hash_key(key: str) -> bytes:
    """Keys are random, 256 bits long: a fast hash is enough."""
    return hashlib.sha256(key.encode()).digest()


@dataclass(frozen=True, slots=True)
class KnownKey:
    """A key that was made here; `state` says why it is no good, if it isn't."""

    id: str
    owner: Owner
    state: str


class KeyReader:
    """Who a key stands for."""

    def __init__(self, pool: Pool) -> None:
        self._pool: Pool = pool
        self._known: RecentAnswers[KnownKey | None] = RecentAnswers(pool, self._load)

    async def owner(self, key: str) -> Owner:
        if not KEY_FORM.fullmatch(key):
            raise make_unauthorized(WRONG, "not a key")
        known = await self._known.find(hash_key(key).hex())
        if known is None:
            raise make_unauthorized(WRONG, "no such key")
        if known.state:
            raise make_unauthorized(known.state, f"key {known.id} is no longer good")
        return known.owner

    def forget(self, hashed: bytes) -> None:
        """After it was revoked."""
        self._known.forget(hashed.hex())

    async def _load(self, hashed: str) -> KnownKey | None:
        with wall.beyond():
            async with connection(self._pool) as conn:
                return await find_key(conn, bytes.fromhex(hashed))


def check_scope(owner: Owner, scope: str) -> None:
    """Raises SCOPE_MISSING for a key that was made for less."""
    if scope not in owner.scopes:
        raise DocmillError("SCOPE_MISSING", scope=scope)


# Used is written down once a minute: a program may ask a thousand times.
FIND_KEY: Final = """
WITH found AS (
    SELECT id, owner, grants, scopes, revoked_at, expires_at, last_used_at
      FROM api_keys WHERE hash = %(hash)s),
used AS (
    UPDATE api_keys SET last_used_at = now() FROM found
     WHERE api_keys.id = found.id AND found.revoked_at IS NULL
       AND (found.expires_at IS NULL OR found.expires_at > now())
       AND (found.last_used_at IS NULL OR found.last_used_at < now() - interval '1 minute'))
SELECT id::text, owner, grants, scopes,
       CASE WHEN revoked_at IS NOT NULL THEN %(wrong)s
            WHEN expires_at <= now() THEN %(expired)s ELSE '' END
  FROM found
"""


async def find_key(conn: Connection, hashed: bytes) -> KnownKey | None:
    args = {"hash": hashed, "wrong": WRONG, "expired": EXPIRED}
    row = await (await conn.execute(FIND_KEY, args)).fetchone()
    if row is None:
        return None
    key_id, owner, grants, scopes, state = row
    return KnownKey(key_id, owners.limit(owners.restore(owner, grants), tuple(scopes)), state)
