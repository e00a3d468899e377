"""For those who watch: is the process alive, can it work, and what do its meters say."""

import time
from contextlib import suppress
from typing import Final

from fastapi import APIRouter
from prometheus_client import CONTENT_TYPE_LATEST
from pydantic import BaseModel, Field
from starlette.responses import JSONResponse, Response

from docmill import __version__
from docmill.core.faults import Faulted
from docmill.db.pool import connection
from docmill.web.deps import Here, Site
from docmill.web.readiness import OK

router = APIRouter(tags=["health"])

STARTED: Final = time.monotonic()


class Health(BaseModel):
    status: str = Field(examples=["ok"])
    version: str
    uptime_seconds: float


class Ready(BaseModel):
    status: str = Field(examples=["ready", "not ready"])
    parts: dict[str, str] = Field(examples=[{"database": "ok", "store": "ok"}])


@router.get("/health", summary="Is the process alive?")
@router.get("/api/healthz", summary="Is the process alive?")
async def health() -> Health:
    uptime = round(time.monotonic() - STARTED, 1)
    return Health(status="ok", version=__version__, uptime_seconds=uptime)


@router.get(
    "/ready",
    summary="Can it work? Database, schema and store are tried",
    response_model=Ready,
    responses={503: {"model": Ready, "description": "Not all parts are there"}},
)
async def ready(here: Here) -> Response:
    parts = await here.readiness.parts()
    good = all(state == OK for state in parts.values())
    body = Ready(status="ready" if good else "not ready", parts=parts)
    return JSONResponse(body.model_dump(), 200 if good else 503)


@router.get("/metrics", summary="For Prometheus", response_class=Response)
async def metrics(here: Here) -> Response:
    await _look_at_queue(here)
    await _look_at_store(here)
    return Response(here.meters.text(), media_type=CONTENT_TYPE_LATEST)


async def _look_at_queue(here: Site) -> None:
    here.meters.database_up.set(0)
    with suppress(Faulted):
        async with connection(here.services.pool) as conn:
            await here.meters.catch_up(conn)
        here.meters.database_up.set(1)


async def _look_at_store(here: Site) -> None:
    with suppress(Faulted):
        fullness = await here.services.store.fullness()
        if fullness is not None:
            here.meters.fullness.set(fullness)
            here.meters.paused.set(fullness > here.rules.disk_limit)
