"""Commands that run docmill: serve, web, worker, migrate."""

import asyncio
import signal
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, ExitStack, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated

import structlog
import typer

from docmill.cli import rules
from docmill.cli import services as outside
from docmill.cli.console import say
from docmill.db import embedded, folder, migrate
from docmill.settings import Settings, read
from docmill.web import app as web_app
from docmill.web import server as web_server
from docmill.wiring import CannotStart, Services, log_to_stderr, start
from docmill.work import identity
from docmill.work.child import Nursery
from docmill.work.remote import resting
from docmill.work.runs import ChildRunner
from docmill.work.upkeep import keep_up
from docmill.work.worker import Links, Worker

log = structlog.get_logger()

Port = Annotated[int | None, typer.Option(help="Port to serve on; 0 takes a free one.")]
Host = Annotated[str | None, typer.Option(help="Address to serve on.")]
Data = Annotated[Path | None, typer.Option(help="Folder for the database and the files.")]


def serve(port: Port = None, host: Host = None, data: Data = None) -> None:
    """Run everything in one go: database, store, web and worker.

    Needs nothing else installed. With DATABASE_URL set, that database is used instead of the
    embedded one.
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
    settings: Settings, part: Callable[[Settings, Services, "Stop"], Awaitable[None]]
) -> None:
    if settings.database_url is None:
        raise CannotStart("DATABASE_URL is not set.\nSet it, or use `docmill serve`.")
    async with start(settings, settings.database_url.get_secret_value()) as services:
        await part(settings, services, Stop())


async def _serve(settings: Settings, url: str) -> None:
    async with start(settings, url) as services:
        stop = Stop()
        parts = [asyncio.create_task(part(settings, services, stop)) for part in (_web, _work)]
        try:
            # Whichever ends first, by request or by accident, takes the other with it.
            await asyncio.wait(parts, return_when=asyncio.FIRST_COMPLETED)
        finally:
            if not stop.asked.is_set():
                stop.ask()
            await asyncio.gather(*parts)


class Stop:
    """SIGTERM or Ctrl-C asks everything to stop; the second time, at once."""

    def __init__(self) -> None:
        self.asked: asyncio.Event = asyncio.Event()
        self._listeners: list[Callable[[], None]] = []
        for name in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(name, self.ask)

    def tell(self, listener: Callable[[], None]) -> None:
        self._listeners.append(listener)

    def ask(self) -> None:
        self.asked.set()
        for listener in self._listeners:
            listener()


async def _work(settings: Settings, services: Services, stop: Stop) -> None:
    me = identity.me()
    work_rules = rules.work_rules(settings, sorted(services.offer.accepts))
    links = Links(services.pool, services.listen_url, services.changes)
    async with AsyncExitStack() as stack:
        elsewhere = await outside.elsewhere(settings, stack)
        asked = await outside.services(settings, stack)
        work_rules = replace(work_rules, resting=partial(resting, elsewhere))
        limits = rules.limits(settings)
        nursery = await stack.enter_async_context(Nursery(limits, pipelines=work_rules.pipelines))
        runner = ChildRunner(
            services.pool, services.store, nursery, elsewhere=elsewhere, services=asked
        )
        confinement = await nursery.warm()
        if confinement.missing:
            log.warning("child.less_confined", missing=confinement.missing)
        worker = Worker(links, work_rules, runner, me)
        stop.tell(worker.stop)
        upkeep = asyncio.create_task(
            keep_up(rules.upkeep_rules(settings, services, work_rules, me))
        )
        try:
            await worker.run()
        finally:
            upkeep.cancel()
            await asyncio.gather(upkeep, return_exceptions=True)


async def _web(settings: Settings, services: Services, stop: Stop) -> None:
    app = web_app.create(services, rules.web_rules(settings))

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
