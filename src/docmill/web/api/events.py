"""GET /api/events: the owner's job changes as server-sent events, from where the client was."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import suppress
from datetime import UTC, datetime
from typing import Annotated, Final

from fastapi import APIRouter, Header, Query
from starlette.responses import Response, StreamingResponse

from docmill.core.faults import Faulted
from docmill.core.jobs import Job
from docmill.core.owners import Owner
from docmill.db import lists
from docmill.db.lists import Filter
from docmill.db.pool import reading
from docmill.web import asking, problems
from docmill.web.deps import Asker, Here, Site
from docmill.web.shapes import iso, shape

router = APIRouter(prefix="/api", tags=["jobs"])

Draw = Callable[[Job], Awaitable[str]]

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
        200: {"description": "Events named `job`, each a job", "content": {"text/event-stream": {}}}
    },
)
async def job_events(
    here: Here,
    owner: Asker,
    since: Annotated[str | None, Query(description="Begin after this time, not now")] = None,
    last_event_id: Annotated[str | None, Header()] = None,
) -> Response:
    async def draw(job: Job) -> str:
        return (await shape(job, here.paces)).model_dump_json()

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


async def changes(here: Site, owner: Owner, since: datetime, draw: Draw) -> AsyncGenerator[bytes]:
    """Nothing is queued per client: who is slow or was away asks the database from his own time."""
    yield b"retry: 2000\n\n"
    with here.live.waiting(owner.key) as waiter:
        while not here.live.closed:
            try:
                changed = await _changed(here, owner, since)
            except Faulted:
                yield b": the database is away\n\n"
                await waiter.wait(OUTAGE_SECONDS)
                continue
            for job in changed:
                since = job.updated_at
                yield event("job", iso(since), await draw(job))
            if len(changed) < PAGE and not await waiter.wait(HEARTBEAT_SECONDS):
                yield b": still here\n\n"


async def _changed(here: Site, owner: Owner, since: datetime) -> list[Job]:
    async with reading(here.services.pool) as conn:
        return await lists.changed(conn, owner.key, Filter(), since=since, limit=PAGE)


def event(name: str, number: str, data: str) -> bytes:
    lines = "".join(f"data: {line}\n" for line in data.splitlines())
    return f"event: {name}\nid: {number}\n{lines}\n".encode()
