"""Upkeep: jobs of dead workers are rescued, old files and orphans are removed, once and again."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Final

import psycopg
import structlog
from psycopg.rows import class_row

from docmill.core import failpoints, installed, plugins
from docmill.core.faults import DocmillError
from docmill.core.jitter import jitter
from docmill.core.retention import DueWhen, RetentionRules, SweptCount
from docmill.db.pool import Connection, Outage, Pool
from docmill.documents import direct, queries
from docmill.jobs import sweep as sweeping
from docmill.jobs.event_archive import archive_events
from docmill.queue import spool, steps
from docmill.queue.rescue import Upkeep, fail_waiting_jobs, rescue_jobs
from docmill.services import broker, model_calls
from docmill.storage.contract import Store
from docmill.web.params import Instant

log = structlog.get_logger()

Task = Callable[[Upkeep], Awaitable[object]]

BATCH: Final = 200
UPLOADS_EVERY: Final = timedelta(minutes=15)
ORPHAN_AGE: Final = timedelta(hours=1)
# What failed is tried again so soon; a sweep would otherwise wait for the next day.
AGAIN_SECONDS: Final = 60.0
# Why a sweep began that nobody asked for.
SCHEDULE: Final = "schedule"
PRESSURE: Final = "disk pressure"
# A disk that stays full is swept again so soon.
PRESSED_EVERY: Final = timedelta(minutes=10)


def make_loops(upkeep: Upkeep) -> dict[str, Callable[[], Coroutine[None, None, None]]]:
    """By name; each goes on until it is cancelled, and none needs another."""
    tasks: dict[str, tuple[Task, timedelta]] = {"rescue": (rescue_jobs, upkeep.rescue_every)}
    if upkeep.awaited:
        tasks["refusals"] = (fail_waiting_jobs, upkeep.rescue_every)
    if upkeep.sweep_every:
        tasks["retention"] = (SweepSchedule(), upkeep.rescue_every)
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
        await asyncio.sleep(seconds * jitter())


class SweepSchedule:
    """When this process sweeps: at its start, each day, when somebody asks, and on a full disk."""

    def __init__(self) -> None:
        self._swept_at: float | None = None
        self._pressed_at: float | None = None

    async def __call__(self, upkeep: Upkeep) -> None:
        asked = await take_asked_sweep(upkeep.pool)
        if asked:
            await sweep(upkeep, asked)
        if by := await self._find_reason(upkeep):
            await sweep(upkeep, await begin_sweep(upkeep.pool, by))

    async def _find_reason(self, upkeep: Upkeep) -> str:
        now, every = time.monotonic(), upkeep.sweep_every
        if every and (self._swept_at is None or now - self._swept_at > every.total_seconds()):
            self._swept_at = now
            return SCHEDULE
        due = self._pressed_at is None or now - self._pressed_at > PRESSED_EVERY.total_seconds()
        if due and await is_pressed(upkeep.retention, upkeep.store):
            self._pressed_at = now
            return PRESSURE
        return ""


async def is_pressed(rules: RetentionRules | None, store: Store) -> bool:
    """Whether the disk is so full that shorter periods hold."""
    return rules is not None and rules.is_pressed(await store.fullness())


@dataclass(frozen=True, slots=True)
class SweepTotals:
    """What one sweep took. `pressed`: shorter periods held, as the disk was too full."""

    pressed: bool = False
    uploads: int = 0
    upload_bytes: int = 0
    results: int = 0
    result_bytes: int = 0
    events: int = 0
    orphans: int = 0


async def sweep(upkeep: Upkeep, sweep_id: int | None = None) -> SweepTotals:
    """Retention. It may be killed anywhere, and goes on with the next one."""
    pool, store, rules = upkeep.pool, upkeep.store, upkeep.retention or RetentionRules()
    if sweep_id is None:
        sweep_id = await begin_sweep(pool, SCHEDULE)
    pressed = await is_pressed(upkeep.retention, store)
    if pressed:
        log.warning("retention.pressed", used=await store.fullness(), limit=rules.pressure)
    await sweeping.remove_noted(pool, store)
    if upkeep.retention:
        await sweeping.align(pool, upkeep.retention)
    events = await archive_events(pool, store, upkeep.keep_events)
    results = await _expire_all(
        upkeep, sweeping.expire_results, DueWhen(pressed, rules.pressed_results)
    )
    uploads = await _expire_all(
        upkeep, sweeping.expire_uploads, DueWhen(pressed, rules.pressed_uploads)
    )
    await sweep_uploads(upkeep)
    orphans = await _remove_orphans(upkeep)
    await _forget_leftovers(upkeep)
    totals = SweepTotals(
        pressed, uploads.count, uploads.bytes, results.count, results.bytes, events, orphans
    )
    await end_sweep(pool, sweep_id, totals)
    log.info("upkeep.swept", sweep=sweep_id, **asdict(totals))
    return totals


Expire = Callable[[Connection, DueWhen], Awaitable[SweptCount | None]]


async def _expire_all(upkeep: Upkeep, expire: Expire, due: DueWhen) -> SweptCount:
    """Batch by batch: rows, then bytes."""
    taken = SweptCount()
    while True:
        async with upkeep.pool.connection() as conn:
            batch = await expire(conn, due)
        if batch is None or not batch.count:
            return taken
        failpoints.hit("expire.noted")
        await sweeping.remove_noted(upkeep.pool, upkeep.store)
        taken += batch


async def _forget_leftovers(upkeep: Upkeep) -> None:
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


async def _remove_orphans(upkeep: Upkeep) -> int:
    """Files that no row knows: left by a crash between storing and writing down."""
    before, count = datetime.now(UTC) - ORPHAN_AGE, 0
    for prefix in ("uploads", "results", "direct"):
        async for page in upkeep.store.pages(prefix):
            keys = [item.key for item in page if item.changed_at < before]
            async with upkeep.pool.connection() as conn:
                known = await queries.find_known_keys(conn, keys)
            for key in set(keys) - known:
                log.info("orphan.removed", key=key)
                await upkeep.store.delete(key)
                failpoints.hit("orphan.deleted")
                count += 1
    return count


DELETE_OLD_REQUESTS: Final = "DELETE FROM idempotency_keys WHERE created_at < now() - %s"


async def delete_old_requests(conn: Connection, keep: timedelta) -> int:
    """Idempotency keys are for retries, not for ever."""
    return (await conn.execute(DELETE_OLD_REQUESTS, (keep,))).rowcount


DELETE_OLD_DELETIONS: Final = "DELETE FROM job_deletions WHERE deleted_at < now() - %s"


async def delete_old_deletions(conn: Connection, keep: timedelta) -> int:
    """Pages that were away for longer have been loaded again meanwhile."""
    return (await conn.execute(DELETE_OLD_DELETIONS, (keep,))).rowcount


ASK_SWEEP: Final = """
INSERT INTO sweeps (asked_by)
SELECT %(by)s WHERE NOT EXISTS (SELECT FROM sweeps WHERE started_at IS NULL)
RETURNING id
"""


async def ask_sweep(conn: Connection, by: str) -> bool:
    """Whoever does the upkeep begins within seconds. False where one is asked for already."""
    return (await conn.execute(ASK_SWEEP, {"by": by})).rowcount == 1


# One that was begun and did not end is taken again: who had it is dead.
TAKE_SWEEP: Final = """
UPDATE sweeps SET started_at = now() WHERE id = (
    SELECT id FROM sweeps
     WHERE ended_at IS NULL AND (started_at IS NULL OR started_at < now() - %s)
     ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED)
RETURNING id
"""
LONGEST_SWEEP: Final = timedelta(hours=1)


async def take_asked_sweep(pool: Pool) -> int | None:
    async with pool.connection() as conn:
        row = await (await conn.execute(TAKE_SWEEP, (LONGEST_SWEEP,))).fetchone()
    return row[0] if row else None


BEGIN_SWEEP: Final = "INSERT INTO sweeps (asked_by, started_at) VALUES (%s, now()) RETURNING id"
FORGET_SWEEPS: Final = """
DELETE FROM sweeps WHERE id <= (SELECT id FROM sweeps ORDER BY id DESC OFFSET %s LIMIT 1)
"""
SWEEPS_KEPT: Final = 200


async def begin_sweep(pool: Pool, by: str) -> int:
    async with pool.connection() as conn:
        await conn.execute(FORGET_SWEEPS, (SWEEPS_KEPT,))
        row = await (await conn.execute(BEGIN_SWEEP, (by,))).fetchone()
    assert row is not None
    return row[0]


END_SWEEP: Final = """
UPDATE sweeps SET ended_at = now(), pressed = %(pressed)s, uploads = %(uploads)s,
       upload_bytes = %(upload_bytes)s, results = %(results)s, result_bytes = %(result_bytes)s,
       events = %(events)s, orphans = %(orphans)s
 WHERE id = %(id)s
"""


async def end_sweep(pool: Pool, sweep_id: int, totals: SweepTotals) -> None:
    async with pool.connection() as conn:
        await conn.execute(END_SWEEP, {"id": sweep_id, **asdict(totals)})


@dataclass(frozen=True, slots=True)
class SweepLine:
    """`started_at` is null while it waits for whoever does the upkeep."""

    id: int
    asked_at: Instant
    asked_by: str
    started_at: Instant | None
    ended_at: Instant | None
    pressed: bool
    uploads: int
    upload_bytes: int
    results: int
    result_bytes: int
    events: int
    orphans: int


LIST_SWEEPS: Final = """
SELECT id, asked_at, asked_by, started_at, ended_at, pressed, uploads, upload_bytes, results,
       result_bytes, events, orphans
  FROM sweeps ORDER BY id DESC LIMIT %s
"""


async def list_sweeps(conn: Connection, limit: int) -> list[SweepLine]:
    """The newest first."""
    async with conn.cursor(row_factory=class_row(SweepLine)) as cur:
        return await (await cur.execute(LIST_SWEEPS, (limit,))).fetchall()
