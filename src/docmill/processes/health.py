"""The health port of a process: one more part of it, where DOCMILL_HEALTH_PORT names a port."""

import socket
from collections.abc import AsyncGenerator, Generator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from functools import partial

from docmill.app import App
from docmill.processes.supervise import OpenParts, PartLife, ProcessPart, StopSignal
from docmill.settings import Settings
from docmill.web.probes import Probes, ProcessMetrics, create_probes
from docmill.web.readiness import Readiness
from docmill.web.server import bind, serve_on


def with_health(opening: OpenParts) -> OpenParts:
    """The parts of a process that has no pages, and its health port."""

    @asynccontextmanager
    async def open_all(
        settings: Settings, services: App, stop: StopSignal
    ) -> AsyncGenerator[Sequence[ProcessPart]]:
        parts = services.parts
        readiness = Readiness(services.pool, services.store, parts)
        probes = Probes(parts, readiness, ProcessMetrics(parts, services.meters).read)
        async with opening(settings, services, stop) as kept:
            with open_health(settings, probes, stop) as health:
                yield [*kept, *health]

    return open_all


@contextmanager
def open_health(
    settings: Settings, probes: Probes, stop: StopSignal, given: socket.socket | None = None
) -> Generator[Sequence[ProcessPart]]:
    """The part, if a port is named or given. A start does not get over a port that is taken."""
    if given is None and settings.health_port is None:
        yield []
        return
    probes = without_metrics(probes, settings)
    listener = given or bind(settings.host, settings.health_port or 0)
    with listener, stop.calling(listener.close):
        yield [ProcessPart("health", partial(_serve, probes, listener))]


def without_metrics(probes: Probes, settings: Settings) -> Probes:
    """Where the operator has switched them off."""
    return probes if settings.metrics else replace(probes, read_metrics=None)


async def _serve(probes: Probes, listener: socket.socket, life: PartLife) -> None:
    life.up()
    await serve_on(create_probes(probes), listener.dup())
