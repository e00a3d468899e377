"""Whether this process can do its work: its parts, database, schema, store.

Asked often; what costs something is looked up rarely.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Final
from uuid import uuid4

import psycopg

from docmill.core.faults import FAULTS, DocmillError
from docmill.core.parts import OK, Parts
from docmill.db import migrate, pool, wall
from docmill.db.pool import Pool, connection
from docmill.storage.contract import Store

FRESH_SECONDS: Final = 5.0
LIMIT_SECONDS: Final = 8.0


class Readiness:
    """Remembers its last look for a few seconds: anybody may ask."""

    def __init__(self, pool: Pool, store: Store, parts: Parts) -> None:
        self._pool: Pool = pool
        self._store: Store = store
        self._process: Parts = parts
        self._until: float = 0.0
        self._parts: dict[str, str] = {}
        self._turn: asyncio.Lock = asyncio.Lock()

    async def parts(self) -> dict[str, str]:
        """Each part and dependency with "ok" or the code of what is wrong."""
        async with self._turn:
            if time.monotonic() > self._until:
                database, store = await asyncio.gather(
                    _probe(self._try_database), _probe(self._try_store)
                )
                self._parts = {"database": database, "store": store}
                self._until = time.monotonic() + FRESH_SECONDS
        return {**self._process.states, **self._parts}

    async def _try_database(self) -> str:
        with wall.beyond():
            async with connection(self._pool) as conn:
                if await migrate.find_missing(conn):
                    return "MIGRATIONS_PENDING"
                return "READ_ONLY" if await pool.is_read_only(conn) else OK

    async def _try_store(self) -> str:
        key = f"probes/{uuid4()}"
        await self._store.put(key, b"probe")
        await self._store.delete(key)
        return OK


async def _probe(look: Callable[[], Awaitable[str]]) -> str:
    try:
        async with asyncio.timeout(LIMIT_SECONDS):
            return await look()
    except DocmillError as exc:
        return exc.fault.code
    except TimeoutError:
        return "TIMED_OUT"
    except psycopg.Error:
        return FAULTS["DATABASE_DOWN"].code
