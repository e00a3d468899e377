"""The command that looks after jobs, files and webhooks, and its parts, which workers may have."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from functools import partial

from docmill import app
from docmill.app import App
from docmill.cli.options import Data
from docmill.jobs import retention
from docmill.processes.alone import run_alone
from docmill.processes.health import with_health
from docmill.processes.logs import log_to_stderr
from docmill.processes.supervise import PartLife, ProcessPart, StopSignal, run_until_stopped
from docmill.queue import leases
from docmill.queue.rescue import Upkeep
from docmill.services.outbound import OutboundClient, read_rules
from docmill.settings import Settings, read_settings
from docmill.webhooks.deliver import Deliverer, DeliveryRules
from docmill.webhooks.manage import ALLOW_SETTING

# What every worker does: only who is on the same machine knows at once that another has died.
RESCUE = "rescue"


def run_upkeep(data: Data = None) -> None:
    """Rescue lost jobs, apply retention and deliver webhooks.

    Workers do this too. If you have many, set DOCMILL_WORKER_UPKEEP=false and run one or two of
    these instead.
    """
    settings = read_settings(data=data)
    log_to_stderr(settings)
    run_until_stopped(partial(run_alone, settings, with_health(open_upkeep)))


@asynccontextmanager
async def open_upkeep(
    settings: Settings, services: App, _: StopSignal
) -> AsyncGenerator[Sequence[ProcessPart]]:
    rules = app.worker_config(settings, sorted(services.catalog.accepts))
    care = app.upkeep_config(settings, services, rules, leases.identify())
    yield list_parts(settings, services, care)


def list_parts(settings: Settings, services: App, care: Upkeep) -> list[ProcessPart]:
    loops = retention.make_loops(care)
    return [
        *(ProcessPart(name, partial(run_loop, loop)) for name, loop in loops.items()),
        ProcessPart("webhooks", partial(deliver_webhooks, settings, services)),
    ]


def list_worker_parts(settings: Settings, services: App, care: Upkeep) -> list[ProcessPart]:
    """Those of a worker: all, or where upkeep runs by itself the rescue alone."""
    parts = list_parts(settings, services, care)
    return [one for one in parts if settings.worker_upkeep or one.name == RESCUE]


async def run_loop(loop: Callable[[], Awaitable[None]], life: PartLife) -> None:
    life.up()
    await loop()


async def deliver_webhooks(settings: Settings, services: App, life: PartLife) -> None:
    """Until a stop: then what is under way ends, and what is not is left for others."""
    rules = DeliveryRules(keep=timedelta(days=settings.keep_deliveries_days))
    allowed = read_rules(ALLOW_SETTING, settings.webhook_allow)
    async with OutboundClient(allowed, timeout=rules.timeout) as client:
        deliverer = Deliverer(services.pool, client, rules, services.listen_url)
        life.stop_with(deliverer.stop)
        life.up()
        await deliverer.run()
