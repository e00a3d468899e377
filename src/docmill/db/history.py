"""A job's history: its events and its attempts."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from psycopg.rows import class_row

from docmill.core.jobs import JobId
from docmill.db.pool import Connection


@dataclass(frozen=True, slots=True)
class Event:
    id: int
    at: datetime
    kind: str
    worker: str | None
    meta: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Attempt:
    claim: int
    attempt: int
    worker: str
    started_at: datetime
    ended_at: datetime | None
    outcome: str | None
    error_code: str | None
    error_message: str | None
    stack: str | None
    duration_ms: int | None
    cpu_ms: int | None
    memory_bytes: int | None


EVENTS: Final = """
SELECT id, at, kind, worker, meta FROM job_events WHERE job_id = %s ORDER BY id LIMIT 500
"""


async def events(conn: Connection, job_id: JobId) -> list[Event]:
    async with conn.cursor(row_factory=class_row(Event)) as cur:
        return await (await cur.execute(EVENTS, (job_id,))).fetchall()


ATTEMPTS: Final = """
SELECT claim, attempt, worker, started_at, ended_at, outcome, error_code, error_message, stack,
       duration_ms, cpu_ms, memory_bytes
  FROM job_attempts WHERE job_id = %s ORDER BY claim
"""


async def attempts(conn: Connection, job_id: JobId) -> list[Attempt]:
    async with conn.cursor(row_factory=class_row(Attempt)) as cur:
        return await (await cur.execute(ATTEMPTS, (job_id,))).fetchall()


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
