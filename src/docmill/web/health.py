"""For those who watch: is the process alive, can it work, and what do its meters say."""

import time
from contextlib import suppress
from typing import Any, Final

from fastapi import APIRouter
from prometheus_client import CONTENT_TYPE_LATEST
from pydantic import BaseModel, Field
from starlette.responses import JSONResponse, Response

from docmill import __version__
from docmill.core.faults import DocmillError
from docmill.core.parts import OK, Parts
from docmill.db import wall
from docmill.db.pool import connection
from docmill.web.readiness import Readiness
from docmill.web.siblings import merge_metrics
from docmill.web.site import CurrentSite, Site

router = APIRouter(tags=["health"])

STARTED: Final = time.monotonic()


class Health(BaseModel):
    status: str = Field(examples=["ok", "failing"])
    version: str
    uptime_seconds: float
    parts: dict[str, str] = Field(
        default={}, description="What runs in this process", examples=[{"worker": "ok"}]
    )


class Ready(BaseModel):
    status: str = Field(examples=["ready", "not ready"])
    parts: dict[str, str] = Field(examples=[{"database": "ok", "store": "ok"}])


FAILING: Final[dict[int | str, dict[str, Any]]] = {
    503: {"model": Health, "description": "A part of the process ended and has not come back yet"}
}


@router.get(
    "/health",
    summary="Is the process alive, with all its parts?",
    response_model=Health,
    responses=FAILING,
)
@router.get(
    "/api/healthz",
    summary="Is the process alive, with all its parts?",
    response_model=Health,
    responses=FAILING,
)
async def health(site: CurrentSite) -> Response:
    return answer_health(site.parts)


def answer_health(parts: Parts) -> Response:
    body = Health(
        status="ok" if parts.all_run else "failing",
        version=__version__,
        uptime_seconds=round(time.monotonic() - STARTED, 1),
        parts=parts.states,
    )
    return JSONResponse(body.model_dump(), 200 if parts.all_run else 503)


@router.get(
    "/ready",
    summary="Can it work? Its parts are named; database, schema and store are tried",
    response_model=Ready,
    responses={503: {"model": Ready, "description": "Not all parts are there"}},
)
async def ready(site: CurrentSite) -> Response:
    return await answer_ready(site.readiness)


async def answer_ready(readiness: Readiness) -> Response:
    parts = await readiness.parts()
    good = all(state == OK for state in parts.values())
    body = Ready(status="ready" if good else "not ready", parts=parts)
    return JSONResponse(body.model_dump(), 200 if good else 503)


@router.get("/metrics", summary="For Prometheus", response_class=Response)
async def metrics(site: CurrentSite) -> Response:
    if not site.config.metrics:
        raise DocmillError("NOT_FOUND", "DOCMILL_METRICS is off")
    siblings = site.config.siblings
    text = await (merge_metrics(siblings) if siblings else measure(site))
    return Response(text, media_type=CONTENT_TYPE_LATEST)


async def measure(site: Site) -> bytes:
    """What this process counts, brought up to date."""
    await _measure_queue(site)
    await _measure_store(site)
    await site.cache.get("metrics")  # so that it is known whether it answers
    return site.metrics.text()


async def _measure_queue(site: Site) -> None:
    site.metrics.database_up.set(0)
    with suppress(DocmillError), wall.beyond():
        async with connection(site.pool) as conn:
            counts = await site.metrics.collect(conn)
        for count in counts:
            count()
        site.metrics.database_up.set(1)


async def _measure_store(site: Site) -> None:
    with suppress(DocmillError):
        fullness = await site.store.fullness()
        if fullness is not None:
            site.metrics.fullness.set(fullness)
            site.metrics.paused.set(fullness > site.config.disk_limit)
            site.metrics.pressed.set(site.config.retention.is_pressed(fullness))
