"""Statuses and lists from the cache: never wrong, and still there while the database is not."""

import asyncio
import random
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any, cast

import httpx2
import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from redis import asyncio as redis

from docmill.cache import Cache, MemoryCache, Taken, open_cache
from docmill.db import turns
from docmill.db.pool import open_pool
from sites import Site, Start, a_pdf, complete, fail, running, upload
from valkeys import Valkey, running_valkey
from waits import until

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
def valkey() -> Iterator[Valkey]:
    with running_valkey() as server:
        yield server


class WatchedCache:
    """A cache that remembers for how long it was asked to keep."""

    def __init__(self) -> None:
        self.inner: MemoryCache = MemoryCache()
        self.keeps: dict[str, timedelta] = {}

    async def get(self, key: str, *, patient: bool = False) -> bytes | None:
        return await self.inner.get(key, patient=patient)

    async def put(self, key: str, value: bytes, *, keep: timedelta) -> None:
        self.keeps[key.partition(":")[0]] = keep
        await self.inner.put(key, value, keep=keep)

    async def drop(self, key: str) -> bool:
        return await self.inner.drop(key)

    async def take(self, name: str, wanted: int, *, step: float, burst: int) -> Taken | None:
        return await self.inner.take(name, wanted, step=step, burst=burst)

    async def publish(self, channel: str) -> None:
        await self.inner.publish(channel)


@pytest.fixture(params=["memory", "valkey"])
async def cache(request: pytest.FixtureRequest, valkey: Valkey) -> AsyncIterator[Cache]:
    async with open_cache(None if request.param == "memory" else valkey.url) as opened:
        yield opened


@pytest.fixture
async def cached(start: Start, cache: Cache) -> AsyncGenerator[Site]:
    async with start(cache=cache) as site:
        yield site


async def read_status(client: httpx2.AsyncClient, job_id: str) -> dict[str, Any]:
    answer = await client.get(f"/api/job-status/{job_id}")
    assert answer.status_code == 200, answer.text
    return answer.json()


async def count_hits(client: httpx2.AsyncClient, kind: str, outcome: str = "hit") -> float:
    lines = (await client.get("/metrics")).text.splitlines()
    name = f'cache_lookups_total{{kind="{kind}",outcome="{outcome}"}}'
    return sum(float(line.split()[-1]) for line in lines if line.startswith(name))


async def test_the_status_of_an_ended_job_is_kept_for_a_day_and_dropped_when_it_changes(
    cached: Site,
) -> None:
    async with cached.client() as client:
        job_id = await upload(client)
        assert (await read_status(client, job_id))["status"] == "queued"
        await fail(cached, job_id)
        first = await read_status(client, job_id)
        assert first["status"] == "failed"
        assert await read_status(client, job_id) == first
        assert await count_hits(client, "status") == 1
        assert (await client.post(f"/api/jobs/{job_id}/retry")).status_code == 200
        assert (await read_status(client, job_id))["status"] == "queued"
        await complete(cached, job_id, b'{"pages": [1]}')
        for _ in range(2):
            assert (await read_status(client, job_id))["result"] == {"pages": [1]}
        assert await count_hits(client, "status") == 2
        await client.delete(f"/api/jobs/{job_id}")
        assert (await client.get(f"/api/job-status/{job_id}")).status_code == 404


async def test_nobody_gets_an_answer_that_was_kept_for_another(cached: Site) -> None:
    async with cached.client() as client, cached.client() as stranger:
        job_id = await upload(client)
        await complete(cached, job_id)
        await read_status(client, job_id)
        await stranger.get("/api/jobs")
        assert (await stranger.get(f"/api/job-status/{job_id}")).status_code == 403


async def test_a_list_is_kept_until_a_job_changes(cached: Site) -> None:
    async with cached.client() as client:
        job_id = await upload(client)
        assert [await list_statuses(client) for _ in range(2)] == [["queued"]] * 2
        await fail(cached, job_id)
        assert await list_statuses(client) == ["failed"]
        await upload(client, a_pdf("2"))
        assert await list_statuses(client) == ["queued", "failed"]
        await client.delete(f"/api/jobs/{job_id}")
        assert await list_statuses(client) == ["queued"]
        assert len((await client.get("/api/jobs", params={"limit": 1})).json()["jobs"]) == 1


async def list_statuses(client: httpx2.AsyncClient) -> list[str]:
    answer = await client.get("/api/jobs")
    assert answer.status_code == 200
    return [job["status"] for job in answer.json()["jobs"]]


async def test_statuses_are_kept_a_day_and_lists_two_seconds(start: Start) -> None:
    watched = WatchedCache()
    async with start(cache=watched) as site, site.client() as client:
        job_id = await upload(client)
        await complete(site, job_id)
        await read_status(client, job_id)
        await list_statuses(client)
    assert watched.keeps == {"status": timedelta(hours=24), "list": timedelta(seconds=2)}


@asynccontextmanager
async def database_away(url: str) -> AsyncGenerator[None]:
    """Nobody is connected to it, and nobody gets in."""
    name = str(conninfo_to_dict(url)["dbname"])
    switch = sql.SQL("ALTER DATABASE {} ALLOW_CONNECTIONS {}")
    elsewhere = make_conninfo(url, dbname="postgres")
    async with await psycopg.AsyncConnection.connect(elsewhere, autocommit=True) as conn:
        await conn.execute(switch.format(sql.Identifier(name), sql.SQL("false")))
        await conn.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", (name,)
        )
        try:
            yield
        finally:
            await conn.execute(switch.format(sql.Identifier(name), sql.SQL("true")))


async def test_what_has_ended_is_answered_while_the_database_is_away(
    database_url: str, tmp_path: Path, cache: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turns, "STILL", 0.3)
    async with (
        open_pool(database_url, wait=timedelta(seconds=0.5)) as pool,
        running(pool, tmp_path, listen_url=database_url, cache=cache) as site,
        site.client() as client,
        site.client() as stranger,
    ):
        ended, unseen = await upload(client), await upload(client, a_pdf("2"))
        await complete(site, ended)
        await complete(site, unseen)
        told = await read_status(client, ended)
        await stranger.get("/api/jobs")
        async with database_away(database_url):
            assert await read_status(client, ended) == told
            for asker, job_id in ((client, unseen), (stranger, ended)):
                answer = await asker.get(f"/api/job-status/{job_id}")
                assert answer.status_code == 503
                assert (answer.json()["retryAfter"], answer.headers["retry-after"]) == (30, "30")
        assert await count_hits(client, "status", "outage") == 1

        async def is_back() -> bool:
            return (await client.get(f"/api/job-status/{unseen}")).status_code == 200

        await until(is_back)


async def test_a_valkey_killed_hung_flushed_and_stale_gives_no_wrong_answer(
    start: Start, valkey: Valkey
) -> None:
    """Jobs fail and are tried again while old entries are put back and the server is hit."""
    chance, old = random.Random(7), dict[bytes, bytes]()
    async with open_cache(valkey.url) as cache, start(cache=cache) as site, site.client() as client:
        states: dict[str, str] = {}
        for number in range(4):
            job_id = await upload(client, a_pdf(str(number)))
            await fail(site, job_id)
            states[job_id] = "failed"
        for step in range(150):
            await move(site, client, chance.choice(list(states)), states)
            await disturb(valkey, chance.choice(FAULTS[:2] if step < 20 else FAULTS), old)
            asked = await asyncio.gather(*(read_status(client, each) for each in states))
            assert {each["jobId"]: each["status"] for each in asked} == states
            listed = (await client.get("/api/jobs")).json()["jobs"]
            assert {each["id"]: each["status"] for each in listed} == states
        assert await count_hits(client, "status") > 0


async def move(site: Site, client: httpx2.AsyncClient, job_id: str, states: dict[str, str]) -> None:
    """The one that waits fails; if none waits, this one is tried again."""
    waiting = next((each for each, status in states.items() if status == "queued"), None)
    if waiting:
        await fail(site, waiting)
        states[waiting] = "failed"
    else:
        assert (await client.post(f"/api/jobs/{job_id}/retry")).status_code == 200
        states[job_id] = "queued"


FAULTS = ("none", "stale", "none", "stale", "flush", "hang", "kill")


async def disturb(valkey: Valkey, fault: str, old: dict[bytes, bytes]) -> None:
    valkey.thaw()
    if fault == "kill":
        valkey.kill()
        valkey.start()
    client: Any = cast(Any, redis.Redis).from_url(valkey.url)
    async with client as direct:
        for key, value in old.items():
            if fault == "stale":
                await direct.set(key, value)
        for key in await direct.keys("docmill:*"):
            old.setdefault(key, await direct.get(key) or b"")
        if fault == "flush":
            await direct.flushall()
    if fault == "hang":
        valkey.freeze()
