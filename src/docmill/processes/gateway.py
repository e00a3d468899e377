"""The command that runs the gateway, and the wires between it and a confined run."""

import asyncio
import dataclasses
from collections.abc import Mapping
from contextlib import AsyncExitStack
from datetime import timedelta
from functools import partial
from typing import Annotated, Any, Final

import typer

from docmill import app
from docmill.cli.console import say
from docmill.cli.options import Host
from docmill.core.faults import DocmillError
from docmill.core.jobs import ignore_progress
from docmill.core.meters import Meters
from docmill.core.parts import Parts
from docmill.core.plugins import PDF
from docmill.invoices.gateway import Conversion, Convert, create_app
from docmill.processes.health import open_health, without_metrics
from docmill.processes.logs import log_to_stderr
from docmill.processes.supervise import (
    PartLife,
    ProcessPart,
    StopSignal,
    run_until_stopped,
    supervise_all,
)
from docmill.processes.worker import keep_warm
from docmill.sandbox.limits import RunLimits
from docmill.sandbox.outcome import RunFailed, Task
from docmill.sandbox.pool import SandboxPool
from docmill.settings import Settings, read_settings
from docmill.web.probes import Probes, ProcessMetrics, add_probes
from docmill.web.readiness import Readiness
from docmill.web.server import bind, serve_on

PIPELINE: Final = "invoice"
# The converter gives up before its callers do, who wait 180 s.
LONGEST: Final = timedelta(seconds=170)


def run_gateway(
    port: Annotated[int, typer.Option(help="Port to serve on; 0 takes a free one.")] = 8002,
    host: Host = None,
) -> None:
    """Run only the gateway: POST /process turns invoices into JSON or XML.

    It needs no database and stores nothing. Workers use it if GATEWAY_URL names it.
    """
    settings = read_settings(port=port, host=host)
    log_to_stderr(settings)
    run_until_stopped(partial(_serve_gateway, settings))


async def _serve_gateway(settings: Settings, stop: StopSignal) -> None:
    async with AsyncExitStack() as stack:
        with stop.cancelling():
            listener = stack.enter_context(bind(settings.host, settings.port))
            stack.enter_context(stop.calling(listener.close))
            sandbox = SandboxPool(_gateway_limits(settings), pipelines=[PIPELINE])
            await stack.enter_async_context(sandbox)
            await sandbox.warm()
        parts = Parts()
        probes = Probes(parts, Readiness(None, None, parts), ProcessMetrics(parts, Meters()).read)
        app = create_app(make_converter(sandbox, settings.worker_slots), settings.max_upload_bytes)
        add_probes(app, without_metrics(probes, settings))
        health = stack.enter_context(open_health(settings, probes, stop))
        welcome = partial(_welcome, settings.host)

        async def serve(life: PartLife) -> None:
            life.up()
            await serve_on(app, listener.dup(), ready=welcome)

        kept = [
            ProcessPart("web", serve),
            ProcessPart("fork server", partial(keep_warm, sandbox, _wake_nobody)),
            *health,
        ]
        await supervise_all(kept, stop, parts)


def _welcome(host: str, port: int) -> None:
    say(f"docmill's gateway is at http://{host}:{port}")


def _wake_nobody() -> None:
    """Nobody waits for the fork server to come back: runs start it themselves."""


def make_converter(sandbox: SandboxPool, slots: int) -> Convert:
    """Reads PDFs in confined runs, so many at a time; others wait their turn."""
    room = asyncio.Semaphore(slots)

    async def convert(document: int, mapping: str | None, profile: Mapping[str, Any]) -> Conversion:
        options = {"profile": profile} if profile else {}
        task = Task(PIPELINE, "invoice.pdf", PDF, mapping=mapping, options=options)
        async with room:
            ran = await sandbox.run(task, document, ignore_progress)
        if isinstance(ran, RunFailed):
            raise ran.as_fault()
        if ran.about.refusal:
            raise DocmillError("GW_4XX", ran.about.refusal, reason=ran.about.refusal)
        return Conversion(ran.data, ran.version, ran.about.summary)

    return convert


def _gateway_limits(settings: Settings) -> RunLimits:
    limits = app.sandbox_limits(settings)
    return dataclasses.replace(limits, total=min(limits.total, LONGEST))
