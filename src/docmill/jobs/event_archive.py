"""Old events: compressed lines in cold storage, and the way back."""

import asyncio
import gzip
import hashlib
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from psycopg.types.json import Jsonb

from docmill.core import failpoints
from docmill.db.pool import Connection, Pool
from docmill.jobs.sweep import RESTORED
from docmill.storage.contract import Store

FOLDER: Final = "archive/events"
LINES: Final = 5000

FORGET_EVENTS: Final = """
WITH old AS (
    SELECT id FROM job_events
     WHERE at < now() - %(keep)s
       AND (restored_at IS NULL OR restored_at < now() - %(restored)s)
     ORDER BY at LIMIT %(limit)s FOR UPDATE SKIP LOCKED),
gone AS (DELETE FROM job_events e USING old WHERE e.id = old.id
         RETURNING e.id, e.job_id, e.at, e.kind, e.worker, e.meta)
SELECT id, job_id, at, kind, worker, meta FROM gone ORDER BY id
"""


async def forget_events(conn: Connection, *, keep: timedelta, limit: int) -> list[dict[str, Any]]:
    """Take old events out, to be archived before the caller's transaction commits."""
    args = {"keep": keep, "limit": limit, "restored": RESTORED}
    rows = await (await conn.execute(FORGET_EVENTS, args)).fetchall()
    names = ("id", "job_id", "at", "kind", "worker", "meta")
    return [dict(zip(names, row, strict=True)) for row in rows]


async def archive_events(pool: Pool, store: Store, keep: timedelta) -> int:
    """How many went. After a crash some are archived twice; their ids tell them apart."""
    count = 0
    while True:
        async with pool.connection() as conn:
            old = await forget_events(conn, keep=keep, limit=LINES)
            if not old:
                return count
            packed = await asyncio.to_thread(_pack, old)
            await store.create(_name_archive(old, packed), packed)
            failpoints.hit("archive.stored")
        count += len(old)


def _pack(events: list[dict[str, Any]]) -> bytes:
    lines = "".join(json.dumps(event, default=str) + "\n" for event in events)
    return gzip.compress(lines.encode(), mtime=0)


def _name_archive(events: list[dict[str, Any]], packed: bytes) -> str:
    """By the month in which they went, and by what they are: other bytes have another name."""
    month, digest = f"{datetime.now(UTC):%Y/%m}", hashlib.sha256(packed).hexdigest()[:12]
    return f"{FOLDER}/{month}/{events[0]['id']}-{events[-1]['id']}-{digest}.jsonl.gz"


@dataclass(frozen=True, slots=True)
class WantedEvents:
    """Which to bring back: of one job, of a time, or all."""

    job_id: str | None = None
    since: datetime | None = None
    until: datetime | None = None

    def takes(self, event: dict[str, Any]) -> bool:
        at = datetime.fromisoformat(event["at"])
        return (
            (self.job_id is None or event["job_id"] == self.job_id)
            and (self.since is None or at >= self.since)
            and (self.until is None or at < self.until)
        )


@dataclass(frozen=True, slots=True)
class RestoreReport:
    """`known` are in the database already, or their job is not there any more."""

    archives: int = 0
    restored: int = 0
    known: int = 0


# The job may be gone, and with it what it is the history of.
RESTORE: Final = """
INSERT INTO job_events (id, job_id, at, kind, worker, meta, restored_at) OVERRIDING SYSTEM VALUE
SELECT e.id, e.job_id, e.at, e.kind, e.worker, coalesce(e.meta, '{}'), now()
  FROM jsonb_to_recordset(%s) AS e(
       id bigint, job_id uuid, at timestamptz, kind text, worker text, meta jsonb)
 WHERE EXISTS (SELECT FROM jobs WHERE jobs.id = e.job_id)
ON CONFLICT (id) DO NOTHING
"""


async def restore_events(pool: Pool, store: Store, wanted: WantedEvents) -> RestoreReport:
    """Bring archived events back; may be repeated, and stopped anywhere."""
    archives = restored = seen = 0
    async for key in _list_archives(store):
        packed = b"".join([chunk async for chunk in store.chunks(key)])
        events = [one for one in await asyncio.to_thread(_unpack, packed) if wanted.takes(one)]
        archives += 1
        seen += len(events)
        async with pool.connection() as conn:
            restored += (await conn.execute(RESTORE, (Jsonb(events),))).rowcount if events else 0
    return RestoreReport(archives, restored, seen - restored)


async def _list_archives(store: Store) -> AsyncIterator[str]:
    async for page in store.pages(FOLDER):
        for item in page:
            if item.key.endswith(".jsonl.gz"):
                yield item.key


def _unpack(packed: bytes) -> list[dict[str, Any]]:
    return [json.loads(line) for line in gzip.decompress(packed).splitlines()]
