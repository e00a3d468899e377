"""Tells the database how the worker's services fare, as soon as that changes."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
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
        if states != told:
            with suppress(*OUTAGES):
                async with pool.connection() as conn:
                    told = states if await breakers.note(conn, worker, now) else told
        await asyncio.sleep(every)
