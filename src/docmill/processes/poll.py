"""Commands about the watched bucket: poll, reconcile."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from functools import partial
from typing import Annotated, Final

import structlog
import typer

from docmill.app import App, StartError, open_app
from docmill.cli.console import say, say_json
from docmill.cli.options import Data
from docmill.cli.tables import print_rows
from docmill.core import owners
from docmill.core.faults import CommandError
from docmill.documents import poller
from docmill.documents.buckets import BucketCount
from docmill.documents.poller import INCOMING, Bucket
from docmill.documents.reconcile import keep_polling, reconcile
from docmill.documents.watched import WatchedBucket
from docmill.processes import database
from docmill.processes.alone import run_parts
from docmill.processes.health import with_health
from docmill.processes.logs import log_to_stderr
from docmill.processes.supervise import PartLife, ProcessPart, StopSignal, run_until_stopped
from docmill.settings import Settings, read_settings
from docmill.storage import open_store
from docmill.storage.local import LocalStore

log = structlog.get_logger()

NO_BUCKET: Final = "none"
COLUMNS: Final = ("prefix", "objects", "done", "failed", "waiting", "unknown", "missing")
FOLDER_SECONDS: Final = 2.0
BUCKET_SECONDS: Final = 30.0

Json = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]


def poll_bucket(
    once: Annotated[bool, typer.Option(help="Look once, then end.")] = False, data: Data = None
) -> None:
    """Watch the bucket: files in incoming/ become jobs. Start as many as you like.

    DOCMILL_BUCKET names the bucket; without it, the folder bucket/incoming/ in the data folder is
    watched. `docmill serve` does the same by itself.
    """
    settings = read_settings(data=data)
    log_to_stderr(settings)
    if once:
        asyncio.run(_poll_once(settings))
    else:
        url = database.find_database(settings)
        run_until_stopped(partial(run_parts, settings, url, with_health(_open_checked_poller)))


def reconcile_bucket(data: Data = None, as_json: Json = False) -> None:
    """Count the bucket's objects against the database; exit 1 when they disagree.

    Per prefix: objects = done + failed + waiting + unknown. Unknown objects are in the bucket and
    in no row; missing ones are in a row and not in the bucket. Both should be 0.
    """
    counts = asyncio.run(_reconcile(read_settings(data=data)))
    if as_json:
        say_json([{name: getattr(count, name) for name in COLUMNS} for count in counts])
    else:
        print_rows(COLUMNS, [[getattr(count, name) for name in COLUMNS] for count in counts])
    if any(count.unknown or count.missing for count in counts):
        raise typer.Exit(1)


async def _reconcile(settings: Settings) -> list[BucketCount]:
    async with open_app(settings, database.find_database(settings)) as services:
        return await _count_bucket(settings, services)


async def _count_bucket(settings: Settings, services: App) -> list[BucketCount]:
    bucket = open_bucket(settings, services)
    if bucket is None:
        raise CommandError("No bucket is watched: DOCMILL_BUCKET is none.\nSet it to a bucket.")
    try:
        return await reconcile(bucket)
    finally:
        await bucket.store.close()


def open_monitor(settings: Settings, services: App) -> WatchedBucket:
    """The bucket for the web, which opens it only to count."""
    desk = owners.desk(settings.bucket_desk)
    if settings.bucket == NO_BUCKET:
        return WatchedBucket(desk)
    place = _bucket_url(settings).partition("?")[0].rstrip("/")
    return WatchedBucket(desk, partial(_count_bucket, settings, services), place)


def _bucket_url(settings: Settings) -> str:
    return settings.bucket or str(settings.data / "bucket")


async def _poll_once(settings: Settings) -> None:
    async with open_app(settings, database.find_database(settings)) as services:
        check_pipeline(settings, services)
        bucket = open_bucket(settings, services)
        if bucket:
            say(f"{await poller.poll(bucket)} objects")
            await bucket.store.close()


@asynccontextmanager
async def _open_checked_poller(
    settings: Settings, services: App, stop: StopSignal
) -> AsyncGenerator[Sequence[ProcessPart]]:
    check_pipeline(settings, services)
    async with open_poller(settings, services, stop) as parts:
        yield parts


def check_pipeline(settings: Settings, services: App) -> None:
    if settings.bucket_pipeline not in services.catalog.accepts:
        raise StartError(
            f"There is no pipeline {settings.bucket_pipeline} for what comes by the bucket.\n"
            f"Set DOCMILL_BUCKET_PIPELINE to one of: {', '.join(sorted(services.catalog.accepts))}."
        )


def open_bucket(settings: Settings, services: App) -> Bucket | None:
    if settings.bucket == NO_BUCKET:
        return None
    store = open_store(_bucket_url(settings))
    if isinstance(store, LocalStore):  # so that people find where to drop a file
        (store.root / INCOMING).mkdir(exist_ok=True)
    return Bucket(
        store,
        services.acceptor,
        owners.desk(settings.bucket_desk),
        settings.bucket_pipeline,
        max_bytes=settings.max_upload_bytes,
        batch=settings.bucket_batch,
        stuck=timedelta(seconds=settings.bucket_stuck_seconds),
    )


@asynccontextmanager
async def open_poller(
    settings: Settings, services: App, _: StopSignal
) -> AsyncGenerator[Sequence[ProcessPart]]:
    """The poller, where a bucket is watched and its pipeline is installed."""
    if settings.bucket_pipeline not in services.catalog.accepts:
        log.warning("poller.off", why=f"there is no pipeline {settings.bucket_pipeline}")
        yield []
    else:
        part = ProcessPart("poller", partial(_keep_polling, settings, services))
        yield [] if settings.bucket == NO_BUCKET else [part]


async def _keep_polling(settings: Settings, services: App, life: PartLife) -> None:
    """What is under way ends at its next step, and goes on later."""
    bucket = open_bucket(settings, services)
    assert bucket is not None
    life.up()
    usual = FOLDER_SECONDS if isinstance(bucket.store, LocalStore) else BUCKET_SECONDS
    try:
        await keep_polling(
            bucket,
            every=timedelta(seconds=settings.bucket_seconds or usual),
            sweep_every=timedelta(seconds=settings.bucket_sweep_seconds),
        )
    finally:
        await bucket.store.close()
