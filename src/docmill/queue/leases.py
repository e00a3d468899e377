"""Who a worker is, told so that others on the same machine can see whether it is still alive."""

import hashlib
import os
import secrets
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from psycopg.rows import class_row

from docmill.core.jobs import Claimed, JobId
from docmill.db.pool import Connection


@dataclass(frozen=True, slots=True)
class Identity:
    """`machine` is one boot of one pid namespace: there, a pid and its start time are unique."""

    host: str
    machine: str
    pid: int
    started: str
    nonce: str

    def __str__(self) -> str:
        return f"{self.host}/{self.machine}/{self.pid}/{self.started}/{self.nonce}"


def identify() -> Identity:
    pid = os.getpid()
    host = socket.gethostname().replace("/", "-")[:60]
    return Identity(host, _machine_id(), pid, _start_time(pid) or "0", secrets.token_hex(3))


def is_dead(worker: str, seen_from: Identity) -> bool:
    """True only when it is certain: same machine, and no such process any more."""
    parts = worker.split("/")
    if len(parts) != 5 or parts[1] != seen_from.machine or not seen_from.machine:
        return False
    return parts[4] != seen_from.nonce and _start_time(int(parts[2])) != parts[3]


def _machine_id() -> str:
    """Empty where this cannot be told; then nobody is ever certainly dead."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        namespace = str(Path("/proc/self/ns/pid").readlink())
    except OSError:
        return ""
    return hashlib.sha256(f"{boot} {namespace}".encode()).hexdigest()[:12]


def _start_time(pid: int) -> str | None:
    """The process's start time in clock ticks; None when it is gone or a zombie."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in {"Z", "X"} else fields[19]


EXTEND_LEASES: Final = """
UPDATE jobs SET lease_expires_at = now() + %(lease)s
  FROM unnest(%(ids)s::uuid[], %(claims)s::int[]) AS held(id, claim)
 WHERE jobs.id = held.id AND jobs.claim = held.claim AND jobs.status = 'processing'
RETURNING jobs.id
"""


async def extend_leases(
    conn: Connection, held: Sequence[Claimed], *, lease: timedelta
) -> set[JobId]:
    """Extend the leases; the jobs that are still ours."""
    await conn.execute("SET LOCAL synchronous_commit = off")
    args = {"ids": [job.id for job in held], "claims": [job.claim for job in held], "lease": lease}
    return {row[0] for row in await (await conn.execute(EXTEND_LEASES, args)).fetchall()}


FIND_STALE: Final = """
SELECT j.id, j.document_id, j.owner, j.pipeline, j.mapping, j.options, j.duplicate_of, j.claim,
       j.attempt_count, d.upload_key, d.original_filename, d.content_type, d.bytes, d.sha256,
       j.long, d.source
  FROM jobs j JOIN documents d ON d.id = j.document_id
 WHERE j.status = 'processing'
   AND (j.lease_expires_at < now() OR j.started_at < now() - %(longest)s
        OR j.leased_by = ANY(%(dead)s))
 ORDER BY j.id LIMIT %(limit)s FOR UPDATE OF j SKIP LOCKED
"""


async def find_stale(
    conn: Connection, *, longest: timedelta, dead: Sequence[str], limit: int = 100
) -> list[Claimed]:
    """Jobs whose worker went silent, is known to be dead, or holds on for too long; locked."""
    args = {"longest": longest, "dead": list(dead), "limit": limit}
    async with conn.cursor(row_factory=class_row(Claimed)) as cur:
        return await (await cur.execute(FIND_STALE, args)).fetchall()


FIND_HOLDERS: Final = "SELECT DISTINCT leased_by FROM jobs WHERE status = 'processing'"


async def find_holders(conn: Connection) -> list[str]:
    """The workers that hold a lease now."""
    return [row[0] for row in await (await conn.execute(FIND_HOLDERS)).fetchall()]


FIND_HELD: Final = """
SELECT j.id, j.document_id, j.owner, j.pipeline, j.mapping, j.options, j.duplicate_of, j.claim,
       j.attempt_count, d.upload_key, d.original_filename, d.content_type, d.bytes, d.sha256,
       j.long, d.source
  FROM jobs j JOIN documents d ON d.id = j.document_id
 WHERE j.status = 'processing' AND j.leased_by = %s
"""


async def find_held(conn: Connection, worker: str) -> list[Claimed]:
    """The jobs this worker holds, as the database knows it."""
    async with conn.cursor(row_factory=class_row(Claimed)) as cur:
        return await (await cur.execute(FIND_HELD, (worker,))).fetchall()


FIND_CLAIMED: Final = """
SELECT j.id, j.document_id, j.owner, j.pipeline, j.mapping, j.options, j.duplicate_of, j.claim,
       j.attempt_count, d.upload_key, d.original_filename, d.content_type, d.bytes, d.sha256,
       j.long, d.source
  FROM jobs j JOIN documents d ON d.id = j.document_id
 WHERE j.status = 'processing' AND j.id = %s FOR UPDATE OF j
"""


async def find_claimed(conn: Connection, job_id: JobId) -> Claimed | None:
    """The job, if a worker holds it; locked."""
    async with conn.cursor(row_factory=class_row(Claimed)) as cur:
        return await (await cur.execute(FIND_CLAIMED, (job_id,))).fetchone()


@dataclass(frozen=True, slots=True)
class WorkerRow:
    id: str
    host: str
    machine: str
    pid: int
    slots: int
    pipelines: Sequence[str]
    version: str


RECORD_WORKER: Final = """
INSERT INTO workers (id, host, machine, pid, slots, pipelines, version)
VALUES (%(id)s, %(host)s, %(machine)s, %(pid)s, %(slots)s, %(pipelines)s, %(version)s)
ON CONFLICT (id) DO UPDATE SET seen_at = now()
"""


async def record_worker(conn: Connection, worker: WorkerRow) -> None:
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
    await conn.execute(RECORD_WORKER, args)


DELETE_WORKER: Final = "DELETE FROM workers WHERE id = %s OR seen_at < now() - interval '1 day'"


async def delete_worker(conn: Connection, worker_id: str) -> None:
    await conn.execute(DELETE_WORKER, (worker_id,))


@dataclass(frozen=True, slots=True)
class Sighting:
    id: str
    host: str
    pid: int
    slots: int
    seen_at: datetime


LIST_WORKERS: Final = "SELECT id, host, pid, slots, seen_at FROM workers WHERE seen_at > now() - %s"


async def list_workers(conn: Connection, within: timedelta) -> list[Sighting]:
    async with conn.cursor(row_factory=class_row(Sighting)) as cur:
        return await (await cur.execute(LIST_WORKERS, (within,))).fetchall()
