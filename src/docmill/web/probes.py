"""A port of a process for those who watch it: /health, /ready and /metrics, whatever it does."""

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass

import prometheus_client
from fastapi import FastAPI
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from starlette.responses import Response

from docmill import __version__
from docmill.core.meters import Meter
from docmill.core.parts import Parts
from docmill.web import health
from docmill.web.metrics import ProcessCollector
from docmill.web.readiness import Readiness


@dataclass(frozen=True, slots=True)
class Probes:
    """What a process tells of itself."""

    parts: Parts
    readiness: Readiness
    read_metrics: Callable[[], Awaitable[bytes]] | None


def create_probes(probes: Probes) -> FastAPI:
    app = FastAPI(title="docmill probes", version=__version__, docs_url=None, redoc_url=None)
    add_probes(app, probes)
    return app


def add_probes(app: FastAPI, probes: Probes) -> None:
    @app.get("/health")
    async def show_health() -> Response:  # pyright: ignore[reportUnusedFunction]
        return health.answer_health(probes.parts)

    @app.get("/ready")
    async def show_ready() -> Response:  # pyright: ignore[reportUnusedFunction]
        return await health.answer_ready(probes.readiness)

    if read_metrics := probes.read_metrics:

        @app.get("/metrics")
        async def show_metrics() -> Response:  # pyright: ignore[reportUnusedFunction]
            return Response(await read_metrics(), media_type=CONTENT_TYPE_LATEST)


class ProcessMetrics:
    """Of a process without pages: its CPU, memory and files, its parts, and what they measure."""

    def __init__(self, parts: Parts, meters: Iterable[Meter]) -> None:
        self._registry: CollectorRegistry = CollectorRegistry()
        prometheus_client.ProcessCollector(registry=self._registry)
        self._registry.register(ProcessCollector(parts, meters))

    async def read(self) -> bytes:
        return generate_latest(self._registry)
