"""Commands that run docmill without its pages: worker, migrate. And the parts of a worker."""

from collections.abc import AsyncGenerator, Callable, Collection, Mapping, Sequence
from contextlib import AsyncExitStack as Stack
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial

import structlog

from docmill import app
from docmill.app import App
from docmill.cli.options import Data
from docmill.core.meters import Meters
from docmill.jobs.runner import JobRunner, RunnerParts, add_options, add_tracing
from docmill.jobs.validation import ArtifactValidators
from docmill.processes import services as service_clients
from docmill.processes.alone import run_alone
from docmill.processes.health import with_health
from docmill.processes.logs import log_to_stderr
from docmill.processes.supervise import (
    PartLife,
    ProcessEndedError,
    ProcessPart,
    StopSignal,
    run_until_stopped,
    wait_until,
)
from docmill.processes.upkeep import list_worker_parts, run_loop
from docmill.queue import leases
from docmill.queue.lanes import Lanes
from docmill.queue.worker import Runner, Worker, WorkerConfig, WorkerLinks, make_lanes
from docmill.sandbox.pool import SandboxPool
from docmill.services.breaker import count_turns, report_breakers
from docmill.services.gateway import GatewayRunner, find_resting
from docmill.settings import Settings, read_settings

log = structlog.get_logger()


def run_worker(data: Data = None) -> None:
    """Run only a worker, with DATABASE_URL. Start as many as you like, on any machine."""
    settings = read_settings(data=data)
    log_to_stderr(settings)
    run_until_stopped(partial(run_alone, settings, with_health(open_worker)))


@asynccontextmanager
async def open_worker(
    settings: Settings, services: App, _: StopSignal
) -> AsyncGenerator[Sequence[ProcessPart]]:
    """The parts of a worker, and what they work with."""
    me = leases.identify()
    work_rules = app.worker_config(settings, sorted(services.catalog.accepts))
    async with Stack() as stack:
        elsewhere = await service_clients.open_gateways(settings, stack)
        asked = await service_clients.open_services(settings, stack, services.cache)
        limits = app.sandbox_limits(settings)
        sandbox = await stack.enter_async_context(
            SandboxPool(limits, pipelines=work_rules.pipelines)
        )
        validators = await stack.enter_async_context(ArtifactValidators())
        work_rules = replace(
            work_rules,
            resting=partial(_find_resting, work_rules, elsewhere, sandbox),
            gateways={name: one.url for name, one in elsewhere.items()},
        )
        lanes = make_lanes(work_rules)
        outside = RunnerParts(elsewhere, asked, validators, lanes, services.catalog)
        runner = JobRunner(services.pool, services.store, sandbox, outside)
        told = add_options(runner, app.pipeline_options(settings))
        told = add_tracing(told, services.pool)
        shop = RestartedWorker(services, work_rules, told, me, lanes)
        guards = [one.guard for one in (*elsewhere.values(), *asked.values())]
        services.meters.add(count_turns(guards))
        care = app.upkeep_config(settings, services, work_rules, me)
        yield [
            ProcessPart("fork server", partial(keep_warm, sandbox, shop.wake)),
            ProcessPart("worker", shop.work),
            *list_worker_parts(settings, services, care),
            ProcessPart(
                "services",
                partial(run_loop, partial(report_breakers, services.pool, str(me), guards)),
            ),
        ]


class RestartedWorker:
    """Where one worker after another works, under one name: the next has the jobs of the last."""

    def __init__(
        self,
        services: App,
        work_rules: WorkerConfig,
        runner: Runner,
        me: leases.Identity,
        lanes: Lanes,
    ) -> None:
        self._lanes: Lanes = lanes
        self._meters: Meters = services.meters
        self._links: WorkerLinks = WorkerLinks(
            services.pool, services.listen_url, services.changes, services.store
        )
        self._rules: WorkerConfig = work_rules
        self._runner: Runner = runner
        self._me: leases.Identity = me
        self._worker: Worker | None = None

    def wake(self) -> None:
        if self._worker:
            self._worker.wake()

    async def work(self, life: PartLife) -> None:
        self._worker = Worker(self._links, self._rules, self._runner, self._me, self._lanes)
        self._meters.add(*self._worker.list_meters())
        life.stop_with(self._worker.stop)
        life.up()
        await self._worker.run()


def _find_resting(
    rules: WorkerConfig, elsewhere: Mapping[str, GatewayRunner], sandbox: SandboxPool
) -> Collection[str]:
    """Without a fork server nothing is claimed that would run in a child of it."""
    rest = set(find_resting(elsewhere))
    if sandbox.pid is None:
        rest |= set(rules.pipelines) - elsewhere.keys()
    return rest


async def keep_warm(sandbox: SandboxPool, warm: Callable[[], None], life: PartLife) -> None:
    """Until the fork server dies; `warm` is called when it is there."""
    confinement = await sandbox.warm()
    if confinement.missing:
        log.warning("child.less_confined", missing=confinement.missing)
    life.up()
    warm()
    await wait_until(lambda: sandbox.pid is None)
    raise ProcessEndedError("its process is gone")
