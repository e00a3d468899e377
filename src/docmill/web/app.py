"""create(): the web application from its services and rules."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from typing import Final

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from docmill import __version__
from docmill.core.faults import Faulted
from docmill.db.pool import connection
from docmill.web import problems
from docmill.web.api import (
    catalog,
    docling,
    events,
    exports,
    health,
    jobs,
    profile,
    results,
    search,
    upload,
)
from docmill.web.auth import Tokens
from docmill.web.contract import openapi_of
from docmill.web.deps import Site
from docmill.web.edge import Edge
from docmill.web.finding import Embed, embed_here
from docmill.web.live import Live
from docmill.web.metrics import Meters
from docmill.web.paces import Paces
from docmill.web.pages import docs, queue, render, study
from docmill.web.readiness import Readiness
from docmill.web.rules import Rules
from docmill.wiring import Services

__all__ = ["Rules", "create"]

PARTS: Final = (
    upload,
    jobs,
    results,
    exports,
    events,
    catalog,
    profile,
    search,
    health,
    queue,
    docs,
    study,
)


def create(services: Services, rules: Rules, *, embed: Embed = embed_here) -> FastAPI:
    """`embed` makes the vectors of what people search for."""
    site = Site(
        services=services,
        rules=rules,
        live=Live(services.pool, services.listen_url),
        paces=Paces(services.pool),
        meters=Meters(),
        tokens=Tokens(rules.tokens),
        readiness=Readiness(services),
        embed=embed,
    )
    app = FastAPI(
        title="docmill",
        version=__version__,
        summary="Documents in, data out, durably.",
        lifespan=_lifespan,
        docs_url=None,  # FastAPI's pages load their scripts from a CDN
        redoc_url=None,
        redirect_slashes=False,
    )
    app.state.site = site
    app.openapi = openapi_of(app)
    app.add_exception_handler(Faulted, problems.faulted)
    app.add_exception_handler(RequestValidationError, problems.invalid)
    app.add_exception_handler(HTTPException, problems.refused)
    app.add_middleware(Edge, meters=site.meters, under_way=site.under_way)
    for part in PARTS:
        app.include_router(part.router)
    if rules.docling:
        app.include_router(docling.router)
    app.mount("/static", render.Files(directory=render.STATIC), name="static")
    return app


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncGenerator[None]:
    site: Site = app.state.site
    with suppress(Faulted):
        async with connection(site.services.pool) as conn:
            await site.meters.begin(conn)
    async with site.live.running():
        yield
