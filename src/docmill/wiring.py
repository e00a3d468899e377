"""start(): logging on, database checked, pool and store open, pipelines found -> Services."""

import logging
import sys
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import psycopg
import structlog
from structlog.typing import EventDict

from docmill.core import failpoints, pipeline
from docmill.core.faults import Told
from docmill.db import migrate
from docmill.db.pool import OUTAGES, Pool, open_pool
from docmill.db.signals import CHANGES, WORK, Bell
from docmill.ingest.checks import Offer
from docmill.ingest.intake import Intake
from docmill.settings import Settings
from docmill.storage import Store, open_store

log = structlog.get_logger()


class CannotStart(Told):
    """The surroundings do not allow a start."""


@dataclass(frozen=True, slots=True)
class Services:
    """What every process of docmill works with."""

    pool: Pool
    listen_url: str | None
    store: Store
    offer: Offer
    work: Bell
    changes: Bell
    intake: Intake


@asynccontextmanager
async def start(settings: Settings, database_url: str) -> AsyncGenerator[Services]:
    failpoints.arm(settings.failpoints)
    await check_database(settings, database_url)
    store = open_store(settings.store or str(settings.data / "store"))
    offer = find_offer(settings.mappings, settings.default_mapping)
    size, pooler = settings.database_connections, settings.database_pooler
    async with open_pool(database_url, size=size, pooler=pooler) as pool:
        work, changes = Bell(pool, WORK), Bell(pool, CHANGES)
        keep = timedelta(days=settings.keep_uploads_days)
        intake = Intake(pool, store, offer, work, changes, keep, settings.share_results)
        listen_url = None if pooler else database_url
        try:
            yield Services(pool, listen_url, store, offer, work, changes, intake)
        finally:
            await work.close()
            await changes.close()
            await store.close()


def find_offer(allowed: Sequence[str], default: str) -> Offer:
    """The installed pipelines and what each takes: of the mappings those allowed, empty for all."""
    loaded = pipeline.load_all(sorted(pipeline.found()))
    for name, stack in loaded.broken.items():
        log.error("pipeline.broken", pipeline=name, stack=stack)
    known = loaded.pipelines.items()
    installed = {name: pipeline.mappings_of(one) for name, one in known}
    if not loaded.broken:  # those of a broken pipeline can't be known
        _check_mappings({name for names in installed.values() for name in names}, allowed, default)
    mappings = {name: _offered(names, allowed, default) for name, names in installed.items()}
    return Offer(
        {name: one.accepts for name, one in known},
        {name: names for name, names in mappings.items() if names},
        frozenset(name for name, one in known if pipeline.asks(one)),
    )


def _offered(names: Sequence[str], allowed: Sequence[str], default: str) -> tuple[str, ...]:
    """Those allowed, the default first and the others in the pipeline's order."""
    kept = [name for name in names if not allowed or name in allowed]
    return tuple(sorted(kept, key=lambda name: name != default))


def _check_mappings(installed: set[str], allowed: Sequence[str], default: str) -> None:
    if unknown := sorted({*allowed, default} - installed):
        raise CannotStart(
            f"There is no mapping {', '.join(unknown)}.\n"
            "DOCMILL_MAPPINGS and DOCMILL_DEFAULT_MAPPING take these: "
            f"{', '.join(sorted(installed))}."
        )
    if allowed and default not in allowed:
        raise CannotStart(
            f"The default mapping {default} is not allowed.\n"
            f"Set DOCMILL_DEFAULT_MAPPING to one of DOCMILL_MAPPINGS: {', '.join(allowed)}."
        )


async def check_database(settings: Settings, database_url: str) -> None:
    """Refuse to start on a database that cannot keep our promises."""
    try:
        conn = await psycopg.AsyncConnection.connect(database_url, connect_timeout=10)
    except (*OUTAGES, psycopg.ProgrammingError) as exc:
        raise CannotStart(
            f"The database can't be reached: {exc}\nCheck DATABASE_URL and that PostgreSQL runs."
        ) from exc
    async with conn:
        row = await (await conn.execute("SHOW synchronous_commit")).fetchone()
    if row == ("off",) and not settings.allow_async_commit:
        raise CannotStart(
            "The database runs with synchronous_commit=off and may forget what it acknowledged.\n"
            "Turn it on, or set DOCMILL_ALLOW_ASYNC_COMMIT=true if you accept losing jobs."
        )
    if pending := await migrate.pending(database_url):
        raise CannotStart(
            f"The database lacks {len(pending)} migrations, first {pending[0]}.\n"
            "Run `docmill migrate`."
        )


def log_to_stderr(settings: Settings) -> None:
    """JSON lines, or readable ones when a person is watching."""
    pretty = sys.stderr.isatty() and not settings.production
    renderer = structlog.dev.ConsoleRenderer() if pretty else structlog.processors.JSONRenderer()
    level = logging.getLevelNamesMapping()[settings.log_level.upper()]
    logging.basicConfig(level=max(level, logging.WARNING), format="%(message)s")
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            _without_nulls,
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )


def _without_nulls(_: Any, __: str, event: EventDict) -> EventDict:
    return {key: value for key, value in event.items() if value is not None}
