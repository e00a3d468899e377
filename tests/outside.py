"""A site with a worker whose services are those of some settings: `async with desk(...)`."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx2

from docmill.cli import services as outer
from docmill.core.jobs import JobId
from docmill.core.pipeline import DOCX, PDF, TEXT
from docmill.db import history
from docmill.db.history import Attempt
from docmill.db.pool import Pool
from docmill.ingest.checks import Offer
from docmill.settings import read
from docmill.work.child import Limits, Nursery
from docmill.work.runs import ChildRunner, Outside
from sites import running
from work.asker import RULES, at_work

OFFER = Offer(
    {"extract": (PDF,), "study": (PDF, DOCX, TEXT), "trades": (PDF,)}, {}, frozenset({"extract"})
)
LIMITS = Limits(memory_bytes=896 << 20, stall=timedelta(seconds=60), total=timedelta(minutes=2))


@asynccontextmanager
async def desk(
    pool: Pool, root: Path, *pipelines: str, **settings: Any
) -> AsyncGenerator[httpx2.AsyncClient]:
    """What an operator with these settings has: web, worker, confined children."""
    async with AsyncExitStack() as stack:
        given = read(**settings)
        embed = await outer.embed(given, stack)
        site = await stack.enter_async_context(running(pool, root, offer=OFFER, embed=embed))
        services = await outer.services(given, stack)
        nursery = await stack.enter_async_context(Nursery(LIMITS, pipelines=pipelines))
        runner = ChildRunner(pool, site.services.store, nursery, Outside(services=services))
        rules = replace(RULES, pipelines=list(pipelines))
        await stack.enter_async_context(at_work(pool, runner, rules))
        yield await stack.enter_async_context(site.client())


async def ended(client: httpx2.AsyncClient, job_id: str) -> dict[str, Any]:
    """The job, when it is over."""
    job: dict[str, Any] = {"status": "queued"}
    while job["status"] in {"queued", "processing"}:
        answer = await client.get(f"/api/jobs/{job_id}", headers={"prefer": "wait=30"}, timeout=40)
        job = answer.json()
    return job


async def done(client: httpx2.AsyncClient, job_id: str) -> dict[str, Any]:
    """The data of a job that must come to a good end."""
    job = await ended(client, job_id)
    assert job["status"] == "complete", job
    answer = await client.get(f"/api/jobs/{job_id}/download", params={"form": "data"})
    return answer.json()


async def attempts(pool: Pool, job_id: str) -> Sequence[Attempt]:
    async with pool.connection() as conn:
        return await history.attempts(conn, JobId(UUID(job_id)))


async def outcomes(pool: Pool, job_id: str) -> list[tuple[str | None, str | None]]:
    return [(one.outcome, one.error_code) for one in await attempts(pool, job_id)]
