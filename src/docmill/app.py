"""The composition root: settings become configs, pool and store are opened, rooms are found."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, fields
from datetime import timedelta
from typing import Any, Final, TypeVar

import psycopg
import structlog
from fastapi import FastAPI
from pydantic import SecretStr

from docmill.accounts.oidc import IdentityProvider
from docmill.cache import Cache, MemoryCache, open_cache
from docmill.core import failpoints, installed, owners, plugins
from docmill.core.documents import BUCKET
from docmill.core.installed import MappingRules, PipelineCatalog, StartError
from docmill.core.jobs import Retry
from docmill.core.meters import Meter, Meters, measure_one
from docmill.core.parts import Parts
from docmill.core.retention import RetentionRules, StoredKind
from docmill.db import migrate
from docmill.db.notify import CHANGES, WORK, Notifier
from docmill.db.pool import OUTAGES, Pool, open_pool
from docmill.documents import api as documents_api
from docmill.documents import originals, source_api
from docmill.documents import pages as documents_pages
from docmill.documents.accept import Acceptor
from docmill.documents.bucket_monitor import WatchedBucket, WatchedBuckets
from docmill.documents.links import SignedLinks
from docmill.documents.places import PlacedStore
from docmill.documents.previews import PageViews, PreviewSandbox, SharedRuns
from docmill.documents.sources import BucketSource, check_sources
from docmill.extract.search import SearchModel
from docmill.invoices.own_mappings import open_mappings
from docmill.jobs import (
    api,
    boosting,
    catalog,
    direct,
    document_pages,
    downloads,
    events,
    links,
    pages,
    read_as,
    status,
    upload,
)
from docmill.jobs.access import SiteJobs
from docmill.jobs.estimator import Estimator
from docmill.jobs.kept import KeptLists, KeptStatuses
from docmill.jobs.live import LiveChanges
from docmill.jobs.metrics import JobMetrics
from docmill.queue import worker
from docmill.queue.leases import Identity
from docmill.queue.rescue import Upkeep
from docmill.queue.shares import ShareLimits
from docmill.reading.embeddings import Embed, embed_locally
from docmill.sandbox.limits import RunLimits
from docmill.settings import RetryRule, Settings, SourceRule
from docmill.storage import open_pair
from docmill.storage.contract import Store
from docmill.trades.metrics import TradeMetrics
from docmill.web import application
from docmill.web.auth import Authenticator
from docmill.web.config import QuotaConfig, SignInConfig, TokenConfig, WebConfig
from docmill.web.limits import RateLimits
from docmill.web.metrics import Metrics, ProcessCollector
from docmill.web.readiness import Readiness
from docmill.web.site import Site
from docmill.webhooks.metrics import WebhookMetrics

log = structlog.get_logger()

Config = TypeVar(
    "Config", worker.WorkerConfig, WebConfig, TokenConfig, SignInConfig, QuotaConfig, RunLimits
)


@dataclass(frozen=True, slots=True)
class App:
    """What every process of docmill works with."""

    pool: Pool
    listen_url: str | None
    store: Store
    catalog: PipelineCatalog
    work: Notifier
    changes: Notifier
    acceptor: Acceptor
    cache: Cache = field(default_factory=MemoryCache)
    parts: Parts = field(default_factory=Parts)
    meters: Meters = field(default_factory=Meters)

    def __post_init__(self) -> None:
        says = "1 while the cache answers this process; its own memory always does"
        up = Meter("cache_up", says, measure_one(lambda: self.cache.is_up))
        self.meters.add(*self.pool.list_meters(), up)


@asynccontextmanager
async def open_app(
    settings: Settings, database_url: str, parts: Parts | None = None
) -> AsyncGenerator[App]:
    """`parts` is where the process notes which of its parts run."""
    failpoints.arm(settings.failpoints)
    await check_database(settings, database_url)
    own = open_stores(settings)
    size, pooler = settings.database_connections, settings.database_pooler
    redis_url = settings.redis_url.get_secret_value() if settings.redis_url else None
    async with (
        # Behind a pooler nobody hears of a job that has ended and changes.
        open_cache(redis_url, is_told=not pooler) as cache,
        open_pool(database_url, size=size, pooler=pooler) as pool,
    ):
        store = PlacedStore(own, pool, list_addresses(settings))
        added = await open_mappings(pool, settings.mappings_dir)
        catalog = find_catalog(settings.mappings, settings.default_mapping, added)
        async with pool.connection() as conn:
            await pool.look_at_wall(conn)
        redis = cache if pooler and redis_url else None
        work, changes = Notifier(pool, WORK, redis), Notifier(pool, CHANGES, redis)
        rules = retention_rules(settings)
        acceptor = Acceptor(
            pool, store, catalog, work, changes, rules.uploads, settings.share_results,
            rules.pipelines.get("uploads", {}),
        )  # fmt: skip
        listen_url = redis_url if pooler else database_url
        try:
            yield App(
                pool, listen_url, store, catalog, work, changes, acceptor, cache, parts or Parts()
            )
        finally:
            await work.close()
            await changes.close()
            await store.close()


def list_sources(settings: Settings) -> list[BucketSource]:
    """The buckets to watch: the one of DOCMILL_BUCKET first, then those of DOCMILL_SOURCES."""
    own, every = settings.bucket or str(settings.data / "bucket"), settings.bucket_seconds
    first = SourceRule(
        bucket=own, pipeline=settings.bucket_pipeline, desk=settings.bucket_desk, seconds=every
    )
    rules = [*([] if own == NO_BUCKET else [(BUCKET, first)]), *settings.sources.items()]
    return check_sources(
        [
            BucketSource(
                name, rule.bucket, rule.pipeline, rule.desk,
                timedelta(seconds=rule.seconds) if rule.seconds else None, rule.paused,
            )
            for name, rule in rules
        ]
    )  # fmt: skip


def list_addresses(settings: Settings) -> list[str]:
    return [source.address for source in list_sources(settings)]


def find_store(settings: Settings) -> str:
    return settings.store or str(settings.data / "store")


def open_stores(settings: Settings) -> Store:
    place = find_store(settings)
    try:
        return open_pair(place, settings.store_also)
    except OSError as exc:
        raise StartError(
            f"The store {place.partition('?')[0]} can't be used: {exc.strerror or exc}.\n"
            "Make it writable for this user, or set DOCMILL_STORE to another place."
        ) from exc


def find_catalog(
    allowed: Sequence[str], default: str, added: Sequence[str] = ()
) -> PipelineCatalog:
    """The installed pipelines and what each takes: of the mappings those allowed, empty for all.

    `added` are the operator's own, for every pipeline that takes mappings.
    """
    loaded = installed.load_pipelines(sorted(installed.find_installed()))
    for name, stack in loaded.broken.items():
        log.error("pipeline.broken", pipeline=name, stack=stack)
    return installed.make_catalog(loaded, MappingRules(allowed, default, added))


async def check_database(settings: Settings, database_url: str) -> None:
    """Refuse to start on a database that cannot keep our promises."""
    try:
        conn = await psycopg.AsyncConnection.connect(database_url, connect_timeout=10)
    except (*OUTAGES, psycopg.ProgrammingError) as exc:
        raise StartError(
            f"The database can't be reached: {str(exc).strip()}\n"
            "Check DATABASE_URL and that PostgreSQL runs."
        ) from exc
    async with conn:
        row = await (await conn.execute("SHOW synchronous_commit")).fetchone()
    if row == ("off",) and not settings.allow_async_commit:
        raise StartError(
            "The database runs with synchronous_commit=off and may forget what it acknowledged.\n"
            "Turn it on, or set DOCMILL_ALLOW_ASYNC_COMMIT=true if you accept losing jobs."
        )
    if pending := await migrate.find_pending(database_url):
        raise StartError(
            f"The database lacks {len(pending)} migrations, first {pending[0]}.\n"
            "Run `docmill migrate`."
        )


NO_BUCKET: Final = "none"
# The service by which invoices are converted elsewhere, as breakers and jobs know it.
GATEWAY: Final = "gateway"
# The pipelines whose results nobody wants gone after a month.
KEPT_FOR_GOOD: Final = ("study",)
# What comes by a bucket has nobody waiting for it: 5, 15 and 60 minutes.
BUCKET_RETRY: Final = RetryRule(attempts=4, delays_seconds=(300, 900, 3600))


def configure(config: type[Config], settings: Settings, prefix: str = "", **given: Any) -> Config:
    """A config class from the settings of the same names: `lease` is `lease_seconds`.

    So a setting reaches its user by being named there. `given` is what has no setting of its name.
    """
    names = [each.name for each in fields(config) if each.name not in given]
    found = {name: _find_setting(settings, prefix + name) for name in names}
    return config(**{name: value[0] for name, value in found.items() if value}, **given)


def _find_setting(settings: Settings, name: str) -> tuple[Any, ...]:
    """Its value, alone in a tuple, or nothing."""
    known = Settings.model_fields
    if name in known:
        value = getattr(settings, name)
        return (value.get_secret_value() if isinstance(value, SecretStr) else value,)
    for unit in ("seconds", "days"):
        if f"{name}_{unit}" in known:
            return (timedelta(**{unit: getattr(settings, f"{name}_{unit}")}),)
    return ()


def retention_rules(settings: Settings) -> RetentionRules:
    """By pipeline only what was said of it: null is for good, left out is as for all others."""
    said: dict[StoredKind, dict[str, timedelta | None]] = {
        "uploads": {},
        "results": dict.fromkeys(KEPT_FOR_GOOD),
    }
    for name, rule in settings.retention.items():
        if "uploads_days" in rule.model_fields_set:
            said["uploads"][name] = _as_days(rule.uploads_days)
        if "results_days" in rule.model_fields_set:
            said["results"][name] = _as_days(rule.results_days)
    return RetentionRules(
        timedelta(days=settings.keep_uploads_days),
        timedelta(days=settings.keep_results_days),
        said,
        settings.pressure_percent / 100,
        timedelta(days=settings.pressure_uploads_days),
        timedelta(days=settings.pressure_results_days),
    )


def _as_days(days: float | None) -> timedelta | None:
    return None if days is None else timedelta(days=days)


def worker_config(settings: Settings, installed: Sequence[str]) -> worker.WorkerConfig:
    rules = retention_rules(settings)
    return configure(
        worker.WorkerConfig,
        settings,
        pipelines=settings.pipelines or tuple(installed),
        slots=settings.worker_slots,
        long_after=timedelta(seconds=settings.long_seconds),
        keep=rules.results,
        keeps=rules.pipelines.get("results", {}),
        shares=ShareLimits(settings.owner_slots, settings.pipeline_slots),
        retry=_retry_rule(settings, RetryRule(attempts=settings.attempts)),
        retries={
            name: _retry_rule(settings, rule)
            for name, rule in {BUCKET: BUCKET_RETRY, **settings.retries}.items()
        },
    )


def _retry_rule(settings: Settings, rule: RetryRule) -> Retry:
    return Retry(
        rule.attempts,
        timedelta(seconds=settings.retry_seconds),
        timedelta(seconds=settings.retry_jitter_seconds),
        tuple(timedelta(seconds=seconds) for seconds in rule.delays_seconds),
    )


def web_config(settings: Settings) -> WebConfig:
    users = {
        "desk_users": settings.desk_users,
        "admin_users": settings.admin_users,
        "admin_readers": settings.admin_readers,
    }
    return configure(
        WebConfig,
        settings,
        auth_mode=settings.auth_mode or "session",
        hosts=(settings.host, *settings.hosts),
        tokens=configure(TokenConfig, settings, "jwt_", **users),
        sign_in=configure(SignInConfig, settings, "oidc_"),
        quotas=configure(QuotaConfig, settings, "quota_"),
        secure_cookies=settings.production,
        disk_limit=settings.disk_limit_percent / 100,
        switches=_find_switches(settings),
        retention=retention_rules(settings),
    )


def _find_switches(settings: Settings) -> frozenset[str]:
    named = {room.enabled_by for room in installed.find_rooms().rooms.values() if room.enabled_by}
    return frozenset(name for name, on in settings.model_dump(include=named).items() if on)


def pipeline_options(settings: Settings) -> dict[str, dict[str, Any]]:
    """The settings that the runs of a pipeline are told, besides what their job says."""
    return {
        room.pipeline: settings.model_dump(include={*room.settings})
        for room in installed.find_rooms().rooms.values()
        if room.settings
    }


def sandbox_limits(settings: Settings) -> RunLimits:
    return configure(
        RunLimits,
        settings,
        "child_",
        memory_bytes=settings.child_memory_mb * 1024 * 1024,
        total=timedelta(seconds=settings.child_seconds),
        cpu_per_mb=timedelta(seconds=settings.child_cpu_seconds_per_mb),
    )


def upkeep_config(
    settings: Settings, services: App, rules: worker.WorkerConfig, identity: Identity
) -> Upkeep:
    return Upkeep(
        services.pool,
        services.store,
        services.work,
        services.changes,
        rules,
        identity,
        keep_events=timedelta(days=settings.keep_events_days),
        rescue_every=timedelta(seconds=settings.rescue_seconds),
        awaited={"invoice": GATEWAY} if settings.gateway_url else {},
        patience=timedelta(seconds=settings.breaker_patience_seconds),
        retention=retention_rules(settings),
    )


# The name by which workers tell how it is with the gateways, however many there are.
# What every installation has; the other rooms are found by their entry points.
PACKAGES: Final = ("docmill.jobs", "docmill.documents")
# In the order in which they are tried: what programs poll comes first.
ROUTERS: Final = (
    status.router,
    api.router,
    upload.router,
    direct.router,
    boosting.router,
    read_as.router,
    downloads.router,
    links.router,
    originals.router,
    originals.files_router,
    documents_api.bucket_router,
    source_api.router,
    documents_api.pages_router,
    documents_api.router,
    events.router,
    catalog.router,
    pages.router,
    document_pages.router,
    documents_pages.declared_router,
    documents_pages.router,
)


# Asked for most; found before all others.
FIRST_ROUTES: Final = (status.route, upload.route)


def create_web(
    services: App,
    config: WebConfig,
    sandbox: PreviewSandbox | None = None,
    *,
    embed: Embed = embed_locally,
    watched: WatchedBuckets | None = None,
) -> FastAPI:
    """`embed` makes the vectors of what people search for."""
    site = _create_site(services, config)
    statuses = KeptStatuses(site.cache, site.metrics)
    live = LiveChanges(services.pool, services.listen_url, statuses)
    shares = SharedRuns(sandbox)
    watched = watched or WatchedBuckets((WatchedBucket(owners.desk("trading")),))
    site.add(services.acceptor, live, Estimator(services.pool), SearchModel(embed))
    site.add(upload.DiskGauge(services.store))
    site.add(shares, PageViews(shares, site), SignedLinks(services.store), watched)
    site.closers.append(live.close)
    site.metrics.rooms += [one(site.metrics) for one in (JobMetrics, TradeMetrics, WebhookMetrics)]
    site.add(SiteJobs(site), IdentityProvider(config.sign_in, services.pool))
    site.add(statuses, status.StatusReader(services.pool), KeptLists(site.cache, site.metrics))
    rooms = [
        room
        for room in installed.find_rooms().rooms.values()
        if not room.enabled_by or room.enabled_by in config.switches
    ]
    routers = [*ROUTERS, *(plugins.resolve(one) for room in rooms for one in room.routers)]
    packages = [*PACKAGES, *(room.package for room in rooms if room.package)]
    running = [live.running(), watched.running()]
    return application.create_app(site, routers, packages, running, FIRST_ROUTES)


def _create_site(services: App, config: WebConfig) -> Site:
    pool, store, parts = services.pool, services.store, services.parts
    return Site(
        pool=pool,
        store=store,
        cache=services.cache,
        work=services.work,
        changes=services.changes,
        catalog=services.catalog,
        parts=parts,
        config=config,
        metrics=Metrics(ProcessCollector(parts, services.meters)),
        auth=Authenticator.create(config, pool),
        readiness=Readiness(pool, store, parts),
        limits=RateLimits(config, pool, services.cache),
    )
