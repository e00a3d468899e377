"""What every route works with, who is asking, and the check that a job is the asker's."""

import asyncio
from dataclasses import dataclass, field
from typing import Annotated
from uuid import UUID

from fastapi import Depends
from starlette.requests import Request

from docmill.core.documents import clean_text
from docmill.core.faults import Faulted
from docmill.core.jobs import Job, JobId
from docmill.core.owners import Owner, may_see
from docmill.db import jobs
from docmill.db.pool import Connection
from docmill.web import auth
from docmill.web.confined import Confined, Views
from docmill.web.finding import Embed
from docmill.web.links import Links
from docmill.web.live import Live
from docmill.web.metrics import Meters
from docmill.web.paces import Paces
from docmill.web.readiness import Readiness
from docmill.web.rules import Rules
from docmill.web.watched import Watched
from docmill.wiring import Services


@dataclass(frozen=True, slots=True)
class Site:
    """One application: the services, the rules, and what this process keeps in memory."""

    services: Services
    rules: Rules
    live: Live
    paces: Paces
    meters: Meters
    tokens: auth.Tokens
    readiness: Readiness
    embed: Embed
    confined: Confined
    views: Views
    links: Links
    watched: Watched
    # Writing a thousand invoices takes seconds of a core, and their memory.
    exporting: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(2))
    under_way: set[asyncio.Task[object]] = field(default_factory=set[asyncio.Task[object]])


async def the_site(request: Request) -> Site:
    return request.app.state.site


Here = Annotated[Site, Depends(the_site)]


async def the_asker(request: Request, here: Here) -> Owner:
    owner = await auth.owner_of(request, here.rules, here.tokens)
    request.state.owner = owner.key
    return owner


Asker = Annotated[Owner, Depends(the_asker)]


async def own_job(conn: Connection, owner: Owner, job_id: str) -> Job:
    """The job, if there is one and it is the asker's."""
    job = await _job(conn, job_id)
    if job.owner != owner.key:
        raise Faulted("FORBIDDEN", jobId=str(job.id))
    return job


async def seen_job(conn: Connection, owner: Owner, job_id: str) -> Job:
    """The job, if there is one and the asker may look at it: it may be a desk's."""
    job = await _job(conn, job_id)
    if not may_see(owner, job.owner):
        raise Faulted("FORBIDDEN", jobId=str(job.id))
    return job


async def _job(conn: Connection, job_id: str) -> Job:
    try:
        job = await jobs.one(conn, JobId(UUID(job_id)))
    except ValueError:
        job = None
    if job is None:
        raise Faulted("JOB_NOT_FOUND", jobId=clean_text(job_id)[:64])
    return job
