"""A site with a worker whose services are those of some settings: `async with desk(...)`."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx2

from asker import RULES, at_work
from docmill import app
from docmill.core.installed import PipelineCatalog
from docmill.core.jobs import JobId
from docmill.core.plugins import DOCX, PDF, TEXT
from docmill.db.pool import Pool
from docmill.jobs import queries
from docmill.jobs.queries import JobAttempt
from docmill.jobs.runner import JobRunner, RunnerParts, add_options
from docmill.processes import services as outer
from docmill.sandbox.limits import RunLimits
from docmill.sandbox.pool import SandboxPool
from docmill.settings import read_settings
from sites import running
from waits import PATIENCE

OFFER = PipelineCatalog(
    {"extract": (PDF,), "invoice": (PDF,), "study": (PDF, DOCX, TEXT), "trades": (PDF,)},
    {"invoice": ("auto",)},
    frozenset({"extract"}),
)
LIMITS = RunLimits(
    memory_bytes=896 << 20, stall=timedelta(seconds=PATIENCE), total=timedelta(minutes=10)
)


@asynccontextmanager
async def desk(
    pool: Pool, root: Path, *pipelines: str, **settings: Any
) -> AsyncGenerator[httpx2.AsyncClient]:
    """What an operator with these settings has: web, worker, confined children."""
    async with AsyncExitStack() as stack:
        given = read_settings(**settings)
        embed = await outer.open_embedder(given, stack)
        site = await stack.enter_async_context(running(pool, root, offer=OFFER, embed=embed))
        services = await outer.open_services(given, stack)
        sandbox = await stack.enter_async_context(SandboxPool(LIMITS, pipelines=pipelines))
        bare = JobRunner(pool, site.services.store, sandbox, RunnerParts(services=services))
        runner = add_options(bare, app.pipeline_options(given))
        rules = replace(RULES, pipelines=list(pipelines))
        await stack.enter_async_context(at_work(pool, runner, rules))
        yield await stack.enter_async_context(site.client())


async def ended(client: httpx2.AsyncClient, job_id: str) -> dict[str, Any]:
    """The job, when it is over."""
    job: dict[str, Any] = {"status": "queued"}
    while job["status"] in {"queued", "processing"}:
        answer = await client.get(f"/api/jobs/{job_id}", headers={"prefer": "wait=30"})
        job = answer.json()
    return job


async def done(client: httpx2.AsyncClient, job_id: str) -> dict[str, Any]:
    """The data of a job that must come to a good end."""
    job = await ended(client, job_id)
    assert job["status"] == "complete", job
    answer = await client.get(f"/api/jobs/{job_id}/download", params={"form": "data"})
    return answer.json()


async def attempts(pool: Pool, job_id: str) -> Sequence[JobAttempt]:
    async with pool.connection() as conn:
        return await queries.list_attempts(conn, JobId(UUID(job_id)))


async def outcomes(pool: Pool, job_id: str) -> list[tuple[str | None, str | None]]:
    return [(one.outcome, one.error_code) for one in await attempts(pool, job_id)]
