"""The command that runs the gateway, and the wires between it and a confined run."""

import asyncio
import dataclasses
from collections.abc import Mapping
from contextlib import suppress
from datetime import timedelta
from typing import Annotated, Any, Final

import typer

from docmill.cli import rules
from docmill.cli.console import say
from docmill.cli.options import Host
from docmill.cli.stopping import Stop
from docmill.core.faults import Faulted
from docmill.core.pipeline import PDF
from docmill.gateway.app import Convert, Converted, create
from docmill.settings import Settings, read
from docmill.web.server import serve
from docmill.wiring import log_to_stderr
from docmill.work.child import Failed, Limits, Nursery, Task

PIPELINE: Final = "invoice"
# The converter gives up before its callers do, who wait 180 s.
LONGEST: Final = timedelta(seconds=170)


def gateway(
    port: Annotated[int, typer.Option(help="Port to serve on; 0 takes a free one.")] = 8002,
    host: Host = None,
) -> None:
    """Run the gateway alone: POST /process turns invoices into JSON or XML.

    Needs no database and keeps nothing. Workers use it when GATEWAY_URL names it.
    """
    settings = read(port=port, host=host)
    log_to_stderr(settings)
    asyncio.run(_run(settings))


async def _run(settings: Settings) -> None:
    stop = Stop()
    async with Nursery(_limits(settings), pipelines=[PIPELINE]) as nursery:
        await nursery.warm()
        app = create(converter(nursery, settings.worker_slots))

        def welcome(port: int) -> None:
            say(f"docmill's gateway is at http://{settings.host}:{port}")

        serving = asyncio.create_task(serve(app, settings.host, settings.port, ready=welcome))
        asked = asyncio.create_task(stop.asked.wait())
        await asyncio.wait({serving, asked}, return_when=asyncio.FIRST_COMPLETED)
        asked.cancel()
        serving.cancel()
        with suppress(asyncio.CancelledError):
            await serving


def converter(nursery: Nursery, slots: int) -> Convert:
    """Reads PDFs in confined runs, so many at a time; others wait their turn."""
    room = asyncio.Semaphore(slots)

    async def convert(document: int, mapping: str | None, profile: Mapping[str, Any]) -> Converted:
        options = {"profile": profile} if profile else {}
        task = Task(PIPELINE, "invoice.pdf", PDF, mapping=mapping, options=options)
        async with room:
            ran = await nursery.run(task, document, _silent)
        if isinstance(ran, Failed):
            raise Faulted(ran.code, ran.detail)
        return Converted(ran.data, ran.version)

    return convert


def _limits(settings: Settings) -> Limits:
    limits = rules.limits(settings)
    return dataclasses.replace(limits, total=min(limits.total, LONGEST))


def _silent(_percent: int, _stage: str) -> None:
    """Nobody watches a conversion of the gateway."""
