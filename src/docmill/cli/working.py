"""Commands that run docmill without its pages: worker, migrate."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, ExitStack
from dataclasses import replace
from functools import partial

import structlog

from docmill.cli import rules
from docmill.cli import services as outer
from docmill.cli.console import say
from docmill.cli.options import Data
from docmill.cli.stopping import Stop
from docmill.db import embedded, folder, migrate
from docmill.settings import Settings, read
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


def worker(data: Data = None) -> None:
    """Run a worker alone, against DATABASE_URL. Start as many as you like, on any machine."""
    settings = read(data=data)
    log_to_stderr(settings)
    asyncio.run(run_alone(settings, work))


def migrate_(data: Data = None) -> None:
    """Bring the database of DATABASE_URL (or the embedded one) up to date."""
    settings = read(data=data)
    with ExitStack() as stack:
        applied = asyncio.run(migrated(database(settings, stack)))
    say("\n".join(f"applied {name}" for name in applied) or "The database is up to date.")


def database(settings: Settings, stack: ExitStack) -> str:
    """DATABASE_URL, or the embedded database of the data folder for as long as the stack lives."""
    if settings.database_url:
        return settings.database_url.get_secret_value()
    settings.data.mkdir(parents=True, exist_ok=True)
    stack.enter_context(folder.hold(settings.data))
    server = embedded.start(settings.data / "postgres")
    stack.callback(server.stop)
    return server.url


async def migrated(url: str) -> list[str]:
    return await migrate.migrate(url)


async def run_alone(
    settings: Settings, part: Callable[[Settings, Services, Stop], Awaitable[None]]
) -> None:
    if settings.database_url is None:
        raise CannotStart("DATABASE_URL is not set.\nSet it, or use `docmill serve`.")
    async with start(settings, settings.database_url.get_secret_value()) as services:
        await part(settings, services, Stop())


async def work(settings: Settings, services: Services, stop: Stop) -> None:
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
