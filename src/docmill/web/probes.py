"""A port of a process for those who watch it: /health, /ready and /metrics, whatever it does."""

from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass

from fastapi import FastAPI
from prometheus_client import (
    CONTENT_TYPE_LATEST,
    CollectorRegistry,
    Metric,
    ProcessCollector,
    generate_latest,
)
from prometheus_client.core import GaugeMetricFamily
from starlette.responses import Response

from docmill import __version__
from docmill.core.parts import OK, Parts
from docmill.web import health
from docmill.web.readiness import Readiness


@dataclass(frozen=True, slots=True)
class Probes:
    """What a process tells of itself."""

    parts: Parts
    readiness: Readiness
    read_metrics: Callable[[], Awaitable[bytes]]


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

    @app.get("/metrics")
    async def show_metrics() -> Response:  # pyright: ignore[reportUnusedFunction]
        return Response(await probes.read_metrics(), media_type=CONTENT_TYPE_LATEST)


class ProcessMetrics:
    """Of a process without pages: its CPU, memory and files, and which of its parts run."""

    def __init__(self, parts: Parts) -> None:
        self._parts: Parts = parts
        self._registry: CollectorRegistry = CollectorRegistry()
        ProcessCollector(registry=self._registry)
        self._registry.register(self)

    def collect(self) -> Iterator[Metric]:
        family = GaugeMetricFamily(
            "part_up", "1 while this part of the process runs", labels=["part"]
        )
        for name, state in self._parts.states.items():
            family.add_metric([name], state == OK)
        yield family

    async def read(self) -> bytes:
        return generate_latest(self._registry)
