"""create_app(): a web application from its site and the rooms' routers."""

from collections.abc import AsyncGenerator, Callable, Coroutine, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, suppress
from typing import Any, Final

from fastapi import APIRouter, Depends, FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi.middleware.asyncexitstack import AsyncExitStackMiddleware
from fastapi.routing import APIRoute
from fastapi.telemetry import TelemetryConfig
from starlette.exceptions import HTTPException
from starlette.middleware.exceptions import ExceptionMiddleware
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
    """Routes that are found by their address or how it begins, before FastAPI looks for any.

    Looking takes it longer than a polled route takes to answer. Such a route has one method and at
    most one parameter, at its end, and finds what its endpoint takes by itself.
    """

    def __init__(self, app: ASGIApp, routes: Iterable[APIRoute]) -> None:
        self._app: ASGIApp = app
        self._routes: Mapping[tuple[str, str], tuple[APIRoute, str]] = dict(map(_cut_path, routes))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        method, path = scope["method"], scope["path"]
        start, _, last = path.rpartition("/")
        if last and (found := self._routes.get((method, start))):
            route, param = found
            scope["route"], scope["path_params"] = route, {param: last}
        elif found := self._routes.get((method, path)):
            route, _ = found
            scope["route"], scope["path_params"] = route, {}
        else:
            await self._app(scope, receive, send)
            return
        try:
            await route.handle(scope, receive, send)
        except DocmillError as exc:
            answer = await error_pages.show_fault(Request(scope), exc)
            await answer(scope, receive, send)


def _cut_path(route: APIRoute) -> tuple[tuple[str, str], tuple[APIRoute, str]]:
    (method,) = route.methods or {"GET"}
    start, _, last = route.path.rpartition("/")
    if not last.startswith("{"):
        return (method, route.path), (route, "")
    return (method, start), (route, last.strip("{}"))


class Application(FastAPI):
    """Requests come to our middleware at once.

    What Starlette and FastAPI put around it answers and tells of what breaks; `RequestMiddleware`
    does both itself, and nothing breaks outside of it.
    """

    first: Iterable[APIRoute] = ()

    def build_middleware_stack(self) -> ASGIApp:
        site: Site = self.state.site
        inner = ExceptionMiddleware(AsyncExitStackMiddleware(self.router), self.exception_handlers)
        return RequestMiddleware(
            FirstRoutes(inner, self.first),
            metrics=site.metrics,
            under_way=site.under_way,
            hosts=Hosts(site.config.hosts),
            origins=Origins(site.config.origins),
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self.middleware_stack is None or scope["type"] != "http":
            await super().__call__(scope, receive, send)
            return
        scope["app"] = self
        await self.middleware_stack(scope, receive, send)


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
    app = Application(
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
    app.first = list(first)
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
