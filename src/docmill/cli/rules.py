"""Settings told as the rules each part is handed."""

from collections.abc import Sequence
from datetime import timedelta

from docmill.core.jobs import Retry
from docmill.settings import RetryRule, Settings
from docmill.wiring import Services
from docmill.work import worker
from docmill.work.child import Limits
from docmill.work.identity import Identity
from docmill.work.upkeep import Upkeep


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
        retry=Retry(
            settings.attempts,
            timedelta(seconds=settings.retry_seconds),
            timedelta(seconds=settings.retry_jitter_seconds),
        ),
        retries={name: _retry(rule) for name, rule in settings.retries.items()},
    )


def _retry(rule: RetryRule) -> Retry:
    delays = tuple(timedelta(seconds=seconds) for seconds in rule.delays_seconds)
    return Retry(rule.attempts, delays=delays)


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
    )
