"""Parts of a process: one's end is not another's, and none stays away."""

import asyncio
from itertools import pairwise

import pytest
import structlog

from docmill.core.parts import DOWN, OK, Parts
from docmill.processes import supervise
from docmill.processes.supervise import PartLife, ProcessPart, StopSignal, supervise_all
from waits import PATIENCE

pytestmark = pytest.mark.anyio

SOON = PATIENCE


async def _for_ever(life: PartLife) -> None:
    life.up()
    await asyncio.Event().wait()


async def test_a_part_that_raises_or_returns_is_run_again_and_the_others_go_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(supervise, "FIRST_PAUSE", 0.01)
    stop, parts, lives, starts = StopSignal(), Parts(), 0, 0

    async def weak(life: PartLife) -> None:
        nonlocal lives
        life.up()
        lives += 1
        if lives == 1:
            raise KeyError("a mistake of ours")
        if lives == 4:
            stop.ask()
            await asyncio.Event().wait()

    async def strong(life: PartLife) -> None:
        nonlocal starts
        starts += 1
        await _for_ever(life)

    with structlog.testing.capture_logs() as lines:
        async with asyncio.timeout(SOON):
            await supervise_all(
                [ProcessPart("weak", weak), ProcessPart("strong", strong)], stop, parts
            )
    assert (lives, starts) == (4, 1)
    ended = [line for line in lines if line["event"] == "part.ended"]
    assert [line["error"] for line in ended] == [
        "KeyError: 'a mistake of ours'", "it returned", "it returned",
    ]  # fmt: skip
    assert {line["part"] for line in ended} == {"weak"}
    assert "weak(life" in ended[0]["stack"] or "in weak" in ended[0]["stack"]
    assert parts.states["strong"] == OK


async def test_the_pauses_grow_up_to_a_limit_and_start_small_again_after_health(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(supervise, "FIRST_PAUSE", 0.01)
    stop, lives, ahead = StopSignal(), 0, 0.0
    loop = asyncio.get_running_loop()
    clock = loop.time
    monkeypatch.setattr(loop, "time", lambda: clock() + ahead)

    async def weak(_: PartLife) -> None:
        nonlocal lives, ahead
        lives += 1
        if lives == 6:  # a long life, which no busy machine gives to another
            ahead += supervise.HEALTHY_SECONDS + 1
        if lives == 8:
            stop.ask()
            await asyncio.sleep(SOON)

    with structlog.testing.capture_logs() as lines:
        async with asyncio.timeout(SOON):
            await supervise_all([ProcessPart("weak", weak, longest_pause=0.05)], stop, Parts())
    pauses = [line["again_in"] for line in lines]
    assert all(first <= second for first, second in pairwise(pauses[:5]))
    assert (pauses[0], pauses[4], pauses[5]) == (0.0, 0.1, 0.0)


async def test_a_part_that_is_down_is_named_until_it_says_that_it_is_up() -> None:
    stop, parts = StopSignal(), Parts()
    again = asyncio.Event()
    lives = 0

    async def weak(life: PartLife) -> None:
        nonlocal lives
        lives += 1
        if lives == 2:
            await again.wait()
        if lives == 1:
            return
        await _for_ever(life)

    keeping = asyncio.create_task(supervise_all([ProcessPart("weak", weak)], stop, parts))
    async with asyncio.timeout(SOON):
        while lives < 2:
            await asyncio.sleep(0.01)
        assert (parts.states, parts.all_run) == ({"weak": DOWN}, False)
        again.set()
        while not parts.all_run:
            await asyncio.sleep(0.01)
    assert parts.states == {"weak": OK}
    stop.ask()
    await keeping


async def test_a_stop_asked_for_before_a_part_listens_is_heard_as_often_as_it_was_asked() -> None:
    stop, heard = StopSignal(), list[str]()
    stop.ask()
    stop.ask()
    with stop.calling(lambda: heard.append("asked")):
        assert heard == ["asked", "asked"]
        stop.ask()
    stop.ask()
    assert len(heard) == 3


async def test_a_start_is_cancelled_by_a_stop() -> None:
    stop = StopSignal()

    async def begin() -> None:
        with stop.cancelling():
            await asyncio.Event().wait()

    starting = asyncio.create_task(begin())
    await asyncio.sleep(0)
    stop.ask()
    await asyncio.wait({starting}, timeout=SOON)
    assert starting.cancelled()


async def test_a_part_may_stop_in_its_own_way_and_is_told_of_every_ask() -> None:
    stop, asked = StopSignal(), 0
    hurried = asyncio.Event()

    async def gentle(life: PartLife) -> None:
        def listen() -> None:
            nonlocal asked
            asked += 1
            if asked == 2:
                hurried.set()

        life.stop_with(listen)
        life.up()
        await hurried.wait()

    parts = Parts()
    keeping = asyncio.create_task(supervise_all([ProcessPart("gentle", gentle)], stop, parts))
    async with asyncio.timeout(SOON):
        while parts.states.get("gentle") != OK:
            await asyncio.sleep(0.01)
        stop.ask()
        stop.ask()
        await keeping
    assert asked == 2
