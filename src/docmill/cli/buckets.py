"""Commands about the watched bucket: poll, reconcile."""

import asyncio
from contextlib import AsyncExitStack
from datetime import timedelta
from functools import partial
from typing import Annotated, Final

import structlog
import typer

from docmill.cli import database_checks
from docmill.cli.console import say, say_json
from docmill.cli.options import Data
from docmill.cli.stopping import Stop
from docmill.cli.tables import show_rows
from docmill.core import owners
from docmill.core.faults import Told
from docmill.db.bucket_counts import Count
from docmill.ingest import poller
from docmill.ingest.poller import INCOMING, Bucket
from docmill.ingest.reconcile import keep_polling, reconcile
from docmill.settings import Settings, read
from docmill.storage import open_store
from docmill.storage.local import LocalStore
from docmill.web.watched import Watched
from docmill.wiring import CannotStart, Services, log_to_stderr, start

log = structlog.get_logger()

NONE: Final = "none"
COLUMNS: Final = ("prefix", "objects", "done", "failed", "waiting", "unknown", "missing")
FOLDER_SECONDS: Final = 2.0
BUCKET_SECONDS: Final = 30.0

Json = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]


def poll(
    once: Annotated[bool, typer.Option(help="Look once, then end.")] = False, data: Data = None
) -> None:
    """Watch the bucket: files in incoming/ become jobs. Start as many as you like.

    DOCMILL_BUCKET names the bucket; without it, the folder bucket/incoming/ in the data folder is
    watched. `docmill serve` does the same by itself.
    """
    settings = read(data=data)
    log_to_stderr(settings)
    asyncio.run(_poll(settings, once=once))


def reconcile_(data: Data = None, as_json: Json = False) -> None:
    """Count the bucket's objects against the database; exit 1 when they disagree.

    Per prefix: objects = done + failed + waiting + unknown. Unknown objects are in the bucket and
    in no row; missing ones are in a row and not in the bucket. Both should be 0.
    """
    counts = asyncio.run(_reconcile(read(data=data)))
    if as_json:
        say_json([{name: getattr(count, name) for name in COLUMNS} for count in counts])
    else:
        show_rows(COLUMNS, [[getattr(count, name) for name in COLUMNS] for count in counts])
    if any(count.unknown or count.missing for count in counts):
        raise typer.Exit(1)


async def _reconcile(settings: Settings) -> list[Count]:
    async with start(settings, _database(settings)) as services:
        return await _counted(settings, services)


async def _counted(settings: Settings, services: Services) -> list[Count]:
    bucket = open_bucket(settings, services)
    if bucket is None:
        raise Told("No bucket is watched: DOCMILL_BUCKET is none.\nSet it to a bucket.")
    try:
        return await reconcile(bucket)
    finally:
        await bucket.store.close()


def watched(settings: Settings, services: Services) -> Watched:
    """The bucket for the web, which opens it only to count."""
    desk = owners.desk(settings.bucket_desk)
    if settings.bucket == NONE:
        return Watched(desk)
    place = _place(settings).partition("?")[0].rstrip("/")
    return Watched(desk, partial(_counted, settings, services), place)


def _place(settings: Settings) -> str:
    return settings.bucket or str(settings.data / "bucket")


async def _poll(settings: Settings, *, once: bool) -> None:
    async with start(settings, _database(settings)) as services:
        check_pipeline(settings, services)
        if once:
            bucket = open_bucket(settings, services)
            if bucket:
                say(f"{await poller.poll(bucket)} objects")
                await bucket.store.close()
            return
        await watch(settings, services, Stop())


def _database(settings: Settings) -> str:
    """DATABASE_URL, or the embedded database where a `docmill serve` runs it."""
    if settings.database_url:
        return settings.database_url.get_secret_value()
    if url := database_checks.running(settings.data):
        return url
    raise CannotStart("DATABASE_URL is not set.\nSet it, or start `docmill serve` first.")


def check_pipeline(settings: Settings, services: Services) -> None:
    if settings.bucket_pipeline not in services.offer.accepts:
        raise CannotStart(
            f"There is no pipeline {settings.bucket_pipeline} for what comes by the bucket.\n"
            f"Set DOCMILL_BUCKET_PIPELINE to one of: {', '.join(sorted(services.offer.accepts))}."
        )


def open_bucket(settings: Settings, services: Services) -> Bucket | None:
    if settings.bucket == NONE:
        return None
    store = open_store(_place(settings))
    if isinstance(store, LocalStore):  # so that people find where to drop a file
        (store.root / INCOMING).mkdir(exist_ok=True)
    return Bucket(
        store,
        services.intake,
        owners.desk(settings.bucket_desk),
        settings.bucket_pipeline,
        max_bytes=settings.max_upload_bytes,
        batch=settings.bucket_batch,
        stuck=timedelta(seconds=settings.bucket_stuck_seconds),
    )


async def watch(settings: Settings, services: Services, stop: Stop) -> None:
    """Poll until asked to stop: what is under way ends at its next step, and goes on later."""
    async with AsyncExitStack() as stack:
        bucket = open_bucket(settings, services)
        if bucket is None:
            await stop.asked.wait()
            return
        stack.push_async_callback(bucket.store.close)
        usual = FOLDER_SECONDS if isinstance(bucket.store, LocalStore) else BUCKET_SECONDS
        polling = asyncio.create_task(
            keep_polling(
                bucket,
                every=timedelta(seconds=settings.bucket_seconds or usual),
                sweep_every=timedelta(seconds=settings.bucket_sweep_seconds),
            )
        )
        asked = asyncio.create_task(stop.asked.wait())
        await asyncio.wait({polling, asked}, return_when=asyncio.FIRST_COMPLETED)
        asked.cancel()
        polling.cancel()
        outcomes = await asyncio.gather(polling, return_exceptions=True)
        if isinstance(outcomes[0], Exception):
            raise outcomes[0]
