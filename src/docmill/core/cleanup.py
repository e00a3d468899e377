"""What was begun is undone when it does not come to its end."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager


@asynccontextmanager
async def on_failure(undo: Callable[[], Awaitable[object]]) -> AsyncGenerator[None]:
    """Whatever ends the block early, a stop as well, is raised again after `undo`."""
    try:
        yield
    except BaseException:
        await undo()
        raise
