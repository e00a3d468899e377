"""Tells the database how the worker's services fare, as soon as that changes."""

import asyncio
from collections.abc import Sequence
from typing import Final

from docmill.db import breakers
from docmill.db.breakers import Breaker
from docmill.db.pool import OUTAGES, Pool
from docmill.work.guard import Guard

EVERY: Final = 1.0


async def watch(pool: Pool, worker: str, guards: Sequence[Guard], every: float = EVERY) -> None:
    """Until cancelled."""
    told: list[str] = []
    while guards:
        now = [Breaker(guard.name, guard.state, guard.failing) for guard in guards]
        states = [str(one.state) for one in now]
        if states != told and await _noted(pool, worker, now):
            told = states
        await asyncio.sleep(every)


async def _noted(pool: Pool, worker: str, now: Sequence[Breaker]) -> bool:
    """False when the database is away, or does not know the worker yet: then once more."""
    try:
        async with pool.connection() as conn:
            return await breakers.note(conn, worker, now)
    except OUTAGES:
        return False
