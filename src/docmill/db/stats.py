"""Figures over many jobs: how fast each pipeline works, how long the queue is."""

from dataclasses import dataclass
from typing import Final

from docmill.core.estimate import Sample
from docmill.db.pool import Connection

SPEEDS: Final = """
SELECT d.bytes, extract(epoch FROM j.completed_at - j.started_at)::float8
  FROM jobs j JOIN documents d ON d.id = j.document_id
 WHERE j.status = 'complete' AND j.pipeline = %s
 ORDER BY j.completed_at DESC LIMIT 100
"""


async def speeds(conn: Connection, pipeline: str) -> list[Sample]:
    """Size and seconds of the pipeline's last runs."""
    rows = await (await conn.execute(SPEEDS, (pipeline,))).fetchall()
    return [Sample(row[0], max(row[1], 0.0)) for row in rows]


SLOTS: Final = """
SELECT coalesce(sum(slots), 0) FROM workers WHERE seen_at > now() - interval '2 minutes'
"""
DEPTHS: Final = """
SELECT status, count(*) FROM jobs WHERE status IN ('uploaded', 'queued', 'processing')
 GROUP BY status
"""
OLDEST: Final = """
SELECT extract(epoch FROM now() - min(queued_at))::float8 FROM jobs
 WHERE status = 'queued' AND run_at IS NULL
"""


@dataclass(frozen=True, slots=True)
class Depth:
    """The queue at a glance."""

    queued: int
    processing: int
    slots: int
    oldest_seconds: float


async def depth(conn: Connection) -> Depth:
    counts = {row[0]: row[1] for row in await (await conn.execute(DEPTHS)).fetchall()}
    slots = await (await conn.execute(SLOTS)).fetchone()
    oldest = await (await conn.execute(OLDEST)).fetchone()
    return Depth(
        counts.get("queued", 0) + counts.get("uploaded", 0),
        counts.get("processing", 0),
        slots[0] if slots else 0,
        (oldest[0] if oldest else None) or 0.0,
    )
