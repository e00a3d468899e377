"""create(): the web application from its services and rules."""

from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from typing import Any, Final

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from docmill import __version__
from docmill.core import owners
from docmill.core.faults import Faulted
from docmill.db.pool import connection
from docmill.web.api import (
    buckets,
    catalog,
    docling,
    documents,
    events,
    exports,
    files,
    health,
    jobs,
    lessons,
    originals,
    pages,
    partial,
    profile,
    results,
    reviews,
    search,
    trades,
    upload,
)
from docmill.web.auth import Tokens
from docmill.web.confined import Confined, Views, nobody
from docmill.web.contract import openapi_of
from docmill.web.deps import Site
from docmill.web.edge import Edge
from docmill.web.finding import Embed, embed_here
from docmill.web.links import Links
from docmill.web.live import Live
from docmill.web.metrics import Meters
from docmill.web.paces import Paces
from docmill.web.pages import bucket, docs, job, mistakes, queue, render, study
from docmill.web.pages import review as review_page
from docmill.web.pages import search as search_page
from docmill.web.pages import trades as trades_page
from docmill.web.readiness import Readiness
from docmill.web.rules import Rules
from docmill.web.watched import Watched
from docmill.wiring import Services

__all__ = ["Rules", "create"]

PARTS: Final = (
    upload, jobs, results, partial, originals, files, buckets, exports, reviews, lessons, pages,
    trades, documents, search, events, catalog, profile, health, queue, job, review_page,
    trades_page, bucket, search_page, study, docs,
)  # fmt: skip

Tell = Callable[[Request, Any], Coroutine[Any, Any, Response]]
MISTAKES: Final[dict[int | type[Exception], Tell]] = {
    Faulted: mistakes.faulted,
    RequestValidationError: mistakes.invalid,
    HTTPException: mistakes.refused,
}


def create(
    services: Services,
    rules: Rules,
    confined: Confined = nobody,
    *,
    embed: Embed = embed_here,
    watched: Watched | None = None,
) -> FastAPI:
    """`embed` makes the vectors of what people search for."""
    app = _empty()
    app.state.site = site = Site(
        services=services,
        rules=rules,
        live=Live(services.pool, services.listen_url),
        paces=Paces(services.pool),
        meters=Meters(),
        tokens=Tokens(rules.tokens),
        readiness=Readiness(services),
        embed=embed,
        confined=confined,
        views=Views(confined, services.store),
        links=Links(services.store),
        watched=watched or Watched(owners.desk("trading")),
    )
    app.add_middleware(Edge, meters=site.meters, under_way=site.under_way)
    for part in (*PARTS, docling) if rules.docling else PARTS:
        app.include_router(part.router)
    app.mount("/static", render.Files(directory=render.STATIC), name="static")
    return app


def _empty() -> FastAPI:
    app = FastAPI(
        title="docmill",
        version=__version__,
        summary="Documents in, data out, durably.",
        lifespan=_lifespan,
        docs_url=None,  # FastAPI's pages load their scripts from a CDN
        redoc_url=None,
        redirect_slashes=False,
        exception_handlers=MISTAKES,
    )
    app.openapi = openapi_of(app)
    return app


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncGenerator[None]:
    site: Site = app.state.site
    with suppress(Faulted):
        async with connection(site.services.pool) as conn:
            await site.meters.begin(conn)
    try:
        async with site.live.running():
            yield
    finally:
        await site.watched.stop()
