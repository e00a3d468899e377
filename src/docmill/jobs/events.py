"""GET /api/events: the owner's job changes as server-sent events, from where the client was."""

import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Final

from fastapi import APIRouter, Header, Query
from starlette.responses import Response, StreamingResponse

from docmill.core.faults import DocmillError
from docmill.core.jobs import Job, JobId
from docmill.core.owners import Owner
from docmill.db.pool import read_connection
from docmill.jobs import queries
from docmill.jobs.api import build_job
from docmill.jobs.estimator import Estimator
from docmill.jobs.live import LiveChanges
from docmill.jobs.queries import JobFilter
from docmill.web import params, problems
from docmill.web.params import format_instant
from docmill.web.site import CurrentOwner, CurrentSite, Site

router = APIRouter(prefix="/api", tags=["jobs"])


@dataclass(frozen=True, slots=True)
class ServerEvent:
    """One event: its name and what it says."""

    name: str
    data: str


DrawJob = Callable[[Job], Awaitable[ServerEvent]]
DatedEvent = tuple[datetime, ServerEvent]

HEARTBEAT_SECONDS: Final = 15.0
OUTAGE_SECONDS: Final = 2.0
PAGE: Final = 100
HEADERS: Final = {"cache-control": "no-store", "x-accel-buffering": "no"}


@router.get(
    "/events",
    summary="The owner's job changes, live",
    response_class=Response,
    responses=problems.fault_responses("UNAUTHORIZED", "DATABASE_DOWN")
    | {
        200: {
            "description": "Events named `job`, each a job, and `deleted`, each with a job's `id`",
            "content": {"text/event-stream": {}},
        }
    },
)
async def job_events(
    site: CurrentSite,
    owner: CurrentOwner,
    since: Annotated[
        params.MomentText | None, Query(description="Begin after this time, not now")
    ] = None,
    last_event_id: Annotated[str | None, Header()] = None,
) -> Response:
    async def draw(job: Job) -> ServerEvent:
        return ServerEvent("job", (await build_job(job, site.find(Estimator))).model_dump_json())

    begin = await find_start(site, owner, last_event_id or since)
    stream = stream_changes(site, owner, begin, draw)
    return StreamingResponse(stream, media_type="text/event-stream", headers=HEADERS)


async def find_start(site: Site, owner: Owner, given: str | None) -> datetime:
    """A browser never recovers from a refusal, so a time that makes no sense means now."""
    if given:
        with suppress(DocmillError):
            return params.parse_instant(given, at="since")
    async with read_connection(site.pool) as conn:
        clocks = await queries.read_clocks(conn, [owner.key])
    return clocks.get(owner.key, datetime.fromtimestamp(0, UTC))


async def stream_changes(
    site: Site, owner: Owner, since: datetime, draw: DrawJob, *, beat: bytes = b": still here\n\n"
) -> AsyncGenerator[bytes]:
    """Nothing is queued per client: who is slow or was away asks the database from his own time."""
    yield b"retry: 2000\n\n"
    with site.find(LiveChanges).waiting(owner.key) as waiter:
        while not site.find(LiveChanges).closed:
            try:
                told = await list_news(site, owner, since, draw)
            except DocmillError:
                yield b": the database is away\n\n"
                await waiter.wait(OUTAGE_SECONDS)
                continue
            for since, one in told:
                yield encode_event(one.name, format_instant(since), one.data)
            if len(told) < PAGE and not await waiter.wait(HEARTBEAT_SECONDS):
                yield beat


async def list_news(site: Site, owner: Owner, since: datetime, draw: DrawJob) -> list[DatedEvent]:
    """What changed and what was deleted after a time, oldest first; a page's worth at most.

    A deletion later than all that was read before it waits: changes between would be passed over.
    """
    async with read_connection(site.pool) as conn:
        clocks = await queries.read_clocks(conn, [owner.key])
        changed = await queries.list_changed(conn, owner.key, JobFilter(), since=since, limit=PAGE)
        gone = await queries.list_deleted(conn, owner.key, since=since, limit=PAGE)
    until = max([since, *clocks.values(), *(job.updated_at for job in changed[-1:])])
    told = [(job.updated_at, await draw(job)) for job in changed]
    told += [
        (each.deleted_at, deletion_event(each.job_id)) for each in gone if each.deleted_at <= until
    ]
    return sorted(told, key=lambda one: one[0])[:PAGE]


def deletion_event(job_id: JobId) -> ServerEvent:
    return ServerEvent("deleted", json.dumps({"id": str(job_id)}))


def encode_event(name: str, number: str, data: str) -> bytes:
    lines = "".join(f"data: {line}\n" for line in data.splitlines())
    return f"event: {name}\nid: {number}\n{lines}\n".encode()
