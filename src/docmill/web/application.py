"""create_app(): a web application from its site and the rooms' routers."""

from collections.abc import AsyncGenerator, Callable, Coroutine, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, suppress
from typing import Any, Final

from fastapi import APIRouter, Depends, FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from fastapi.telemetry import TelemetryConfig
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from docmill import __version__
from docmill.core.faults import DocmillError
from docmill.db.pool import connection
from docmill.web import docs_page, error_pages, health, render
from docmill.web.cors import Origins
from docmill.web.middleware import Hosts, RequestMiddleware
from docmill.web.openapi import make_openapi
from docmill.web.params import check_texts
from docmill.web.site import Site

ExceptionHandler = Callable[[Request, Any], Coroutine[Any, Any, Response]]
EXCEPTION_HANDLERS: Final[dict[int | type[Exception], ExceptionHandler]] = {
    DocmillError: error_pages.show_fault,
    RequestValidationError: error_pages.show_invalid,
    HTTPException: error_pages.show_refused,
}

# Spans are ours (docmill/tracing.py): FastAPI's own would tell addresses and exceptions.
NO_TELEMETRY: Final[TelemetryConfig] = {"tracing": False, "metrics": False, "logs": False}


class FirstRoutes:
    """Routes that are found by how their address begins, before FastAPI looks for any.

    Looking takes it longer than a polled route takes to answer. Such a route is a GET, has one
    parameter at its end, and finds what its endpoint takes by itself.
    """

    def __init__(self, app: ASGIApp, routes: Iterable[APIRoute]) -> None:
        self._app: ASGIApp = app
        self._routes: Mapping[str, tuple[APIRoute, str]] = dict(map(_cut_path, routes))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        start, _, last = scope["path"].rpartition("/")
        found = self._routes.get(start)
        if found is None or not last or scope["method"] != "GET":
            await self._app(scope, receive, send)
            return
        route, param = found
        scope["route"], scope["path_params"] = route, {param: last}
        try:
            await route.handle(scope, receive, send)
        except DocmillError as exc:
            answer = await error_pages.show_fault(Request(scope), exc)
            await answer(scope, receive, send)


def _cut_path(route: APIRoute) -> tuple[str, tuple[APIRoute, str]]:
    start, _, last = route.path.rpartition("/")
    return start, (route, last.strip("{}"))


def create_app(
    site: Site,
    routers: Iterable[APIRouter],
    packages: Iterable[str] = (),
    running: Iterable[AbstractAsyncContextManager[object]] = (),
    first: Iterable[APIRoute] = (),
) -> FastAPI:
    """`packages` have templates and static files of their own.

    `running` is entered when the application starts and left when it stops; `first` are those of
    the routers' routes that are asked for most.
    """
    render.add_rooms(packages)
    app = FastAPI(
        title="docmill",
        version=__version__,
        summary="Documents in, data out, durably.",
        lifespan=_lifespan_of(site, list(running)),
        docs_url=None,  # FastAPI's pages load their scripts from a CDN
        redoc_url=None,
        redirect_slashes=False,
        exception_handlers=EXCEPTION_HANDLERS,
        telemetry=NO_TELEMETRY,
        dependencies=[Depends(check_texts)],
    )
    app.openapi = make_openapi(app)
    app.state.site = site
    app.state.fault_facts = {"maxSize": site.config.max_upload_bytes}
    app.add_middleware(FirstRoutes, routes=first)
    app.add_middleware(
        RequestMiddleware,
        metrics=site.metrics,
        under_way=site.under_way,
        hosts=Hosts(site.config.hosts),
        origins=Origins(site.config.origins),
    )
    for router in (*routers, health.router, docs_page.router):
        app.include_router(router)
    app.mount("/static", render.StaticAssets(), name="static")
    return app


def _lifespan_of(
    site: Site, running: list[AbstractAsyncContextManager[object]]
) -> Callable[[FastAPI], AbstractAsyncContextManager[None]]:
    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncGenerator[None]:
        with suppress(DocmillError):
            async with connection(site.pool) as conn:
                await site.metrics.begin(conn)
            await site.auth.sessions.prepare()
        async with AsyncExitStack() as stack:
            for each in running:
                await stack.enter_async_context(each)
            yield

    return lifespan
