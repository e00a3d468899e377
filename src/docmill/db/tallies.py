"""Counting what happens to jobs, for metrics: each event once, while others still commit."""

from dataclasses import dataclass, field
from typing import Any, Final

from psycopg.rows import class_row

from docmill.db.pool import Connection


@dataclass(frozen=True, slots=True)
class Happening:
    id: int
    kind: str
    code: str | None
    seconds: float | None
    asked: list[dict[str, Any]] | None
    settled: bool


@dataclass(slots=True)
class Watch:
    """How far one observer has counted; `seen` are the ids above `floor` counted already."""

    floor: int
    seen: set[int] = field(default_factory=set[int])


BEGIN: Final = "SELECT coalesce(max(id), 0) FROM job_events"


async def begin(conn: Connection) -> Watch:
    row = await (await conn.execute(BEGIN)).fetchone()
    return Watch(row[0] if row else 0)


# Ids are given before the commit, so a lower one may appear later than a higher one: the last
# minute is read again.
SINCE: Final = """
SELECT id, kind, meta->>'code' AS code, (meta->>'duration_ms')::float8 / 1000 AS seconds,
       meta->'asked' AS asked, at < now() - interval '1 minute' AS settled
  FROM job_events
 WHERE id > %s AND (kind IN ('created', 'complete', 'failed') OR meta ? 'asked') ORDER BY id
"""


async def since(conn: Connection, watch: Watch) -> list[Happening]:
    """What this observer has not counted yet."""
    async with conn.cursor(row_factory=class_row(Happening)) as cur:
        rows = await (await cur.execute(SINCE, (watch.floor,))).fetchall()
    new = [row for row in rows if row.id not in watch.seen]
    watch.floor = max((row.id for row in rows if row.settled), default=watch.floor)
    watch.seen = {row.id for row in rows if row.id > watch.floor}
    return new
