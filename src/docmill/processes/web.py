"""Commands that run docmill with its pages: serve, web. And the parts of a web process."""

import asyncio
import gc
from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Annotated, Final

import psycopg
import structlog
import typer

from docmill import app as docmill_app
from docmill.accounts.adoption import adopt_sessions
from docmill.app import App, StartError, check_database, open_app
from docmill.cli.console import say
from docmill.cli.options import Data, Host, Port
from docmill.core import owners
from docmill.core.faults import CommandError
from docmill.core.installed import find_rooms
from docmill.core.parts import OK, Parts
from docmill.db import migrate
from docmill.processes import poll
from docmill.processes import services as service_clients
from docmill.processes.alone import run_alone
from docmill.processes.database import EmbeddedDatabase, run_embedded
from docmill.processes.health import open_health
from docmill.processes.logs import log_to_stderr
from docmill.processes.supervise import (
    PartLife,
    ProcessPart,
    StopSignal,
    run_until_stopped,
    supervise_all,
    wait_until,
)
from docmill.processes.web_processes import WebPort, WebProcess, serve_until_stopped
from docmill.processes.worker import keep_warm, open_worker
from docmill.sandbox.pool import SandboxPool
from docmill.settings import Settings, adapt_for_serve, read_settings
from docmill.web import server as web_server
from docmill.web.health import measure
from docmill.web.middleware import EVERYWHERE
from docmill.web.probes import Probes
from docmill.web.readiness import Readiness
from docmill.web.siblings import merge_metrics
from docmill.web.site import Site

VIEWER: Final = "docmill.documents.viewer:pipeline"
MOST_CPU: Final = timedelta(seconds=60)  # somebody waits for the answer
LONGEST: Final = timedelta(minutes=5)  # the same, on a busy machine


def list_preview_runs() -> list[str]:
    """What the web's own runs may be: the viewer, and what rooms run for their pages."""
    return [VIEWER, *find_rooms().confined_runs]


def open_preview_pool(settings: Settings) -> SandboxPool:
    """For the web's own runs; its parent starts with the first of them."""
    limits = docmill_app.sandbox_limits(settings)
    cpu, total = min(limits.cpu, MOST_CPU), min(limits.total, LONGEST)
    limits = replace(limits, cpu=cpu, cpu_per_mb=timedelta(), total=total)
    return SandboxPool(limits, pipelines=list_preview_runs())


log = structlog.get_logger()

LOOPBACK: Final = "127.0.0.1"
# So many more things were made than let go of.
COLLECT_AFTER: Final = 10_000
# A dead server is known as such by then.
NOTICED_SECONDS: Final = 0.5
# How often a start may be cut by the database, and how long it waits before it tries again.
MOST_CUTS: Final = 10
CUT_PAUSE: Final = 1.0


def serve(port: Port = None, host: Host = None, data: Data = None) -> None:
    """Run everything in one process: database, store, web, worker and poller.

    Nothing else needs to be installed. If DATABASE_URL is set, docmill uses that database instead
    of the embedded one. Files dropped into bucket/incoming/ of the data folder become jobs.
    """
    settings = adapt_for_serve(read_settings(port=port, host=host, data=data))
    log_to_stderr(settings)
    run_until_stopped(partial(_run_everything, settings))


Processes = Annotated[
    int, typer.Option(min=1, max=64, help="Processes that share the port; about one per core.")
]


def run_web(
    port: Port = None, host: Host = None, data: Data = None, processes: Processes = 1
) -> None:
    """Run only the web part, with DATABASE_URL.

    With --processes, several processes share one port; one that dies is restarted. Each of them
    answers /metrics for all, with the label `process`.
    """
    settings = read_settings(port=port, host=host, data=data)
    log_to_stderr(settings)
    if processes == 1:
        run_until_stopped(partial(run_alone, settings, open_web))
    else:
        run_until_stopped(partial(_run_processes, settings, processes))


async def _run_processes(settings: Settings, count: int, stop: StopSignal) -> None:
    """The one that starts the others, holds the port, and tells how they are."""
    if settings.database_url is None:
        raise StartError("DATABASE_URL is not set.\nSet it, or use `docmill serve`.")
    with ExitStack() as stack:
        with stop.cancelling():
            # What keeps all of them from starting is told once.
            await check_database(settings, settings.database_url.get_secret_value())
            listener = stack.enter_context(web_server.bind(settings.host, settings.port))
            stack.enter_context(stop.calling(listener.close))
            own = [stack.enter_context(web_server.bind(LOOPBACK, 0)) for _ in range(count)]
        siblings = tuple(f"http://{LOOPBACK}:{each.getsockname()[1]}" for each in own)
        serve_one = partial(_serve_in_process, settings)
        children = [
            WebProcess(partial(serve_one, WebPort(listener, each, siblings)), url)
            for each, url in zip(own, siblings, strict=True)
        ]
        parts = Parts()
        probes = Probes(parts, Readiness(None, None, parts), partial(merge_metrics, siblings))
        health = stack.enter_context(open_health(settings, probes, stop))
        kept = [ProcessPart(f"web {number}", child.run) for number, child in enumerate(children, 1)]
        said = asyncio.create_task(_welcome_once(parts, settings, listener.getsockname()[1]))
        try:
            await supervise_all([*kept, *health], stop, parts)
        finally:
            said.cancel()


async def _welcome_once(parts: Parts, settings: Settings, port: int) -> None:
    await wait_until(lambda: parts.states.get("web 1") == OK)
    say(f"docmill is at http://{settings.host}:{port}")
    advise_hosts(settings)


def _serve_in_process(settings: Settings, given: "WebPort") -> None:
    log_to_stderr(settings)
    serve_until_stopped(partial(run_alone, settings, partial(open_web, given=given)))


async def _run_everything(settings: Settings, stop: StopSignal) -> None:
    async with AsyncExitStack() as stack:
        with stop.cancelling():
            services = await _open_services(settings, stack)
            kept: list[ProcessPart] = []
            for opening in (open_web, open_worker, poll.open_poller):
                kept += await stack.enter_async_context(opening(settings, services, stop))
        await supervise_all(kept, stop, services.parts)


async def _open_services(settings: Settings, stack: AsyncExitStack) -> App:
    parts = Parts()
    if settings.database_url:
        url = settings.database_url.get_secret_value()
        return await _open_migrated(settings, url, parts, stack)
    server = await stack.enter_async_context(run_embedded(settings, parts))
    cuts = 0
    while True:
        lives = server.lives
        try:
            return await _open_migrated(settings, server.url, parts, stack)
        except CommandError as exc:
            # A session that is killed ends all others; the server itself stays.
            is_cut = isinstance(exc.__cause__, psycopg.OperationalError)
            cuts += is_cut
            if not is_cut or cuts >= MOST_CUTS:
                await _wait_until_back(server, lives, exc)
            await asyncio.sleep(CUT_PAUSE)


async def _open_migrated(settings: Settings, url: str, parts: Parts, stack: AsyncExitStack) -> App:
    try:
        await migrate.migrate(url)
        await take_over_sessions(settings, url)
        return await stack.enter_async_context(open_app(settings, url, parts))
    except psycopg.Error as exc:
        raise StartError(
            f"The database failed during the start: {str(exc).splitlines()[0]}\n"
            "Look at its log, then start docmill again."
        ) from exc


async def _wait_until_back(server: EmbeddedDatabase, lives: int, exc: CommandError) -> None:
    """Wait until a server that died in the middle of our start runs again, or raise."""
    try:
        async with asyncio.timeout(NOTICED_SECONDS):
            await wait_until(lambda: server.lives > lives or not server.is_running)
    except TimeoutError:
        raise exc from None  # it lives: the database is not to blame
    await wait_until(lambda: server.lives > lives)


@asynccontextmanager
async def open_web(
    settings: Settings, services: App, stop: StopSignal, given: WebPort | None = None
) -> AsyncGenerator[Sequence[ProcessPart]]:
    """The parts of the web, and the port, which stays ours while one of them starts again.

    `given` is a port that was opened by another process.
    """
    async with AsyncExitStack() as stack:
        listener = given.listener if given else web_server.bind(settings.host, settings.port)
        stack.enter_context(listener)
        stack.enter_context(stop.calling(listener.close))
        sandbox = await stack.enter_async_context(open_preview_pool(settings))
        site = _WebServer(
            settings, services, WebPort(listener) if given is None else given, sandbox
        )
        readiness = Readiness(services.pool, services.store, services.parts)
        probes = Probes(services.parts, readiness, site.read_metrics)
        health = stack.enter_context(open_health(settings, probes, stop, given and given.own))
        yield [
            ProcessPart("web", site.serve),
            ProcessPart("web fork server", partial(_keep_warm_once_used, sandbox)),
            *health,
        ]


class _WebServer:
    """One web server after another on the same port."""

    def __init__(
        self, settings: Settings, services: App, port: WebPort, sandbox: SandboxPool
    ) -> None:
        self._settings: Settings = settings
        self._services: App = services
        self._port: WebPort = port
        self._sandbox: SandboxPool = sandbox
        self._welcomed: bool = bool(port.siblings)
        self._site: Site | None = None

    async def read_metrics(self) -> bytes:
        """Of this process alone; nothing before it has begun to serve."""
        return await measure(self._site) if self._site else b""

    async def serve(self, life: PartLife) -> None:
        settings, services = self._settings, self._services
        async with AsyncExitStack() as stack:
            embed = await service_clients.open_embedder(settings, stack, services.pool)
            watched = poll.open_monitors(settings, services)
            site_rules = replace(docmill_app.web_config(settings), siblings=self._port.siblings)
            app = docmill_app.create_web(
                services, site_rules, self._sandbox, embed=embed, watched=watched
            )
            self._site = app.state.site
            ready = partial(self._welcome, life)
            collect_seldom()
            await web_server.serve_on(app, self._port.listener.dup(), ready=ready)

    def _welcome(self, life: PartLife, port: int) -> None:
        life.up()
        if not self._welcomed:
            say(f"docmill is at http://{self._settings.host}:{port}")
            advise_hosts(self._settings)
        self._welcomed = True


def collect_seldom() -> None:
    """What is there when a site opens stays: to look through it again and again took a tenth of
    the time of a status. A request leaves few cycles behind.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(COLLECT_AFTER)


async def _keep_warm_once_used(sandbox: SandboxPool, life: PartLife) -> None:
    """The web's fork server starts with its first run; from then on it is kept."""
    if not sandbox.started.is_set():
        life.up()
        await sandbox.started.wait()
    await keep_warm(sandbox, lambda: None, life)


async def take_over_sessions(settings: Settings, url: str) -> None:
    """What sessions in this data folder had uploaded is the one person's.

    Only in the embedded database: one of DATABASE_URL may have other people's sessions in it.
    """
    if settings.auth_mode != "local" or settings.database_url:
        return
    async with await psycopg.AsyncConnection.connect(url) as conn:
        count = await adopt_sessions(conn, owners.LOCAL.key)
    if count:
        log.info("sessions.taken_over", sessions=count)


def advise_hosts(settings: Settings) -> None:
    """Who listens at all addresses is reached by names nobody told us."""
    if settings.host in EVERYWHERE and not settings.hosts:
        say("Only localhost is answered: set DOCMILL_HOSTS to the names and addresses people use.")
