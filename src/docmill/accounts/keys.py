"""Keys for programs: made once and shown once, listed, revoked."""

import secrets
from collections.abc import Sequence
from datetime import timedelta
from typing import Final
from uuid import UUID

import structlog

from docmill.accounts import queries
from docmill.accounts.queries import ApiKey, NewKey
from docmill.core import owners
from docmill.core.faults import DocmillError
from docmill.core.owners import Owner
from docmill.db.pool import Connection, read_connection, write
from docmill.queue.enqueue import ensure_owner
from docmill.web import api_keys
from docmill.web.site import Site

log = structlog.get_logger()

MOST_KEYS: Final = 100
SECRET_BYTES: Final = 32
HINT: Final = len(api_keys.PREFIX) + 4
DEFAULT_SCOPES: Final = (owners.READ, owners.WRITE)


async def create_key(
    site: Site, owner: Owner, name: str, *, scopes: Sequence[str], lasts: timedelta | None
) -> tuple[str, ApiKey]:
    """The key, which nobody can show again, and what is kept of it."""
    api_keys.check_scope(owner, owners.ADMIN)
    key = api_keys.PREFIX + secrets.token_urlsafe(SECRET_BYTES)
    new = NewKey(name, api_keys.hash_key(key), key[:HINT], sorted(set(scopes)), lasts)

    async def keep(conn: Connection) -> ApiKey:
        await ensure_owner(conn, owner.key)
        if await queries.count_keys(conn, owner.key) >= MOST_KEYS:
            raise DocmillError("TOO_MANY_KEYS")
        return await queries.add_key(conn, owner, new)

    kept = await write(site.pool, keep)
    log.info("key.created", key=str(kept.id), owner=owner.key, scopes=kept.scopes)
    return key, kept


async def list_keys(site: Site, owner: Owner) -> list[ApiKey]:
    async with read_connection(site.pool) as conn:
        return await queries.list_keys(conn, owner.key)


async def revoke_key(site: Site, owner: Owner, key_id: str) -> None:
    """Raises KEY_NOT_FOUND for a key that is not the owner's."""
    api_keys.check_scope(owner, owners.ADMIN)
    wanted = _parse_id(key_id)
    hashed = await write(site.pool, lambda conn: queries.revoke_key(conn, owner.key, wanted))
    if hashed is None:
        raise DocmillError("KEY_NOT_FOUND")
    site.auth.keys.forget(hashed)
    log.info("key.revoked", key=str(wanted), owner=owner.key)


def _parse_id(key_id: str) -> UUID:
    try:
        return UUID(key_id)
    except ValueError as exc:
        raise DocmillError("KEY_NOT_FOUND") from exc
