"""The sweeps themselves: asked for, begun, ended, and what each took."""

from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import Final

from psycopg.rows import class_row

from docmill.db.pool import Connection, Pool
from docmill.web.params import Instant


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


ASK: Final = """
INSERT INTO sweeps (asked_by)
SELECT %(by)s WHERE NOT EXISTS (SELECT FROM sweeps WHERE started_at IS NULL)
RETURNING id
"""


async def ask(conn: Connection, by: str) -> bool:
    """Whoever does the upkeep begins within seconds. False where one is asked for already."""
    return (await conn.execute(ASK, {"by": by})).rowcount == 1


# One that was begun and did not end is taken again: who had it is dead.
TAKE: Final = """
UPDATE sweeps SET started_at = now() WHERE id = (
    SELECT id FROM sweeps
     WHERE ended_at IS NULL AND (started_at IS NULL OR started_at < now() - %s)
     ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED)
RETURNING id
"""
LONGEST: Final = timedelta(hours=1)


async def take_asked(pool: Pool) -> int | None:
    async with pool.connection() as conn:
        row = await (await conn.execute(TAKE, (LONGEST,))).fetchone()
    return row[0] if row else None


BEGIN: Final = "INSERT INTO sweeps (asked_by, started_at) VALUES (%s, now()) RETURNING id"
FORGET_OLD: Final = """
DELETE FROM sweeps WHERE id <= (SELECT id FROM sweeps ORDER BY id DESC OFFSET %s LIMIT 1)
"""
KEPT: Final = 200


async def begin(pool: Pool, by: str) -> int:
    async with pool.connection() as conn:
        await conn.execute(FORGET_OLD, (KEPT,))
        row = await (await conn.execute(BEGIN, (by,))).fetchone()
    assert row is not None
    return row[0]


END: Final = """
UPDATE sweeps SET ended_at = now(), pressed = %(pressed)s, uploads = %(uploads)s,
       upload_bytes = %(upload_bytes)s, results = %(results)s, result_bytes = %(result_bytes)s,
       events = %(events)s, orphans = %(orphans)s
 WHERE id = %(id)s
"""


async def end(pool: Pool, sweep_id: int, totals: SweepTotals) -> None:
    async with pool.connection() as conn:
        await conn.execute(END, {"id": sweep_id, **asdict(totals)})


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


LIST: Final = """
SELECT id, asked_at, asked_by, started_at, ended_at, pressed, uploads, upload_bytes, results,
       result_bytes, events, orphans
  FROM sweeps ORDER BY id DESC LIMIT %s
"""


async def list_sweeps(conn: Connection, limit: int) -> list[SweepLine]:
    """The newest first."""
    async with conn.cursor(row_factory=class_row(SweepLine)) as cur:
        return await (await cur.execute(LIST, (limit,))).fetchall()
