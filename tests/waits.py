"""How long a test waits for a fact: so long that a busy machine is never the reason it fails."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from inspect import isawaitable
from typing import Final

# Reached only by what never happens; a test that passes never waits it out.
PATIENCE: Final = 300.0
_PAUSE: Final = 0.02


async def until(fact: Callable[[], Awaitable[object] | object], seconds: float = PATIENCE) -> None:
    """Asks again and again; the fact may be awaited or not."""
    async with asyncio.timeout(seconds):
        while not await _value(fact()):
            await asyncio.sleep(_PAUSE)


async def _value(answer: Awaitable[object] | object) -> object:
    return await answer if isawaitable(answer) else answer


def wait_for(
    fact: Callable[[], object], about: Callable[[], str] = str, seconds: float = PATIENCE
) -> None:
    """The same for tests that have no event loop; `about` says what there is instead."""
    until = time.monotonic() + seconds
    while not fact():
        assert time.monotonic() < until, f"not within {seconds} s\n{about()}"
        time.sleep(_PAUSE)
