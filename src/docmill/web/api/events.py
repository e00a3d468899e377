"""GET /api/events: the owner's job changes as server-sent events, from where the client was."""

import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Final

from fastapi import APIRouter, Header, Query
from starlette.responses import Response, StreamingResponse

from docmill.core.faults import Faulted
from docmill.core.jobs import Job, JobId
from docmill.core.owners import Owner
from docmill.db import lists
from docmill.db.lists import Filter
from docmill.db.pool import reading
from docmill.web import asking, problems
from docmill.web.deps import Asker, Here, Site
from docmill.web.shapes import iso, shape

router = APIRouter(prefix="/api", tags=["jobs"])


@dataclass(frozen=True, slots=True)
class Told:
    """One event: its name and what it says."""

    name: str
    data: str


Draw = Callable[[Job], Awaitable[Told]]
News = tuple[datetime, Told]

HEARTBEAT_SECONDS: Final = 15.0
OUTAGE_SECONDS: Final = 2.0
PAGE: Final = 100
HEADERS: Final = {"cache-control": "no-store", "x-accel-buffering": "no"}


@router.get(
    "/events",
    summary="The owner's job changes, live",
    response_class=Response,
    responses=problems.documented("UNAUTHORIZED", "DATABASE_DOWN")
    | {
        200: {
            "description": "Events named `job`, each a job, and `deleted`, each with a job's `id`",
            "content": {"text/event-stream": {}},
        }
    },
)
async def job_events(
    here: Here,
    owner: Asker,
    since: Annotated[str | None, Query(description="Begin after this time, not now")] = None,
    last_event_id: Annotated[str | None, Header()] = None,
) -> Response:
    async def draw(job: Job) -> Told:
        return Told("job", (await shape(job, here.paces)).model_dump_json())

    begin = await beginning(here, owner, last_event_id or since)
    stream = changes(here, owner, begin, draw)
    return StreamingResponse(stream, media_type="text/event-stream", headers=HEADERS)


async def beginning(here: Site, owner: Owner, given: str | None) -> datetime:
    """A browser never recovers from a refusal, so a time that makes no sense means now."""
    if given:
        with suppress(Faulted):
            return asking.instant(given, at="since")
    async with reading(here.services.pool) as conn:
        clocks = await lists.clocks(conn, [owner.key])
    return clocks.get(owner.key, datetime.fromtimestamp(0, UTC))


async def changes(
    here: Site, owner: Owner, since: datetime, draw: Draw, *, beat: bytes = b": still here\n\n"
) -> AsyncGenerator[bytes]:
    """Nothing is queued per client: who is slow or was away asks the database from his own time."""
    yield b"retry: 2000\n\n"
    with here.live.waiting(owner.key) as waiter:
        while not here.live.closed:
            try:
                told = await news(here, owner, since, draw)
            except Faulted:
                yield b": the database is away\n\n"
                await waiter.wait(OUTAGE_SECONDS)
                continue
            for since, one in told:
                yield event(one.name, iso(since), one.data)
            if len(told) < PAGE and not await waiter.wait(HEARTBEAT_SECONDS):
                yield beat


async def news(here: Site, owner: Owner, since: datetime, draw: Draw) -> list[News]:
    """What changed and what was deleted after a time, oldest first; a page's worth at most.

    A deletion later than all that was read before it waits: changes between would be passed over.
    """
    async with reading(here.services.pool) as conn:
        clocks = await lists.clocks(conn, [owner.key])
        changed = await lists.changed(conn, owner.key, Filter(), since=since, limit=PAGE)
        gone = await lists.deleted(conn, owner.key, since=since, limit=PAGE)
    until = max([since, *clocks.values(), *(job.updated_at for job in changed[-1:])])
    told = [(job.updated_at, await draw(job)) for job in changed]
    told += [(each.deleted_at, deleted(each.job_id)) for each in gone if each.deleted_at <= until]
    return sorted(told, key=lambda one: one[0])[:PAGE]


def deleted(job_id: JobId) -> Told:
    return Told("deleted", json.dumps({"id": str(job_id)}))


def event(name: str, number: str, data: str) -> bytes:
    lines = "".join(f"data: {line}\n" for line in data.splitlines())
    return f"event: {name}\nid: {number}\n{lines}\n".encode()
