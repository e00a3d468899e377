"""Upkeep: jobs of dead workers are rescued, old files and orphans are removed, once and again."""

import asyncio
import gzip
import json
import random
from collections.abc import Awaitable, Callable, Coroutine
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, Final

import psycopg
import structlog

from docmill.core import failpoints, installed, plugins
from docmill.core.faults import DocmillError
from docmill.db.pool import Connection, Outage
from docmill.documents import direct, queries
from docmill.jobs import results
from docmill.queue import spool, steps
from docmill.queue.rescue import Upkeep, fail_waiting_jobs, rescue_jobs
from docmill.services import broker, model_calls

log = structlog.get_logger()

Task = Callable[[Upkeep], Awaitable[object]]

BATCH: Final = 200
UPLOADS_EVERY: Final = timedelta(minutes=15)
ORPHAN_AGE: Final = timedelta(hours=1)
# What failed is tried again so soon; a sweep would otherwise wait for the next day.
AGAIN_SECONDS: Final = 60.0


def make_loops(upkeep: Upkeep) -> dict[str, Callable[[], Coroutine[None, None, None]]]:
    """By name; each goes on until it is cancelled, and none needs another."""
    tasks: dict[str, tuple[Task, timedelta]] = {"rescue": (rescue_jobs, upkeep.rescue_every)}
    if upkeep.awaited:
        tasks["refusals"] = (fail_waiting_jobs, upkeep.rescue_every)
    if upkeep.sweep_every:
        tasks["retention"] = (sweep, upkeep.sweep_every)
        tasks["uploads"] = (sweep_uploads, min(upkeep.sweep_every, UPLOADS_EVERY))
    return {name: partial(_repeat, name, *task, upkeep) for name, task in tasks.items()}


async def run_upkeep(upkeep: Upkeep) -> None:
    """All loops, until cancelled."""
    async with asyncio.TaskGroup() as group:
        for loop in make_loops(upkeep).values():
            group.create_task(loop())


async def _repeat(name: str, task: Task, every: timedelta, upkeep: Upkeep) -> None:
    outage = Outage(f"upkeep.{name}")
    while True:
        seconds = every.total_seconds()
        try:
            await task(upkeep)
            outage.end()
        except psycopg.Error as exc:
            outage.begin(exc)
            seconds = min(seconds, AGAIN_SECONDS)
        except DocmillError as exc:
            log.warning("upkeep.waits", code=exc.fault.code, detail=exc.detail)
            seconds = min(seconds, AGAIN_SECONDS)
        await asyncio.sleep(seconds * random.uniform(0.8, 1.2))  # noqa: S311


async def sweep(upkeep: Upkeep) -> None:
    """Retention. It may stop anywhere and go on: bytes go first, their row learns of it after."""
    await _expire_results(upkeep)
    await _expire_uploads(upkeep)
    await sweep_uploads(upkeep)
    await _archive_events(upkeep)
    await _remove_orphans(upkeep)
    await spool.sweep_endings(upkeep.store)
    async with upkeep.pool.connection() as conn:
        await delete_old_requests(conn, timedelta(days=1))
        await broker.delete_answers(conn)
        await model_calls.forget_texts(conn)
        await steps.delete_steps(conn)
        await delete_old_deletions(conn, timedelta(days=7))
    for room in installed.find_rooms().rooms.values():
        if room.upkeep:
            await plugins.resolve(room.upkeep)(upkeep.pool, upkeep.store)
    log.info("upkeep.swept")


async def sweep_uploads(upkeep: Upkeep) -> None:
    """What clients put into the store themselves and did not complete, or put there once more."""
    while True:
        async with upkeep.pool.connection() as conn:
            batch = await direct.list_over(conn, BATCH)
        for upload_id, key in batch:
            await upkeep.store.delete(key)
            async with upkeep.pool.connection() as conn:
                await direct.forget_upload(conn, upload_id)
        if len(batch) < BATCH:
            return


async def _expire_results(upkeep: Upkeep) -> None:
    while True:
        async with upkeep.pool.connection() as conn:
            batch = await results.list_expiring_results(conn, BATCH)
        for job_id in batch:
            async with upkeep.pool.connection() as conn:
                keys = await results.list_result_keys(conn, job_id)
            for key in keys:
                await upkeep.store.delete(key)
            failpoints.hit("expire.deleted")
            async with upkeep.pool.connection() as conn:
                await results.expire_results(conn, job_id)
        if len(batch) < BATCH:
            return


async def _expire_uploads(upkeep: Upkeep) -> None:
    while True:
        async with upkeep.pool.connection() as conn:
            batch = await queries.list_expiring_documents(conn, BATCH)
        for document_id, key in batch:
            await upkeep.store.delete(key)
            async with upkeep.pool.connection() as conn:
                await queries.expire_document(conn, document_id)
        if len(batch) < BATCH:
            return


async def _archive_events(upkeep: Upkeep) -> None:
    """Old events go to cold storage as compressed lines; after a crash perhaps twice."""
    while True:
        async with upkeep.pool.connection() as conn:
            old = await forget_events(conn, keep=upkeep.keep_events, limit=5000)
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
    for prefix in ("uploads", "results", "direct"):
        async for page in upkeep.store.pages(prefix):
            keys = [item.key for item in page if item.changed_at < before]
            async with upkeep.pool.connection() as conn:
                known = await queries.find_known_keys(conn, keys)
            for key in set(keys) - known:
                log.info("orphan.removed", key=key)
                await upkeep.store.delete(key)


DELETE_OLD_REQUESTS: Final = "DELETE FROM idempotency_keys WHERE created_at < now() - %s"


async def delete_old_requests(conn: Connection, keep: timedelta) -> int:
    """Idempotency keys are for retries, not for ever."""
    return (await conn.execute(DELETE_OLD_REQUESTS, (keep,))).rowcount


DELETE_OLD_DELETIONS: Final = "DELETE FROM job_deletions WHERE deleted_at < now() - %s"


async def delete_old_deletions(conn: Connection, keep: timedelta) -> int:
    """Pages that were away for longer have been loaded again meanwhile."""
    return (await conn.execute(DELETE_OLD_DELETIONS, (keep,))).rowcount


FORGET_EVENTS: Final = """
WITH old AS (SELECT id FROM job_events WHERE at < now() - %(keep)s ORDER BY at LIMIT %(limit)s),
gone AS (DELETE FROM job_events e USING old WHERE e.id = old.id
         RETURNING e.id, e.job_id, e.at, e.kind, e.worker, e.meta)
SELECT id, job_id, at, kind, worker, meta FROM gone ORDER BY id
"""


async def forget_events(conn: Connection, *, keep: timedelta, limit: int) -> list[dict[str, Any]]:
    """Take old events out, to be archived before the caller's transaction commits."""
    rows = await (await conn.execute(FORGET_EVENTS, {"keep": keep, "limit": limit})).fetchall()
    names = ("id", "job_id", "at", "kind", "worker", "meta")
    return [dict(zip(names, row, strict=True)) for row in rows]
