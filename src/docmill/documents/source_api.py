"""Sources in the API: which buckets are watched, how each stands, and their pause."""

from fastapi import APIRouter
from pydantic import BaseModel, Field

from docmill.core.faults import DocmillError
from docmill.core.owners import Owner
from docmill.core.texts import clean_text
from docmill.db import audit
from docmill.db.audit import AuditedAction
from docmill.db.pool import Connection, read_connection, write
from docmill.documents import sources
from docmill.documents.sources import SourceRow
from docmill.web import auth, problems
from docmill.web.params import Instant
from docmill.web.site import CurrentOwner, CurrentSite, Site

router = APIRouter(prefix="/api/sources", tags=["bucket"])


class SourceModel(BaseModel):
    """A watched bucket. While it is paused nothing new is taken from it."""

    name: str = Field(examples=["bucket"])
    bucket: str = Field(description="Its address, without secrets", examples=["s3://confirmations"])
    pipeline: str = Field(examples=["trades"])
    desk: str = Field(examples=["trading"])
    paused: bool
    paused_at: Instant | None
    paused_by: str | None
    looked_at: Instant | None = Field(description="When a poller looked last")
    problem: str | None = Field(description="What kept the last look from its work")


class SourceList(BaseModel):
    sources: list[SourceModel] = Field(description="Those that a poller has begun to watch")


def shape_source(row: SourceRow) -> SourceModel:
    return SourceModel(
        name=row.name,
        bucket=row.bucket,
        pipeline=row.pipeline,
        desk=row.owner.removeprefix("desk:"),
        paused=row.paused_at is not None,
        paused_at=row.paused_at,
        paused_by=row.paused_by,
        looked_at=row.looked_at,
        problem=row.problem,
    )


@router.get(
    "",
    summary="The watched buckets of one's desks; all of them for an administrator",
    responses=problems.fault_responses("UNAUTHORIZED", "DATABASE_DOWN", "BUSY"),
)
async def list_sources(site: CurrentSite, owner: CurrentOwner) -> SourceList:
    auth.widen_for_admin(owner)
    async with read_connection(site.pool) as conn:
        rows = await sources.list_rows(conn, owner)
    return SourceList(sources=[shape_source(row) for row in rows])


CHANGE_FAULTS = problems.fault_responses(
    "UNAUTHORIZED", "FORBIDDEN", "NOT_FOUND", "CROSS_SITE", "DATABASE_DOWN", "BUSY"
)


@router.post(
    "/{name}/pause",
    summary="Take nothing new from a source; what was taken goes on",
    responses=CHANGE_FAULTS,
)
async def pause_source(name: str, site: CurrentSite, owner: CurrentOwner) -> SourceModel:
    return shape_source(await change_pause(site, owner, name, paused=True))


@router.post(
    "/{name}/resume",
    summary="Take from a source again, what has come meanwhile first",
    responses=CHANGE_FAULTS,
)
async def resume_source(name: str, site: CurrentSite, owner: CurrentOwner) -> SourceModel:
    return shape_source(await change_pause(site, owner, name, paused=False))


async def change_pause(site: Site, owner: Owner, name: str, *, paused: bool) -> SourceRow:
    """All pollers see it with their next look. NOT_FOUND also for a source of another desk."""
    auth.widen_for_admin(owner)

    async def change(conn: Connection) -> SourceRow:
        was = await _find_row(conn, owner, name)
        await sources.set_paused(conn, name, paused=paused, by=owner.key)
        row = await _find_row(conn, owner, name)
        action = "source.pause" if paused else "source.resume"
        done = AuditedAction(owner.key, action, f"source:{name}")
        before, after = ({"paused_at": one.paused_at} for one in (was, row))
        await audit.record(conn, done, before=before, after=after)
        return row

    return await write(site.pool, change)


async def _find_row(conn: Connection, owner: Owner, name: str) -> SourceRow:
    for row in await sources.list_rows(conn, owner):
        if row.name == name:
            return row
    raise DocmillError("NOT_FOUND", source=clean_text(name)[:64])
