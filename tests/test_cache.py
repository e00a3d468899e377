"""The cache: keeps bytes for a while, and is never in the way when it is sick."""

import asyncio
from collections.abc import Iterator
from datetime import timedelta

import pytest

from docmill.cache import LARGEST_VALUE, REST_SECONDS, MemoryCache, listen, open_cache
from docmill.core.faults import CommandError
from valkeys import Valkey, running_valkey
from waits import until

pytestmark = pytest.mark.anyio

DAY = timedelta(days=1)


class Clock:
    now: float = 0.0

    def __call__(self) -> float:
        return self.now


async def test_memory_forgets_what_is_over_and_what_nobody_asked_for_longest() -> None:
    clock = Clock()
    cache = MemoryCache(10, clock)
    await cache.put("a", b"12345", keep=timedelta(seconds=2))
    await cache.put("b", b"12345", keep=DAY)
    assert (await cache.get("a"), await cache.get("c")) == (b"12345", None)
    await cache.put("c", b"1", keep=DAY)
    assert (await cache.get("a"), await cache.get("b")) == (b"12345", None)
    clock.now = 2.0
    assert (await cache.get("a"), await cache.get("c")) == (None, b"1")
    await cache.put("c", b"x" * 11, keep=DAY)
    assert await cache.get("c") is None, "what is too large replaces nothing by nothing old"


@pytest.fixture(scope="module")
def valkey() -> Iterator[Valkey]:
    with running_valkey() as server:
        yield server


async def test_valkey_keeps_for_as_long_as_it_is_told(valkey: Valkey) -> None:
    async with open_cache(valkey.url) as cache:
        await cache.put("a", b"\x00\xff", keep=DAY)
        await cache.put("b", b"gone", keep=timedelta(milliseconds=1))
        await cache.put("c", b"x" * (LARGEST_VALUE + 1), keep=DAY)
        assert await cache.get("a") == b"\x00\xff"
        await until(lambda: is_unknown(valkey, "b"))
        assert await cache.get("c") is None
    async with open_cache(valkey.url) as another:
        assert await another.get("a") == b"\x00\xff"


async def is_unknown(valkey: Valkey, key: str) -> bool:
    async with open_cache(valkey.url) as cache:
        return await cache.get(key) is None


@pytest.mark.parametrize("fault", ["freeze", "kill"])
async def test_a_sick_valkey_knows_nothing_and_is_asked_again_later(
    valkey: Valkey, fault: str
) -> None:
    async with open_cache(valkey.url) as cache:
        await cache.put("a", b"1", keep=DAY)
        getattr(valkey, fault)()
        assert await cache.get("a") is None
        await cache.put("a", b"2", keep=DAY)
        if fault == "freeze":
            valkey.thaw()
        else:
            valkey.start()

        async def is_back() -> bool:
            await cache.put("a", b"3", keep=DAY)
            return await cache.get("a") == b"3"

        await until(is_back, 60 * REST_SECONDS)


async def test_a_bucket_of_tokens_is_shared_by_all_processes(valkey: Valkey) -> None:
    async with open_cache(valkey.url) as one, open_cache(valkey.url) as other:
        first = await one.take("bucket", 7, step=1000, burst=10)
        second = await other.take("bucket", 7, step=1000, burst=10)
        third = await one.take("bucket", 1, step=1000, burst=10)
        assert [each and each.given for each in (first, second, third)] == [7, 3, 0]
        assert third
        assert 9_000 < third.full_after <= 10_000
        await one.take("quick", 1, step=0.01, burst=1)

        async def is_full_again() -> bool:
            taken = await one.take("quick", 1, step=0.01, burst=1)
            return taken is not None and taken.given == 1

        await until(is_full_again)
    assert await MemoryCache().take("bucket", 1, step=1, burst=1) is None


async def test_who_listens_hears_what_another_process_rings_also_after_a_restart(
    valkey: Valkey,
) -> None:
    heard: list[str | None] = []

    async def hear() -> None:
        async for channel in listen(valkey.url, "work"):
            heard.append(channel)  # noqa: PERF401  as they come

    task = asyncio.create_task(hear())
    async with open_cache(valkey.url) as cache:
        for round_ in (1, 2):

            async def rings() -> bool:
                await cache.publish("work")
                return heard.count(None) == round_ and heard[-1] == "work"  # noqa: B023

            await until(rings)
            valkey.kill()
            valkey.start()
    task.cancel()
    await asyncio.wait({task})


async def test_an_address_that_is_none_is_said_at_the_start() -> None:
    with pytest.raises(CommandError, match="REDIS_URL can't be used"):
        async with open_cache("http://127.0.0.1"):
            pass
