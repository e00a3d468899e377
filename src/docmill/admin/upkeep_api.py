"""/api/admin: retention and its sweeps, paused services, and what work cost."""

import math
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Annotated, ClassVar, Final

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request

from docmill.admin import cost, upkeep
from docmill.admin.api import ADMIN_FAULTS
from docmill.admin.cost import CostLine
from docmill.admin.upkeep import OwnRule, RetentionView
from docmill.db.pool import read_connection, write
from docmill.web import json_body, problems
from docmill.web.auth import check_admin, check_watcher
from docmill.web.params import Instant
from docmill.web.site import CurrentOwner, CurrentSite, Site

router = APIRouter(prefix="/api/admin", tags=["admin"])

RULE_FAULTS: Final = (*ADMIN_FAULTS, "BAD_REQUEST", "CROSS_SITE", "UNKNOWN_PIPELINE")
LONGEST_DAYS: Final = 36_500
MONTH: Final = timedelta(days=30)


@router.get(
    "/retention",
    summary="Periods, and what the next sweep would delete; for administrators",
    responses=problems.fault_responses(*ADMIN_FAULTS),
)
async def show_retention(site: CurrentSite, owner: CurrentOwner) -> RetentionView:
    """By kind and pipeline, with the rules as they are now. It looks at everything stored."""
    return await upkeep.load_retention(site, owner)


class SweepAnswer(BaseModel):
    asked: bool = Field(description="False where one is asked for already")


@router.post(
    "/sweep",
    summary="Enforce retention now; for administrators",
    status_code=202,
    responses=problems.fault_responses(*ADMIN_FAULTS, "CROSS_SITE"),
)
async def ask_sweep(site: CurrentSite, owner: CurrentOwner) -> SweepAnswer:
    """A worker or `docmill upkeep` begins within seconds; GET /api/admin/retention shows it."""
    return SweepAnswer(asked=await upkeep.ask_sweep(site, owner))


Days = Annotated[float, Field(gt=0, le=LONGEST_DAYS)]


class RuleWish(BaseModel):
    """How long an owner's documents are kept; null leaves it to the settings, `forever` is so."""

    model_config: ClassVar[ConfigDict] = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"owner": "user:ann", "uploads_days": 90}]}
    )

    owner: Annotated[str, Field(pattern=r"^(user|session|desk|local):.", max_length=200)]
    pipeline: Annotated[str, Field(max_length=64)] = ""
    uploads_days: Days | None = None
    results_days: Days | None = None
    forever: list[str] = Field(default_factory=list, description="Any of `uploads`, `results`")

    def as_rule(self) -> OwnRule:
        uploads = math.inf if "uploads" in self.forever else self.uploads_days
        results = math.inf if "results" in self.forever else self.results_days
        return OwnRule(self.owner, self.pipeline, uploads, results)


class RuleAnswer(BaseModel):
    owner: str
    pipeline: str
    set: bool = Field(description="False: the owner's rule was taken away")


@router.put(
    "/retention",
    summary="Set how long an owner's documents are kept; for administrators",
    openapi_extra=json_body.describe_body(RuleWish.model_json_schema()),
    responses=problems.fault_responses(*RULE_FAULTS),
)
async def set_rule(request: Request, site: CurrentSite, owner: CurrentOwner) -> RuleAnswer:
    """It holds from the next sweep on, for what is stored already too. Without any period the rule
    is taken away."""
    check_admin(owner)
    rule = (await json_body.read_json(request, RuleWish)).as_rule()
    is_set = await upkeep.set_rule(site, owner, rule)
    return RuleAnswer(owner=rule.owner, pipeline=rule.pipeline, set=is_set)


class PauseWish(BaseModel):
    model_config: ClassVar[ConfigDict] = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"reason": "Maintenance until 6."}]}
    )

    reason: Annotated[str, Field(min_length=1, max_length=200)]


class PauseAnswer(BaseModel):
    service: str
    paused: bool


@router.post(
    "/services/{service}/pause",
    summary="Leave a service alone until it is resumed; for administrators",
    openapi_extra=json_body.describe_body(PauseWish.model_json_schema()),
    responses=problems.fault_responses(
        *ADMIN_FAULTS, "BAD_REQUEST", "CROSS_SITE", "UNKNOWN_SERVICE"
    ),
)
async def pause_service(
    service: str, request: Request, site: CurrentSite, owner: CurrentOwner
) -> PauseAnswer:
    """Jobs that need it wait, and lose no attempt. Owners are shown the reason."""
    check_admin(owner)
    wish = await json_body.read_json(request, PauseWish)
    await upkeep.pause_service(site, owner, service, wish.reason)
    return PauseAnswer(service=service, paused=True)


@router.post(
    "/services/{service}/resume",
    summary="Ask a paused service again; for administrators",
    responses=problems.fault_responses(*ADMIN_FAULTS, "CROSS_SITE", "UNKNOWN_SERVICE"),
)
async def resume_service(service: str, site: CurrentSite, owner: CurrentOwner) -> PauseAnswer:
    """Its circuit is closed, whatever it was before the pause."""
    await upkeep.resume_service(site, owner, service)
    return PauseAnswer(service=service, paused=False)


class PricedCost(BaseModel):
    owner: str
    pipeline: str
    attempts: int
    jobs: int = Field(description="Those that ended; pages and bytes are of their documents")
    cpu_seconds: float
    pages: int
    bytes: int
    calls: int = Field(description="Calls of other people's services, at most 100 of each run")
    money: Decimal | None = Field(description="By DOCMILL_PRICES; null without any")


class CostView(BaseModel):
    since: Instant
    lines: list[PricedCost] = Field(description="The dearest first, at most 1000")


Since = Annotated[datetime | None, Query(description="From this hour on; default: 30 days ago")]


@router.get(
    "/cost",
    summary="What work cost by owner and pipeline; for administrators",
    responses=problems.fault_responses(*ADMIN_FAULTS),
)
async def show_cost(site: CurrentSite, owner: CurrentOwner, since: Since = None) -> CostView:
    """CPU seconds, pages, bytes and calls of services; money where prices are set."""
    check_watcher(owner)
    return await load_cost(site, since)


async def load_cost(site: Site, since: datetime | None) -> CostView:
    since = since or datetime.now(UTC) - MONTH
    since = since if since.tzinfo else since.replace(tzinfo=UTC)
    await write(site.pool, cost.sum_hours)
    async with read_connection(site.pool) as conn:
        lines = await cost.read_costs(conn, since)
    return CostView(since=since, lines=[_price(site, one) for one in lines])


def _price(site: Site, one: CostLine) -> PricedCost:
    return PricedCost(
        owner=one.owner, pipeline=one.pipeline, attempts=one.attempts, jobs=one.jobs,
        cpu_seconds=one.cpu_seconds, pages=one.pages, bytes=one.bytes, calls=one.calls,
        money=cost.price_line(one, site.config.prices),
    )  # fmt: skip
