"""A job of `auto`: what it was read as, why, and how it is read as something else."""

from collections.abc import AsyncGenerator
from datetime import timedelta
from typing import Any

import httpx2
import pytest

from docmill.auto.pipeline import pipeline
from docmill.core.installed import PipelineCatalog
from docmill.core.jobs import Retry, settle
from docmill.core.plugins import AUTO, PDF
from docmill.jobs.runner import JobRunner, RunnerParts
from docmill.queue.settle import Settlement, Settler
from docmill.sandbox.limits import RunLimits
from docmill.sandbox.pool import SandboxPool
from road import claim
from sites import Site, Start, part
from tests.auto.test_pipeline import NOTE
from waits import PATIENCE

pytestmark = pytest.mark.anyio

OFFER = PipelineCatalog(
    {AUTO: (PDF,), "extract": (PDF,), "trades": (PDF,)}, {AUTO: pipeline.mappings}
)


@pytest.fixture(scope="module")
async def sandbox() -> AsyncGenerator[SandboxPool]:
    limits = RunLimits(stall=timedelta(seconds=PATIENCE), total=timedelta(minutes=10))
    async with SandboxPool(limits, pipelines=[AUTO]) as opened:
        yield opened


@pytest.fixture
async def site(start: Start, sandbox: SandboxPool) -> AsyncGenerator[Site]:
    async with start(offer=OFFER, sandbox=sandbox, default_pipeline=AUTO) as running_site:
        yield running_site


async def send(client: httpx2.AsyncClient) -> dict[str, Any]:
    answer = await client.post("/api/upload", files=[part(NOTE)])
    assert answer.status_code == 200, answer.text
    return answer.json()


async def work(site: Site, sandbox: SandboxPool) -> None:
    pool = site.services.pool
    async with pool.connection() as conn:
        (claimed,) = await claim(conn, pipelines=[AUTO])
    runner = JobRunner(pool, site.services.store, sandbox, RunnerParts(catalog=OFFER))
    ending, _ = await runner(claimed, lambda _percent, _stage: None)
    settler = Settler(pool)
    move = settle(claimed, ending, retry=Retry(), chance=0)
    assert await settler.settle(Settlement(claimed, move, keep=timedelta(days=1)))
    await settler.close()


async def test_the_job_becomes_what_it_was_read_as_and_says_why(
    client: httpx2.AsyncClient, site: Site, sandbox: SandboxPool
) -> None:
    sent = await send(client)
    assert sent["job"]["pipeline"] == AUTO
    await work(site, sandbox)
    job = (await client.get(f"/api/jobs/{sent['jobId']}")).json()
    assert (job["status"], job["pipeline"], job["mapping"]) == ("complete", "trades", None)
    assert job["requested_pipeline"] == AUTO
    assert job["decision"].startswith("Read as a trade note: ")
    assert job["summary"]["note"] == "1 trade"
    assert len((await client.get("/api/trades")).json()["trades"]) == 1


async def test_the_same_file_sent_again_is_the_same_job(
    client: httpx2.AsyncClient, site: Site, sandbox: SandboxPool
) -> None:
    first = await send(client)
    await work(site, sandbox)
    again = await send(client)
    assert again["jobId"] == first["jobId"]


async def test_a_document_is_read_as_something_else_by_a_job_of_its_own(
    client: httpx2.AsyncClient, site: Site, sandbox: SandboxPool
) -> None:
    sent = await send(client)
    await work(site, sandbox)
    path = f"/api/jobs/{sent['jobId']}/read-as"
    answer = await client.post(path, json={"pipeline": "extract"})
    assert answer.status_code == 200, answer.text
    made = answer.json()
    assert made["jobId"] != sent["jobId"]
    assert (made["job"]["pipeline"], made["job"]["status"]) == ("extract", "queued")
    assert made["job"]["document_id"] == sent["job"]["document_id"]
    again = await client.post(f"{path}?pipeline=extract")
    assert again.json()["jobId"] == made["jobId"]
    refused = await client.post(path, json={"pipeline": "nothing"})
    assert refused.json()["code"] == "UNKNOWN_PIPELINE"
