"""So many calls at a time and in a minute; who waits too long is told to come later."""

import asyncio

import pytest

from docmill.cache import MemoryCache
from docmill.core.faults import DocmillError
from docmill.services.pace import Rule, ServicePace

pytestmark = pytest.mark.anyio


def make_pace(rule: Rule, patience: float = 60) -> ServicePace:
    return ServicePace("complete", rule, MemoryCache(), patience=patience)


async def test_no_more_than_so_many_calls_run_at_a_time() -> None:
    pace = make_pace({"at_a_time": 2})
    running, most = 0, 0

    async def call() -> None:
        nonlocal running, most
        async with pace.turn():
            running += 1
            most = max(most, running)
            await asyncio.sleep(0)
            running -= 1

    await asyncio.gather(*(call() for _ in range(20)))
    assert (running, most) == (0, 2)


@pytest.mark.parametrize("rule", [{"at_a_time": 2}, {"per_minute": 2}])
async def test_who_waits_too_long_goes_back_to_the_queue(rule: Rule) -> None:
    pace = make_pace(rule, patience=0.01)
    async with pace.turn(), pace.turn():
        with pytest.raises(DocmillError) as refused:
            async with pace.turn():
                pass
    assert refused.value.fault.code == "SERVICE_RESTING"
    assert refused.value.facts["retryAfter"] == 0.005
