"""The installation at a glance: what the page, the API and the command show."""

from typing import Final

from pydantic import BaseModel, Field

from docmill.admin import queries
from docmill.admin.queries import (
    BrokenPromise,
    EndedMinute,
    FailureLine,
    QueueLine,
    RecentError,
    RunningJob,
    StateCounts,
    StorageUse,
    WorkerLine,
)
from docmill.core.jobs import MOVES
from docmill.core.owners import Owner
from docmill.db.pool import Connection, read_connection
from docmill.documents import sources
from docmill.documents.source_api import SourceModel, shape_source
from docmill.services import breaker
from docmill.web.auth import check_admin
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


class Overview(BaseModel):
    """Everything is of now, but for documents (see `since`) and the last hour's minutes."""

    pipelines: list[QueueLine]
    owners: list[QueueLine] = Field(description="The ten with most work")
    minutes: list[EndedMinute] = Field(description="The last hour; seconds from queue to end")
    workers: list[WorkerLine]
    breakers: list[BreakerLine]
    failures: list[FailureLine] = Field(description="Of the 5,000 newest failed jobs")
    errors: list[RecentError]
    jobs: list[RunningJob] = Field(description="What runs, and what is next")
    documents: StateCounts
    storage: StorageUse
    webhooks: OutboxState
    sources: list[SourceModel]
    broken: list[BrokenPromise] = Field(
        description="Promises that are broken: `lost`, `doubled`, `illegal`; empty is well"
    )


async def load_overview(site: Site, owner: Owner) -> Overview:
    check_admin(owner)
    async with read_connection(site.pool) as conn:
        return await _load(conn, site, owner)


async def _load(conn: Connection, site: Site, owner: Owner) -> Overview:
    names = sorted(site.catalog.accepts)
    pipelines, owners = await queries.count_queue(conn)
    return Overview(
        pipelines=pipelines,
        owners=owners,
        minutes=await queries.count_ended(conn, names),
        workers=await queries.list_workers(conn),
        breakers=[_shape_breaker(one) for one in await breaker.read_states(conn)],
        failures=await queries.count_failures(conn),
        errors=await queries.list_errors(conn, ERRORS_SHOWN),
        jobs=await queries.list_active(conn, names, JOBS_SHOWN),
        documents=await queries.count_states(conn),
        storage=await queries.measure_storage(conn),
        webhooks=await outbox.measure(conn),
        sources=[shape_source(row) for row in await sources.list_rows(conn, owner)],
        broken=await queries.find_broken(conn, LEGAL_MOVES),
    )


REASONS: Final = {
    "closed": "",
    "half_open": "One call tries whether it is well again.",
    "open": "Most calls of the last minutes failed; it is left alone.",
}


def _shape_breaker(one: breaker.ServiceState) -> BreakerLine:
    state = BREAKER_STATES[one.level]
    return BreakerLine(
        service=one.service, state=state, since=one.failing_from, reason=REASONS[state]
    )
