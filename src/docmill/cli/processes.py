"""Commands that run docmill with its pages: serve, web."""

import asyncio
from contextlib import AsyncExitStack, ExitStack, suppress

import structlog
from fastapi import FastAPI

from docmill.cli import buckets, confined, rules
from docmill.cli import services as outer
from docmill.cli.console import say
from docmill.cli.options import Data, Host, Port
from docmill.cli.stopping import Stop
from docmill.cli.working import database, migrated, run_alone, work
from docmill.settings import Settings, read
from docmill.web import app as web_app
from docmill.web import server as web_server
from docmill.wiring import Services, log_to_stderr, start

log = structlog.get_logger()


def serve(port: Port = None, host: Host = None, data: Data = None) -> None:
    """Run everything in one go: database, store, web, worker and poller.

    Needs nothing else installed. With DATABASE_URL set, that database is used instead of the
    embedded one. Files dropped into bucket/incoming/ of the data folder become jobs.
    """
    settings = read(port=port, host=host, data=data)
    log_to_stderr(settings)
    with ExitStack() as stack:
        url = database(settings, stack)
        asyncio.run(migrated(url))
        asyncio.run(_serve(settings, url))


def web(port: Port = None, host: Host = None, data: Data = None) -> None:
    """Run the web part alone, against DATABASE_URL."""
    settings = read(port=port, host=host, data=data)
    log_to_stderr(settings)
    asyncio.run(run_alone(settings, _web))


async def _serve(settings: Settings, url: str) -> None:
    async with start(settings, url) as services:
        stop = Stop()
        works = (_web, work, _watch)
        parts = [asyncio.create_task(part(settings, services, stop)) for part in works]
        try:
            # Whichever ends first, by request or by accident, takes the others with it.
            await asyncio.wait(parts, return_when=asyncio.FIRST_COMPLETED)
        finally:
            if not stop.asked.is_set():
                stop.ask()
            await asyncio.gather(*parts)


async def _watch(settings: Settings, services: Services, stop: Stop) -> None:
    """The poller, where its pipeline is installed; the rest works without it."""
    if settings.bucket_pipeline in services.offer.accepts:
        await buckets.watch(settings, services, stop)
        return
    log.warning("poller.off", why=f"there is no pipeline {settings.bucket_pipeline}")
    await stop.asked.wait()


async def _web(settings: Settings, services: Services, stop: Stop) -> None:
    async with confined.nursery(settings) as nursery, AsyncExitStack() as stack:
        way = confined.confined(nursery)
        embed = await outer.embed(settings, stack)
        watched = buckets.watched(settings, services)
        app = web_app.create(services, rules.web_rules(settings), way, embed=embed, watched=watched)
        await _serve_web(settings, app, stop)


async def _serve_web(settings: Settings, app: FastAPI, stop: Stop) -> None:

    def welcome(port: int) -> None:
        say(f"docmill is at http://{settings.host}:{port}")

    serving = asyncio.create_task(
        web_server.serve(app, settings.host, settings.port, ready=welcome)
    )
    asked = asyncio.create_task(stop.asked.wait())
    await asyncio.wait({serving, asked}, return_when=asyncio.FIRST_COMPLETED)
    asked.cancel()
    serving.cancel()
    with suppress(asyncio.CancelledError):
        await serving
