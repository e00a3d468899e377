"""What was begun is undone when it does not come to its end, a stop included."""

import asyncio

import pytest

from docmill.core.cleanup import on_failure

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("ending", [ValueError, asyncio.CancelledError, KeyboardInterrupt])
async def test_whatever_ends_a_block_early_is_raised_after_it_was_undone(
    ending: type[BaseException],
) -> None:
    undone: list[str] = []

    async def undo() -> None:
        undone.append("undone")

    with pytest.raises(ending):
        async with on_failure(undo):
            raise ending
    assert undone == ["undone"]


async def test_what_comes_to_its_end_is_left_alone() -> None:
    async def undo() -> None:
        raise AssertionError("nothing failed")

    async with on_failure(undo):
        pass
