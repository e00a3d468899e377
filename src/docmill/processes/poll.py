"""Commands about the watched bucket: poll, reconcile."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from functools import partial
from typing import Annotated, Final

import structlog
import typer

from docmill.app import App, list_sources, open_app
from docmill.cli.console import say, say_json
from docmill.cli.options import AsJson, Data
from docmill.cli.tables import print_rows
from docmill.core import owners
from docmill.core.documents import BUCKET
from docmill.core.faults import CommandError
from docmill.core.installed import StartError
from docmill.documents import poller
from docmill.documents.bucket_monitor import WatchedBucket, WatchedBuckets
from docmill.documents.buckets import BucketCount
from docmill.documents.places import INCOMING
from docmill.documents.poller import Bucket
from docmill.documents.reconcile import keep_polling, reconcile
from docmill.documents.sources import BucketSource
from docmill.processes import database
from docmill.processes.alone import run_parts
from docmill.processes.health import with_health
from docmill.processes.logs import log_to_stderr
from docmill.processes.supervise import PartLife, ProcessPart, StopSignal, run_until_stopped
from docmill.settings import Settings, read_settings
from docmill.storage import open_store
from docmill.storage.local import LocalStore

log = structlog.get_logger()

COLUMNS: Final = ("source", "prefix", "objects", "done", "failed", "waiting", "unknown", "missing")
FOLDER_SECONDS: Final = 2.0
BUCKET_SECONDS: Final = 30.0


def poll_bucket(
    once: Annotated[bool, typer.Option(help="Look once, then end.")] = False, data: Data = None
) -> None:
    """Watch the buckets: files in incoming/ become jobs. Start as many as you like.

    DOCMILL_BUCKET names the bucket. Without it, docmill watches the folder bucket/incoming/ in
    the data folder. DOCMILL_SOURCES adds more buckets. `docmill serve` includes this.
    """
    settings = read_settings(data=data)
    log_to_stderr(settings)
    if once:
        asyncio.run(_poll_once(settings))
    else:
        url = database.find_database(settings)
        run_until_stopped(partial(run_parts, settings, url, with_health(_open_checked_poller)))


def reconcile_bucket(
    source: Annotated[str | None, typer.Option(help="Only this source.")] = None,
    data: Data = None,
    as_json: AsJson = False,
) -> None:
    """Compare the objects in the buckets with the database; exit 1 if they disagree.

    Per prefix: objects = done + failed + waiting + unknown. Unknown objects are in the bucket and
    in no row; missing ones are in a row and not in the bucket. Both should be 0.
    """
    counts = asyncio.run(_reconcile(read_settings(data=data), source))
    rows = [[name, *(getattr(count, each) for each in COLUMNS[1:])] for name, count in counts]
    if as_json:
        say_json([dict(zip(COLUMNS, row, strict=True)) for row in rows])
    else:
        print_rows(COLUMNS, rows)
    if any(count.unknown or count.missing for _, count in counts):
        raise typer.Exit(1)


async def _reconcile(settings: Settings, name: str | None) -> list[tuple[str, BucketCount]]:
    sources = [one for one in list_sources(settings) if name in {None, one.name}]
    if not sources:
        what = f"There is no source {name}." if name else "No bucket is watched."
        raise CommandError(f"{what}\nDOCMILL_BUCKET and DOCMILL_SOURCES say which are.")
    async with open_app(settings, database.find_database(settings)) as services:
        return [
            (source.name, count)
            for source in sources
            for count in await _count_bucket(settings, services, source)
        ]


async def _count_bucket(
    settings: Settings, services: App, source: BucketSource
) -> list[BucketCount]:
    bucket = open_bucket(settings, services, source)
    try:
        return await reconcile(bucket)
    finally:
        await bucket.store.close()


def open_monitors(settings: Settings, services: App) -> WatchedBuckets:
    """The buckets for the web, which opens one only to count."""
    found = [
        WatchedBucket(
            owners.desk(source.desk),
            partial(_count_bucket, settings, services, source),
            source.place,
            source.name,
        )
        for source in list_sources(settings)
    ]
    return WatchedBuckets(tuple(found) or (WatchedBucket(owners.desk(settings.bucket_desk)),))


async def _poll_once(settings: Settings) -> None:
    async with open_app(settings, database.find_database(settings)) as services:
        check_pipelines(settings, services)
        for source in list_sources(settings):
            bucket = open_bucket(settings, services, source)
            await poller.begin(bucket)
            say(f"{source.name}: {await poller.poll(bucket)} objects")
            await bucket.store.close()


@asynccontextmanager
async def _open_checked_poller(
    settings: Settings, services: App, stop: StopSignal
) -> AsyncGenerator[Sequence[ProcessPart]]:
    check_pipelines(settings, services)
    async with open_poller(settings, services, stop) as parts:
        yield parts


def check_pipelines(settings: Settings, services: App) -> None:
    known = services.catalog.accepts
    for source in list_sources(settings):
        if source.pipeline not in known:
            setting = (
                "DOCMILL_BUCKET_PIPELINE" if source.name == BUCKET else "it in DOCMILL_SOURCES"
            )
            raise StartError(
                f"There is no pipeline {source.pipeline} for what comes by the source "
                f"{source.name}.\nSet {setting} to one of: {', '.join(sorted(known))}."
            )


def open_bucket(settings: Settings, services: App, source: BucketSource) -> Bucket:
    store = open_store(source.address)
    if isinstance(store, LocalStore):  # so that people find where to drop a file
        (store.root / INCOMING).mkdir(exist_ok=True)
    return Bucket(
        store,
        services.acceptor,
        owners.desk(source.desk),
        source.pipeline,
        max_bytes=settings.max_upload_bytes,
        batch=settings.bucket_batch,
        stuck=timedelta(seconds=settings.bucket_stuck_seconds),
        source=source.name,
        paused=source.paused,
    )


@asynccontextmanager
async def open_poller(
    settings: Settings, services: App, _: StopSignal
) -> AsyncGenerator[Sequence[ProcessPart]]:
    """A poller for each source whose pipeline is installed; one that is stuck holds up no other."""
    parts: list[ProcessPart] = []
    for source in list_sources(settings):
        if source.pipeline not in services.catalog.accepts:
            log.warning("poller.off", why=f"there is no pipeline {source.pipeline}")
            continue
        name = "poller" if source.name == BUCKET else f"poller {source.name}"
        parts.append(ProcessPart(name, partial(_keep_polling, settings, services, source)))
    yield parts


async def _keep_polling(
    settings: Settings, services: App, source: BucketSource, life: PartLife
) -> None:
    """What is under way ends at its next step, and goes on later."""
    bucket = open_bucket(settings, services, source)
    life.up()
    usual = FOLDER_SECONDS if isinstance(bucket.store, LocalStore) else BUCKET_SECONDS
    try:
        await keep_polling(
            bucket,
            every=source.every or timedelta(seconds=usual),
            sweep_every=timedelta(seconds=settings.bucket_sweep_seconds),
        )
    finally:
        await bucket.store.close()
