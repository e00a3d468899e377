"""Commands that run docmill: serve, web, worker, migrate."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, ExitStack, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated

import structlog
import typer
from fastapi import FastAPI

from docmill.cli import buckets, confined, rules
from docmill.cli import services as outer
from docmill.cli.console import say
from docmill.cli.stopping import Stop
from docmill.db import embedded, folder, migrate
from docmill.settings import Settings, read
from docmill.web import app as web_app
from docmill.web import server as web_server
from docmill.wiring import CannotStart, Services, log_to_stderr, start
from docmill.work import identity
from docmill.work.checking import Checker
from docmill.work.child import Nursery
from docmill.work.remote import resting
from docmill.work.runs import ChildRunner, Outside, with_options
from docmill.work.upkeep import keep_up
from docmill.work.watch import watch
from docmill.work.worker import Links, Worker

log = structlog.get_logger()

Port = Annotated[int | None, typer.Option(help="Port to serve on; 0 takes a free one.")]
Host = Annotated[str | None, typer.Option(help="Address to serve on.")]
Data = Annotated[Path | None, typer.Option(help="Folder for the database and the files.")]


def serve(port: Port = None, host: Host = None, data: Data = None) -> None:
    """Run everything in one go: database, store, web, worker and poller.

    Needs nothing else installed. With DATABASE_URL set, that database is used instead of the
    embedded one. Files dropped into bucket/incoming/ of the data folder become jobs.
    """
    settings = read(port=port, host=host, data=data)
    log_to_stderr(settings)
    with ExitStack() as stack:
        url = _database(settings, stack)
        asyncio.run(_migrate(url))
        asyncio.run(_serve(settings, url))


def web(port: Port = None, host: Host = None, data: Data = None) -> None:
    """Run the web part alone, against DATABASE_URL."""
    settings = read(port=port, host=host, data=data)
    log_to_stderr(settings)
    asyncio.run(_run_alone(settings, _web))


def worker(data: Data = None) -> None:
    """Run a worker alone, against DATABASE_URL. Start as many as you like, on any machine."""
    settings = read(data=data)
    log_to_stderr(settings)
    asyncio.run(_run_alone(settings, _work))


def migrate_(data: Data = None) -> None:
    """Bring the database of DATABASE_URL (or the embedded one) up to date."""
    settings = read(data=data)
    with ExitStack() as stack:
        applied = asyncio.run(_migrate(_database(settings, stack)))
    say("\n".join(f"applied {name}" for name in applied) or "The database is up to date.")


def _database(settings: Settings, stack: ExitStack) -> str:
    """DATABASE_URL, or the embedded database of the data folder for as long as the stack lives."""
    if settings.database_url:
        return settings.database_url.get_secret_value()
    settings.data.mkdir(parents=True, exist_ok=True)
    stack.enter_context(folder.hold(settings.data))
    server = embedded.start(settings.data / "postgres")
    stack.callback(server.stop)
    return server.url


async def _migrate(url: str) -> list[str]:
    return await migrate.migrate(url)


async def _run_alone(
    settings: Settings, part: Callable[[Settings, Services, Stop], Awaitable[None]]
) -> None:
    if settings.database_url is None:
        raise CannotStart("DATABASE_URL is not set.\nSet it, or use `docmill serve`.")
    async with start(settings, settings.database_url.get_secret_value()) as services:
        await part(settings, services, Stop())


async def _serve(settings: Settings, url: str) -> None:
    async with start(settings, url) as services:
        stop = Stop()
        works = (_web, _work, _watch)
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


async def _work(settings: Settings, services: Services, stop: Stop) -> None:
    me = identity.me()
    work_rules = rules.work_rules(settings, sorted(services.offer.accepts))
    links = Links(services.pool, services.listen_url, services.changes)
    async with AsyncExitStack() as stack:
        elsewhere = await outer.elsewhere(settings, stack)
        asked = await outer.services(settings, stack)
        gateways = {name: one.url for name, one in elsewhere.items()}
        work_rules = replace(work_rules, resting=partial(resting, elsewhere), gateways=gateways)
        guards = [one.guard for one in (*elsewhere.values(), *asked.values())]
        limits = rules.limits(settings)
        nursery = await stack.enter_async_context(Nursery(limits, pipelines=work_rules.pipelines))
        checker = await stack.enter_async_context(Checker())
        outside = Outside(elsewhere, asked, checker)
        runner = ChildRunner(services.pool, services.store, nursery, outside)
        confinement = await nursery.warm()
        if confinement.missing:
            log.warning("child.less_confined", missing=confinement.missing)
        told = with_options(runner, rules.pipeline_options(settings))
        worker = Worker(links, work_rules, told, me)
        stop.tell(worker.stop)
        upkeep = rules.upkeep_rules(settings, services, work_rules, me)
        awaited = {name: one.guard.name for name, one in elsewhere.items()}
        beside = [
            asyncio.create_task(keep_up(replace(upkeep, awaited=awaited))),
            asyncio.create_task(watch(services.pool, str(me), guards)),
        ]
        try:
            await worker.run()
        finally:
            for task in beside:
                task.cancel()
            await asyncio.gather(*beside, return_exceptions=True)


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
