"""Settings told as the rules each part is handed."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Final

from docmill.core.jobs import Retry
from docmill.settings import RetryRule, Settings
from docmill.web.rules import Rules as WebRules
from docmill.web.rules import TokenRules
from docmill.wiring import Services
from docmill.work import worker
from docmill.work.child import Limits
from docmill.work.identity import Identity
from docmill.work.upkeep import Upkeep

# What comes by a bucket has nobody waiting for it: 5, 15 and 60 minutes.
BUCKETS: Final = RetryRule(attempts=4, delays_seconds=(300, 900, 3600))


def work_rules(settings: Settings, installed: Sequence[str]) -> worker.Rules:
    return worker.Rules(
        pipelines=settings.pipelines or tuple(installed),
        slots=settings.worker_slots,
        lease=timedelta(seconds=settings.lease_seconds),
        heartbeat=timedelta(seconds=settings.heartbeat_seconds),
        poll=timedelta(seconds=settings.poll_seconds),
        grace=timedelta(seconds=settings.grace_seconds),
        longest=timedelta(seconds=settings.longest_seconds),
        keep=timedelta(days=settings.keep_results_days),
        retry=_retry(settings, RetryRule(attempts=settings.attempts)),
        retries={
            name: _retry(settings, rule)
            for name, rule in {settings.bucket_pipeline: BUCKETS, **settings.retries}.items()
        },
    )


def _retry(settings: Settings, rule: RetryRule) -> Retry:
    return Retry(
        rule.attempts,
        timedelta(seconds=settings.retry_seconds),
        timedelta(seconds=settings.retry_jitter_seconds),
        tuple(timedelta(seconds=seconds) for seconds in rule.delays_seconds),
    )


def web_rules(settings: Settings) -> WebRules:
    secret = settings.jwt_secret
    return WebRules(
        auth_mode=settings.auth_mode,
        tokens=TokenRules(
            secret.get_secret_value() if secret else None,
            settings.jwt_jwks_url,
            settings.jwt_audience,
            settings.jwt_issuer,
            settings.jwt_premium_claim,
            settings.jwt_desk_claim,
            settings.desk_users,
        ),
        secure_cookies=settings.production,
        max_upload_bytes=settings.max_upload_bytes,
        max_files=settings.max_files,
        uploads_per_minute=settings.uploads_per_minute,
        disk_limit=settings.disk_limit_percent / 100,
        default_pipeline=settings.default_pipeline,
        documents_pipeline=settings.documents_pipeline,
        delete_on_download=settings.delete_on_download,
        docling=settings.docling,
    )


def pipeline_options(settings: Settings) -> dict[str, dict[str, float]]:
    """What runs of a pipeline are told, besides what their job says."""
    return {"trades": {"review_threshold": settings.review_threshold}}


def limits(settings: Settings) -> Limits:
    return Limits(
        memory_bytes=settings.child_memory_mb * 1024 * 1024,
        stall=timedelta(seconds=settings.child_stall_seconds),
        total=timedelta(seconds=settings.child_seconds),
    )


def upkeep_rules(
    settings: Settings, services: Services, rules: worker.Rules, identity: Identity
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
        patience=timedelta(seconds=settings.breaker_patience_seconds),
    )
