"""Whether this process can do its work: its parts, database, schema, store.

Asked often; what costs something is looked up rarely.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final
from uuid import uuid4

import psycopg

from docmill.core.faults import FAULTS, DocmillError
from docmill.core.parts import OK, Parts
from docmill.db import condition, migrate, wall
from docmill.db.pool import Pool, connection
from docmill.storage.contract import Store

Look = Callable[[], Awaitable[str]]

FRESH_SECONDS: Final = 5.0
LIMIT_SECONDS: Final = 8.0


class Readiness:
    """Remembers its last look for a few seconds: anybody may ask.

    A process without a database or a store, such as the gateway, is not asked for them.
    """

    def __init__(self, pool: Pool | None, store: Store | None, parts: Parts) -> None:
        self._pool: Pool | None = pool
        self._store: Store | None = store
        self._process: Parts = parts
        self._until: float = 0.0
        self._parts: dict[str, str] = {}
        self._turn: asyncio.Lock = asyncio.Lock()

    async def parts(self) -> dict[str, str]:
        """Each part and dependency with "ok" or the code of what is wrong."""
        async with self._turn:
            if time.monotonic() > self._until:
                looks: dict[str, Look] = {}
                if self._pool:
                    looks["database"] = partial(_try_database, self._pool)
                if self._store:
                    looks["store"] = partial(_try_store, self._store)
                found = await asyncio.gather(*map(_probe, looks.values()))
                self._parts = dict(zip(looks, found, strict=True))
                self._until = time.monotonic() + FRESH_SECONDS
        return {**self._process.states, **self._parts}


async def _try_database(opened: Pool) -> str:
    with wall.beyond():
        async with connection(opened) as conn:
            if await migrate.find_missing(conn):
                return "MIGRATIONS_PENDING"
            return "READ_ONLY" if await condition.is_read_only(conn) else OK


async def _try_store(store: Store) -> str:
    key = f"probes/{uuid4()}"
    await store.put(key, b"probe")
    await store.delete(key)
    return OK


async def _probe(look: Look) -> str:
    try:
        async with asyncio.timeout(LIMIT_SECONDS):
            return await look()
    except DocmillError as exc:
        return exc.fault.code
    except TimeoutError:
        return "TIMED_OUT"
    except psycopg.Error:
        return FAULTS["DATABASE_DOWN"].code
