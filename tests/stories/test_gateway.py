"""A worker that converts invoices at a gateway: there, gone, and back again."""

import asyncio
import gzip
import io
import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest

from bench.surroundings import find_port
from docmill.core.jobs import Job, JobId, Retry, Status
from docmill.core.plugins import PDF, Source, Tools
from docmill.db.notify import CHANGES, Notifier
from docmill.db.pool import Pool
from docmill.invoices.pipeline import pipeline
from docmill.jobs import queries, results
from docmill.jobs.runner import JobRunner, RunnerParts
from docmill.queue import leases
from docmill.queue.worker import Worker, WorkerConfig, WorkerLinks
from docmill.sandbox.limits import RunLimits
from docmill.sandbox.pool import SandboxPool
from docmill.services import breaker
from docmill.services.breaker import (
    Breaker,
    BreakerConfig,
    CircuitState,
    ServiceGuard,
    report_breakers,
)
from docmill.services.gateway import GatewayClient, GatewayRunner, find_resting
from docmill.storage import open_store
from docmill.storage.contract import Store
from gateways import CORETAX, INVOICE, add_invoice, gateway
from road import the
from speakers import answer, speaking
from waits import until

pytestmark = pytest.mark.anyio

ONCE = timedelta(seconds=0.05)


class Bench:
    """A worker with a gateway, whose clock the test moves."""

    def __init__(self, pool: Pool, folder: Path) -> None:
        self.pool: Pool = pool
        self.store: Store = open_store(str(folder))
        self.breaker: Breaker = Breaker(BreakerConfig(fewest=4))
        self.now: float = 0.0
        self.guard: ServiceGuard = ServiceGuard("gateway", self.breaker, clock=lambda: self.now)
        self.looks: int = 0

    @asynccontextmanager
    async def working(self, url: str) -> AsyncGenerator[None]:
        changes = Notifier(self.pool, CHANGES)
        me = leases.identify()
        async with GatewayClient(url) as client, SandboxPool(RunLimits(), pipelines=[]) as sandbox:
            services = {"invoice": GatewayRunner(client, self.guard)}
            rules = WorkerConfig(
                ["invoice"], poll=ONCE, retry=Retry(2, ONCE, ONCE), grace=timedelta(minutes=1),
                resting=partial(self._resting, services), gateways={"invoice": url},
            )  # fmt: skip
            runner = JobRunner(self.pool, self.store, sandbox, RunnerParts(services))
            worker = Worker(WorkerLinks(self.pool, None, changes), rules, runner, me)
            task = asyncio.create_task(worker.run())
            watching = asyncio.create_task(
                report_breakers(self.pool, str(me), [self.guard], every=0.02)
            )
            try:
                yield
            finally:
                watching.cancel()
                worker.stop()
                await task
                await changes.close()

    def _resting(self, services: Mapping[str, GatewayRunner]) -> frozenset[str]:
        self.looks += 1
        return find_resting(services)

    async def looks_ten_times(self) -> None:
        enough = self.looks + 10
        await until(lambda: self.looks >= enough)

    async def add(self, count: int, data: bytes = INVOICE) -> list[JobId]:
        return [await add_invoice(self.pool, self.store, data, CORETAX) for _ in range(count)]

    async def jobs(self, ids: list[JobId]) -> list[Job]:
        async with self.pool.connection() as conn:
            return [await the(conn, job_id) for job_id in ids]

    async def result(self, job_id: JobId, form: str) -> bytes:
        async with self.pool.connection() as conn:
            kept = await results.find_result(conn, job_id, form)
        assert kept
        return gzip.decompress(b"".join([chunk async for chunk in self.store.chunks(kept.key)]))

    async def all_are(self, ids: list[JobId], status: Status) -> bool:
        return all(job.status is status for job in await self.jobs(ids))


@pytest.fixture
def bench(pool: Pool, tmp_path: Path) -> Bench:
    return Bench(pool, tmp_path)


async def test_a_job_done_at_the_gateway_keeps_what_it_would_keep_at_home(bench: Bench) -> None:
    options = {"profile": {"tin": "0123456789012345", "trx_code": "04"}}
    ids = [await add_invoice(bench.pool, bench.store, INVOICE, CORETAX, **options)]
    async with gateway() as url, bench.working(url):
        await until(partial(bench.all_are, ids, Status.COMPLETE))
    source = Source(io.BytesIO(INVOICE), "a.pdf", PDF, mapping=CORETAX, options=options)
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
    assert bench.breaker.state(0) is CircuitState.CLOSED
    async with bench.pool.connection() as conn:
        (attempt,) = await queries.list_attempts(conn, ids[0])
    assert "422 BAD_PDF read" in (attempt.error_message or "")


async def test_while_the_gateway_is_down_jobs_wait_and_once_it_is_back_all_are_done(
    bench: Bench,
) -> None:
    port = find_port()
    first = await bench.add(2)
    async with bench.working(f"http://127.0.0.1:{port}"):
        await until(partial(bench.all_are, first, Status.FAILED))
        assert bench.breaker.state(0) is CircuitState.OPEN
        await until(lambda: _is_shown(bench, 2))

        later = await bench.add(4)
        await bench.looks_ten_times()
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
            await until(lambda: _is_shown(bench, 0))
    assert bench.breaker.state(bench.now) is CircuitState.CLOSED


async def _is_shown(bench: Bench, level: int) -> bool:
    async with bench.pool.connection() as conn:
        return [(one.service, one.level) for one in await breaker.read_states(conn)] == [
            ("gateway", level)
        ]


async def test_a_jobs_history_tells_of_the_gateway_its_answer_and_the_time_it_took(
    bench: Bench,
) -> None:
    (good,) = await bench.add(1)
    (bad,) = await bench.add(1, b"%PDF-1.7 and no more")
    async with gateway() as url, bench.working(url):
        await until(partial(bench.all_are, [good], Status.COMPLETE))
        await until(partial(bench.all_are, [bad], Status.FAILED))
    async with bench.pool.connection() as conn:
        told = {
            (job_id, event.kind): event.meta
            for job_id in (good, bad)
            for event in await queries.list_events(conn, job_id)
        }
    assert told[good, "processing"]["gateway"] == told[bad, "processing"]["gateway"] == url
    for ended, status in ((told[good, "complete"], 200), (told[bad, "failed"], 422)):
        assert (ended["gateway"], ended["http_status"]) == (url, status)
        assert ended["duration_ms"] >= 0


async def test_a_gateway_that_asks_for_a_pause_is_left_alone_for_it(bench: Bench) -> None:
    (job_id,) = await bench.add(1)
    async with speaking(answer("429 Slow", retry_after="20")) as slow, bench.working(slow.url):
        await until(lambda: _has_tried(bench, job_id))
        assert not bench.guard.admits
        bench.now = 21
        assert bench.guard.admits
    async with bench.pool.connection() as conn:
        (attempt,) = await queries.list_attempts(conn, job_id)
        job = await the(conn, job_id)
    assert (attempt.error_code, attempt.outcome) == ("GW_5XX", "retry")
    assert job.run_at
    assert attempt.ended_at
    assert job.run_at - attempt.ended_at >= timedelta(seconds=19)


async def _has_tried(bench: Bench, job_id: JobId) -> bool:
    async with bench.pool.connection() as conn:
        return [one.outcome for one in await queries.list_attempts(conn, job_id)] == ["retry"]


async def _is_open_again(bench: Bench) -> bool:
    if bench.breaker.state(bench.now) is not CircuitState.OPEN:
        return False
    async with bench.pool.connection() as conn:
        row = await (
            await conn.execute("SELECT count(*) FROM jobs WHERE status = 'processing'")
        ).fetchone()
    return row == (0,)
