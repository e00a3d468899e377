"""A worker that converts invoices at a gateway: there, gone, and back again."""

import asyncio
import gzip
import io
import json
import socket
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest

from docmill.clients.gateway import GatewayClient
from docmill.core.breaker import Breaker, BreakerRules, State
from docmill.core.jobs import Job, JobId, Retry, Status
from docmill.core.pipeline import PDF, Source, Tools
from docmill.db import history, results
from docmill.db.pool import Pool
from docmill.db.signals import CHANGES, Bell
from docmill.pipelines.invoice import pipeline
from docmill.storage import Store, open_store
from docmill.work import identity
from docmill.work.child import Limits, Nursery
from docmill.work.guard import Guard
from docmill.work.remote import ByGateway, resting
from docmill.work.runs import ChildRunner
from docmill.work.worker import Links, Rules, Worker
from gateways import CORETAX, INVOICE, add_invoice, gateway
from road import the

pytestmark = pytest.mark.anyio

ONCE = timedelta(seconds=0.05)


class Bench:
    """A worker with a gateway, whose clock the test moves."""

    def __init__(self, pool: Pool, folder: Path) -> None:
        self.pool: Pool = pool
        self.store: Store = open_store(str(folder))
        self.breaker: Breaker = Breaker(BreakerRules(fewest=4))
        self.now: float = 0.0
        self.guard: Guard = Guard("gateway", self.breaker, clock=lambda: self.now)

    @asynccontextmanager
    async def working(self, url: str) -> AsyncGenerator[None]:
        changes = Bell(self.pool, CHANGES)
        async with GatewayClient(url) as client, Nursery(Limits(), pipelines=[]) as nursery:
            services = {"invoice": ByGateway(client, self.guard)}
            rules = Rules(
                ["invoice"], poll=ONCE, retry=Retry(2, ONCE, ONCE), grace=timedelta(seconds=5),
                resting=partial(resting, services),
            )  # fmt: skip
            runner = ChildRunner(self.pool, self.store, nursery, elsewhere=services)
            worker = Worker(Links(self.pool, None, changes), rules, runner, identity.me())
            task = asyncio.create_task(worker.run())
            try:
                yield
            finally:
                worker.stop()
                await task
                await changes.close()

    async def add(self, count: int, data: bytes = INVOICE) -> list[JobId]:
        return [await add_invoice(self.pool, self.store, data, CORETAX) for _ in range(count)]

    async def jobs(self, ids: list[JobId]) -> list[Job]:
        async with self.pool.connection() as conn:
            return [await the(conn, job_id) for job_id in ids]

    async def result(self, job_id: JobId, form: str) -> bytes:
        async with self.pool.connection() as conn:
            kept = await results.of_job(conn, job_id, form)
        assert kept
        return gzip.decompress(b"".join([chunk async for chunk in self.store.chunks(kept.key)]))

    async def all_are(self, ids: list[JobId], status: Status) -> bool:
        return all(job.status is status for job in await self.jobs(ids))


@pytest.fixture
def bench(pool: Pool, tmp_path: Path) -> Bench:
    return Bench(pool, tmp_path)


async def until(holds: Callable[[], Awaitable[bool]], seconds: float = 20) -> None:
    async with asyncio.timeout(seconds):
        while not await holds():
            await asyncio.sleep(0.02)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


async def test_a_job_done_at_the_gateway_keeps_what_it_would_keep_at_home(bench: Bench) -> None:
    ids = await bench.add(1)
    async with gateway() as url, bench.working(url):
        await until(partial(bench.all_are, ids, Status.COMPLETE))
    source = Source(io.BytesIO(INVOICE), "a.pdf", PDF, mapping=CORETAX)
    home = pipeline.run(source, Tools(lambda _percent, _stage: None))
    assert home.artifact
    assert await bench.result(ids[0], "document") == home.artifact.content
    assert json.loads(await bench.result(ids[0], "data")) == json.loads(json.dumps(home.data))


async def test_a_document_the_gateway_refuses_fails_at_once_and_opens_nothing(
    bench: Bench,
) -> None:
    ids = await bench.add(6, b"%PDF-1.7 and no more")
    async with gateway() as url, bench.working(url):
        await until(partial(bench.all_are, ids, Status.FAILED))
    failed = await bench.jobs(ids)
    assert {(job.error_code, job.attempt_count) for job in failed} == {("GW_4XX", 1)}
    assert bench.breaker.state(0) is State.CLOSED
    async with bench.pool.connection() as conn:
        (attempt,) = await history.attempts(conn, ids[0])
    assert "422 BAD_PDF read" in (attempt.error_message or "")


async def test_while_the_gateway_is_down_jobs_wait_and_once_it_is_back_all_are_done(
    bench: Bench,
) -> None:
    port = free_port()
    first = await bench.add(2)
    async with bench.working(f"http://127.0.0.1:{port}"):
        await until(partial(bench.all_are, first, Status.FAILED))
        assert bench.breaker.state(0) is State.OPEN

        later = await bench.add(4)
        await asyncio.sleep(10 * ONCE.total_seconds())
        waiting = await bench.jobs(later)
        assert {(job.status, job.claim) for job in waiting} == {(Status.QUEUED, 0)}

        bench.now += 31
        await until(lambda: _is_open_again(bench))
        # One call went through and failed; the others were given back with their attempts.
        waiting = await bench.jobs(later)
        assert sum(job.attempt_count for job in waiting) == 1

        async with gateway(port):
            bench.now += 31
            await until(partial(bench.all_are, later, Status.COMPLETE))
    assert bench.breaker.state(bench.now) is State.CLOSED


async def _is_open_again(bench: Bench) -> bool:
    if bench.breaker.state(bench.now) is not State.OPEN:
        return False
    async with bench.pool.connection() as conn:
        row = await (
            await conn.execute("SELECT count(*) FROM jobs WHERE status = 'processing'")
        ).fetchone()
    return row == (0,)
