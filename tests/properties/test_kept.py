"""SPEC section 12: what is kept, for how long, and for whom."""

import asyncio
import gzip
import json
import time
from collections.abc import AsyncGenerator
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx2
import jwt
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from accounts.test_keys import RULES as TOKENS
from accounts.test_keys import SECRET, bearer
from docmill.cache import MemoryCache
from docmill.core.jobs import Finished, Retry, Status, settle
from docmill.core.plugins import Artifact
from docmill.db.notify import WORK, Notifier
from docmill.db.pool import Pool, open_pool
from docmill.jobs import results
from docmill.queue import leases
from docmill.queue.leases import Identity
from docmill.queue.rescue import Upkeep, rescue_jobs
from docmill.queue.settle import Settlement, Settler
from docmill.queue.worker import WorkerConfig
from docmill.storage import open_store
from properties.senders import examples
from road import add_job, claim_one, the
from sites import Site, Start, a_pdf, complete, part, rows, running, upload
from waits import until

pytestmark = pytest.mark.anyio

DAY = 24 * 3600
NOWHERE = "host=127.0.0.1 port=1 user=nobody connect_timeout=1"


class StillClock:
    """Stands still until it is put forward."""

    def __init__(self) -> None:
        self.now: float = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> StillClock:
    return StillClock()


@pytest.fixture
def cache(clock: StillClock) -> MemoryCache:
    return MemoryCache(clock=clock)


@pytest.fixture
async def client(
    pool: Pool, tmp_path: Path, cache: MemoryCache
) -> AsyncGenerator[tuple[Site, httpx2.AsyncClient]]:
    async with (
        running(pool, tmp_path / "s", cache=cache, reads_per_minute=0) as site,
        site.client() as opened,
    ):
        yield site, opened


@examples(100)
@given(
    value=st.dictionaries(st.text("abc", max_size=5), st.integers(), max_size=3),
    seconds=st.integers(0, 2 * DAY),
)
@example(value={}, seconds=DAY - 1)
@example(value={}, seconds=DAY + 1)
async def test_a_status_is_kept_for_a_day_and_then_answered_from_the_database(
    client: tuple[Site, httpx2.AsyncClient],
    cache: MemoryCache,
    clock: StillClock,
    value: dict[str, int],
    seconds: int,
) -> None:
    """Properties 19, 24 and 26."""
    site, browser = client
    job_id = await upload(browser, a_pdf(uuid4().hex))
    await complete(site, job_id, json.dumps(value).encode())
    address, key = f"/api/job-status/{job_id}", f"status:{job_id}"
    first = await browser.get(address)
    assert (first.status_code, first.json()["result"]) == (200, value)
    assert await cache.get(key) is not None
    clock.now += seconds
    assert (await cache.get(key) is not None) == (seconds < DAY)
    assert (await browser.get(address)).content == first.content
    assert await cache.get(key) is not None


@examples(100)
@given(content=st.binary(min_size=1, max_size=2000), times=st.integers(1, 50))
async def test_results_are_stored_compressed(tmp_path: Path, content: bytes, times: int) -> None:
    """Property 27."""
    store, key = open_store(str(tmp_path)), f"results/{uuid4()}.gz"
    made = Artifact(content * times, "application/json")
    result = await results.write_result(store, key, made, "1")
    packed = (tmp_path / key).read_bytes()
    assert gzip.decompress(packed) == made.content
    assert (result.stored_bytes, result.bytes) == (len(packed), len(made.content))


CLAIMS = st.fixed_dictionaries(
    {}, optional={"sub": st.text(max_size=5), "exp": st.integers(0, int(time.time()) - 60)}
)


def forge(claims: dict[str, Any], key: str) -> str:
    return jwt.encode(claims, key, algorithm="HS256")


FORGED = st.builds(forge, CLAIMS, st.sampled_from([SECRET, "t" * 32]))
LINES = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=40)


@examples(100)
@given(token=st.one_of(FORGED, LINES, LINES.map(lambda text: f"dm_{text}")))
async def test_nothing_is_uploaded_without_valid_credentials(
    refusing: tuple[Site, httpx2.AsyncClient], pool: Pool, token: str
) -> None:
    """Property 28: expired, without an expiry, signed by another, made up."""
    site, client = refusing
    answer = await client.post("/api/upload", files=[part()], headers=bearer(token))
    assert answer.status_code == 401
    assert await rows(pool, "jobs") == 0
    assert site.stored() == []


@pytest.fixture
async def refusing(start: Start) -> AsyncGenerator[tuple[Site, httpx2.AsyncClient]]:
    async with start(auth_mode="jwt", tokens=TOKENS) as site, site.client() as client:
        yield site, client


@pytest.fixture
async def away() -> AsyncGenerator[Pool]:
    async with open_pool(NOWHERE, size=1, wait=timedelta(seconds=0.01)) as pool:
        yield pool


@examples(100)
@given(content=st.binary(min_size=1, max_size=200), field=st.text("abc", max_size=9))
async def test_results_survive_an_outage_at_completion_and_the_death_of_their_worker(
    pool: Pool, away: Pool, tmp_path: Path, content: bytes, field: str
) -> None:
    """Property 33: the database is away when the run ends, and the worker dies waiting for it."""
    store, me, bell = open_store(str(tmp_path)), leases.identify(), Notifier(pool, WORK)
    ghost = Identity(me.host, me.machine, 2**22 - 1, "1", "ffffff")
    async with pool.connection() as conn:
        await add_job(conn)
        job = await claim_one(conn, str(ghost))
    made = Artifact(content, "application/json")
    result = await results.write_result(store, f"results/{job.id}.gz", made, "1")
    fields = json.dumps([a_field(field)]).encode()
    move = settle(job, Finished(result, rows={"fields": fields}), retry=Retry(), chance=0)
    settler = Settler(away, store)
    waiting = asyncio.create_task(settler.settle(Settlement(job, move)))
    key = f"unsettled/{job.id}.{job.claim}.json"
    await until((tmp_path / key).exists)
    waiting.cancel()
    await settler.close()
    upkeep = Upkeep(pool, store, bell, bell, WorkerConfig([]), me)
    assert await rescue_jobs(upkeep) == 1
    async with pool.connection() as conn:
        known, kept = await the(conn, job.id), await results.find_result(conn, job.id)
        found = await conn.execute("SELECT label FROM document_fields WHERE job_id = %s", (job.id,))
        assert await found.fetchall() == [(field,)]
    assert (known.status, known.attempt_count) == (Status.COMPLETE, 1)
    assert kept is not None
    assert await results.read_result(pool, store, kept.key) == content
    assert not (tmp_path / key).exists()
    await bell.close()


def a_field(label: str) -> dict[str, Any]:
    return {"label": label, "value": "v", "type": "text", "normal": {}, "confidence": 1, "page": 1}
