"""Workers: one row per worker process, for people and metrics. Leases are on the jobs."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from psycopg.rows import class_row

from docmill.db.pool import Connection


@dataclass(frozen=True, slots=True)
class Worker:
    id: str
    host: str
    machine: str
    pid: int
    slots: int
    pipelines: Sequence[str]
    version: str


SEEN: Final = """
INSERT INTO workers (id, host, machine, pid, slots, pipelines, version)
VALUES (%(id)s, %(host)s, %(machine)s, %(pid)s, %(slots)s, %(pipelines)s, %(version)s)
ON CONFLICT (id) DO UPDATE SET seen_at = now()
"""


async def seen(conn: Connection, worker: Worker) -> None:
    """Say that this worker is alive."""
    await conn.execute("SET LOCAL synchronous_commit = off")
    args = {
        "id": worker.id,
        "host": worker.host,
        "machine": worker.machine,
        "pid": worker.pid,
        "slots": worker.slots,
        "pipelines": list(worker.pipelines),
        "version": worker.version,
    }
    await conn.execute(SEEN, args)


GONE: Final = "DELETE FROM workers WHERE id = %s OR seen_at < now() - interval '1 day'"


async def gone(conn: Connection, worker_id: str) -> None:
    await conn.execute(GONE, (worker_id,))


@dataclass(frozen=True, slots=True)
class Sighting:
    id: str
    host: str
    pid: int
    slots: int
    seen_at: datetime


ALIVE: Final = "SELECT id, host, pid, slots, seen_at FROM workers WHERE seen_at > now() - %s"


async def alive(conn: Connection, within: timedelta) -> list[Sighting]:
    async with conn.cursor(row_factory=class_row(Sighting)) as cur:
        return await (await cur.execute(ALIVE, (within,))).fetchall()
