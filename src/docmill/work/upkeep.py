"""Upkeep: jobs of dead workers are rescued, old files and orphans are removed, once and again."""

import asyncio
import gzip
import json
import random
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Final

import psycopg
import structlog

from docmill.core import failpoints
from docmill.core.faults import Faulted
from docmill.core.jobs import JobId, LeaseLost, settle
from docmill.db import (
    answers,
    breakers,
    documents,
    history,
    housekeeping,
    leases,
    queue,
    results,
    steps,
)  # fmt: skip
from docmill.db.pool import OUTAGES, Connection, Pool
from docmill.db.queue import Settlement
from docmill.db.signals import Bell
from docmill.storage import Store
from docmill.work.guard import PATIENCE
from docmill.work.identity import Identity, is_dead
from docmill.work.worker import Rules

log = structlog.get_logger()

BATCH: Final = 200
ORPHAN_AGE: Final = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Upkeep:
    """What the upkeep works with."""

    pool: Pool
    store: Store
    work: Bell
    changes: Bell
    rules: Rules
    identity: Identity
    keep_events: timedelta = timedelta(days=90)
    rescue_every: timedelta = timedelta(seconds=15)
    sweep_every: timedelta | None = timedelta(days=1)
    awaited: Mapping[str, str] = field(default_factory=dict[str, str])  # pipeline: its service
    patience: timedelta = PATIENCE


async def keep_up(upkeep: Upkeep) -> None:
    """All loops, until cancelled."""
    async with asyncio.TaskGroup() as group:
        group.create_task(_again(rescue, upkeep, every=upkeep.rescue_every))
        if upkeep.awaited:
            group.create_task(_again(refuse, upkeep, every=upkeep.rescue_every))
        if upkeep.sweep_every:
            group.create_task(_again(sweep, upkeep, every=upkeep.sweep_every))


async def _again(
    task: Callable[[Upkeep], Awaitable[object]], upkeep: Upkeep, *, every: timedelta
) -> None:
    while True:
        try:
            await task(upkeep)
        except (*OUTAGES, Faulted, psycopg.errors.DeadlockDetected) as exc:
            log.warning("upkeep.waits", error=type(exc).__name__)
        await asyncio.sleep(every.total_seconds() * random.uniform(0.8, 1.2))  # noqa: S311


async def rescue(upkeep: Upkeep) -> int:
    """Settle the jobs of workers that are silent, dead on this machine, or at it for too long."""
    failpoints.hit("rescue.before")
    async with upkeep.pool.connection() as conn:
        rescued = await take_back(conn, upkeep.rules, upkeep.identity)
    for item in rescued:
        log.warning("job.rescued", job=str(item.job.id), claim=item.job.claim, to=str(item.move.to))
    if rescued:
        upkeep.work.ring()
        upkeep.changes.ring()
    return len(rescued)


async def take_back(conn: Connection, rules: Rules, me: Identity) -> list[Settlement]:
    """Settled as lost; those that somebody else settled meanwhile are not among them."""
    dead = [worker for worker in await leases.holders(conn) if is_dead(worker, me)]
    settlements = [
        Settlement(job, settle(job, LeaseLost(), retry=rules.retry_of(job.pipeline), chance=0))
        for job in await leases.stale(conn, longest=rules.longest, dead=dead)
    ]
    moved = await queue.settle(conn, settlements) if settlements else set[JobId]()
    return [item for item in settlements if item.job.id in moved]


async def refuse(upkeep: Upkeep) -> int:
    """Fail the jobs that have waited too long for a service that keeps failing."""
    refused: list[JobId] = []
    for pipeline, service in upkeep.awaited.items():
        async with upkeep.pool.connection() as conn:
            refused += await breakers.refuse(
                conn, pipeline=pipeline, service=service, patience=upkeep.patience
            )
    for job_id in refused:
        log.warning("job.refused", job=str(job_id), code="SERVICE_GONE")
    if refused:
        upkeep.changes.ring()
    return len(refused)


async def sweep(upkeep: Upkeep) -> None:
    """Retention. It may stop anywhere and go on: bytes go first, their row learns of it after."""
    await _expire_results(upkeep)
    await _expire_uploads(upkeep)
    await _archive_events(upkeep)
    await _remove_orphans(upkeep)
    async with upkeep.pool.connection() as conn:
        await housekeeping.forget_requests(conn, timedelta(days=1))
        await answers.forget(conn)
        await steps.forget(conn)
        await housekeeping.forget_deletions(conn, timedelta(days=7))
    log.info("upkeep.swept")


async def _expire_results(upkeep: Upkeep) -> None:
    while True:
        async with upkeep.pool.connection() as conn:
            batch = await results.expiring(conn, BATCH)
        for job_id in batch:
            async with upkeep.pool.connection() as conn:
                keys = await results.keys(conn, job_id)
            for key in keys:
                await upkeep.store.delete(key)
            failpoints.hit("expire.deleted")
            async with upkeep.pool.connection() as conn:
                await results.expire(conn, job_id)
        if len(batch) < BATCH:
            return


async def _expire_uploads(upkeep: Upkeep) -> None:
    while True:
        async with upkeep.pool.connection() as conn:
            batch = await documents.expiring(conn, BATCH)
        for document_id, key in batch:
            await upkeep.store.delete(key)
            async with upkeep.pool.connection() as conn:
                await documents.expire(conn, document_id)
        if len(batch) < BATCH:
            return


async def _archive_events(upkeep: Upkeep) -> None:
    """Old events go to cold storage as compressed lines; after a crash perhaps twice."""
    while True:
        async with upkeep.pool.connection() as conn:
            old = await history.forget_events(conn, keep=upkeep.keep_events, limit=5000)
            if not old:
                return
            lines = "".join(json.dumps(event, default=str) + "\n" for event in old)
            key = (
                f"archive/events/{datetime.now(UTC):%Y/%m}/{old[0]['id']}-{old[-1]['id']}.jsonl.gz"
            )
            await upkeep.store.create(key, gzip.compress(lines.encode(), mtime=0))


async def _remove_orphans(upkeep: Upkeep) -> None:
    """Files that no row knows: left by a crash between storing and writing down."""
    before = datetime.now(UTC) - ORPHAN_AGE
    for prefix in ("uploads", "results"):
        async for page in upkeep.store.pages(prefix):
            keys = [item.key for item in page if item.changed_at < before]
            async with upkeep.pool.connection() as conn:
                known = await documents.known_keys(conn, keys)
            for key in set(keys) - known:
                log.info("orphan.removed", key=key)
                await upkeep.store.delete(key)
