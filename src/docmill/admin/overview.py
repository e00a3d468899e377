"""The installation at a glance: what the page, the API and the command show."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from typing import Any, Final

from pydantic import BaseModel, Field

from docmill.admin import queries
from docmill.admin.queries import (
    BrokenPromise,
    EndedMinute,
    FailureLine,
    KeyLine,
    ObjectCount,
    QueueLine,
    RecentError,
    StateCounts,
    StorageUse,
    UnfinishedJob,
    WorkerLine,
    Yield,
)
from docmill.core.jobs import MOVES
from docmill.core.owners import Owner
from docmill.db.pool import Connection, read_connection
from docmill.documents import sources
from docmill.documents.source_api import SourceModel, shape_source
from docmill.services import breaker
from docmill.web.auth import check_watcher
from docmill.web.params import Instant
from docmill.web.site import Site
from docmill.webhooks import outbox
from docmill.webhooks.outbox import OutboxState

LEGAL_MOVES: Final = sorted(f"{was} > {goes}" for was, goes in MOVES)
BREAKER_STATES: Final = ("closed", "half_open", "open")
ERRORS_SHOWN: Final = 20
JOBS_SHOWN: Final = 20


class BreakerLine(BaseModel):
    """A service as its worst-off living worker sees it."""

    service: str
    state: str = Field(examples=["closed"])
    since: Instant | None = Field(description="Since when it has not been closed")
    reason: str
    paused: bool = Field(description="By an operator; jobs that need it wait")
    paused_by: str | None
    paused_at: Instant | None


class Overview(BaseModel):
    """Everything is of now, but for documents (see `since`) and the last hour's minutes."""

    pipelines: list[QueueLine]
    owners: list[QueueLine] = Field(description="The ten with most work")
    minutes: list[EndedMinute] = Field(description="The last hour; seconds from queue to end")
    workers: list[WorkerLine]
    breakers: list[BreakerLine]
    failures: list[FailureLine] = Field(description="Of the 5,000 newest failed jobs")
    errors: list[RecentError]
    jobs: list[UnfinishedJob] = Field(description="What runs, and what is next")
    documents: StateCounts
    storage: StorageUse
    webhooks: OutboxState
    sources: list[SourceModel]
    yields: Yield
    objects: list[ObjectCount]
    keys: list[KeyLine] = Field(description="Those that are good, the last used first")
    broken: list[BrokenPromise] = Field(
        description="Promises that are broken: `lost`, `doubled`, `illegal`; empty is well"
    )


async def load_overview(site: Site, owner: Owner) -> Overview:
    """In one go: three connections read at the same time, each a third of the page."""
    check_watcher(owner)
    parts = await asyncio.gather(
        _read(site, partial(_load_queue, site)),
        _read(site, partial(_load_ended, site)),
        _read(site, partial(_load_surroundings, owner)),
    )
    return Overview.model_validate({name: part for found in parts for name, part in found.items()})


Part = dict[str, Any]


async def _read(site: Site, load: Callable[[Connection], Awaitable[Part]]) -> Part:
    async with read_connection(site.pool) as conn:
        return await load(conn)


async def _load_queue(site: Site, conn: Connection) -> Part:
    pipelines, owners = await queries.count_queue(conn)
    names = sorted(site.catalog.accepts)
    return {
        "pipelines": pipelines,
        "owners": owners,
        "jobs": await queries.list_active(conn, names, JOBS_SHOWN),
        "workers": await queries.list_workers(conn),
        "storage": await queries.measure_storage(conn),
    }


async def _load_ended(site: Site, conn: Connection) -> Part:
    return {
        "minutes": await queries.count_ended(conn, sorted(site.catalog.accepts)),
        "failures": await queries.count_failures(conn),
        "errors": await queries.list_errors(conn, ERRORS_SHOWN),
    }


async def _load_surroundings(owner: Owner, conn: Connection) -> Part:
    everybody = replace(owner, admin=True)  # who only looks sees the sources of all desks too
    return {
        "broken": await queries.find_broken(conn, LEGAL_MOVES),
        "documents": await queries.count_states(conn),
        "breakers": [_shape_breaker(one) for one in await breaker.read_states(conn)],
        "webhooks": await outbox.measure(conn),
        "yields": await queries.measure_yield(conn),
        "objects": await queries.count_objects(conn),
        "keys": await queries.list_keys(conn),
        "sources": [shape_source(row) for row in await sources.list_rows(conn, everybody)],
    }


REASONS: Final = {
    "closed": "",
    "half_open": "One call tries whether it is well again.",
    "open": "Most calls of the last minutes failed; it is left alone.",
}


def _shape_breaker(one: breaker.ServiceState) -> BreakerLine:
    state = BREAKER_STATES[one.level]
    return BreakerLine(
        service=one.service, state=state, since=one.failing_from,
        reason=one.pause_reason or REASONS[state], paused=one.paused_at is not None,
        paused_by=one.paused_by, paused_at=one.paused_at,
    )  # fmt: skip
