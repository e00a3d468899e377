"""Whether this process can do its work: database, schema, store. Asked often, looked up rarely."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Final
from uuid import uuid4

from docmill.core.faults import Faulted
from docmill.db import migrate
from docmill.db.pool import connection
from docmill.wiring import Services

FRESH_SECONDS: Final = 5.0
LIMIT_SECONDS: Final = 8.0
OK: Final = "ok"


class Readiness:
    """Remembers its last look for a few seconds: anybody may ask."""

    def __init__(self, services: Services) -> None:
        self._services: Services = services
        self._until: float = 0.0
        self._parts: dict[str, str] = {}
        self._turn: asyncio.Lock = asyncio.Lock()

    async def parts(self) -> dict[str, str]:
        """Each part with "ok" or the code of what is wrong."""
        async with self._turn:
            if time.monotonic() > self._until:
                database, store = await asyncio.gather(_tried(self._database), _tried(self._store))
                self._parts = {"database": database, "store": store}
                self._until = time.monotonic() + FRESH_SECONDS
        return self._parts

    async def _database(self) -> str:
        async with connection(self._services.pool) as conn:
            return "MIGRATIONS_PENDING" if await migrate.missing(conn) else OK

    async def _store(self) -> str:
        key = f"probes/{uuid4()}"
        await self._services.store.put(key, b"probe")
        await self._services.store.delete(key)
        return OK


async def _tried(look: Callable[[], Awaitable[str]]) -> str:
    try:
        async with asyncio.timeout(LIMIT_SECONDS):
            return await look()
    except Faulted as exc:
        return exc.fault.code
    except TimeoutError:
        return "TIMED_OUT"
