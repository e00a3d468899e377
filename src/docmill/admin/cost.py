"""What work cost, by owner and pipeline: CPU seconds, pages, bytes, calls of services, money.

Hours that are over are summed once into `cost_hours`; the rest is counted from the attempts. So a
month costs as much to read with a million attempts as with a thousand.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any, Final

from psycopg.rows import class_row

from docmill.db.pool import Connection, Pool
from docmill.storage.contract import Store

# An attempt is written with the time at which its transaction began: it may be seen a little later.
OPEN_SUMS: Final = """
INSERT INTO cost_sums (summed_until) VALUES ('epoch') ON CONFLICT (one) DO NOTHING
"""
HOLD_SUMS: Final = "SELECT summed_until FROM cost_sums FOR UPDATE"
SUM_HOURS: Final = """
INSERT INTO cost_hours (hour, owner, pipeline, attempts, jobs, cpu_ms, pages, bytes, calls)
SELECT date_trunc('hour', a.ended_at), j.owner, j.pipeline, count(*),
       count(*) FILTER (WHERE a.outcome IN ('complete', 'failed')),
       coalesce(sum(a.cpu_ms), 0),
       coalesce(sum(d.pages) FILTER (WHERE a.outcome IN ('complete', 'failed')), 0),
       coalesce(sum(d.bytes) FILTER (WHERE a.outcome IN ('complete', 'failed')), 0),
       coalesce(sum(a.calls), 0)
  FROM job_attempts a JOIN jobs j ON j.id = a.job_id JOIN documents d ON d.id = j.document_id
 WHERE a.ended_at >= %s AND a.ended_at < date_trunc('hour', now() - interval '10 minutes')
 GROUP BY 1, 2, 3
ON CONFLICT (hour, owner, pipeline) DO NOTHING
"""
CLOSE_SUMS: Final = """
UPDATE cost_sums SET summed_until = date_trunc('hour', now() - interval '10 minutes')
"""


async def sum_hours(conn: Connection) -> None:
    """Sum up the hours that are over; one at a time does it."""
    await conn.execute(OPEN_SUMS)
    row = await (await conn.execute(HOLD_SUMS)).fetchone()
    if row:
        await conn.execute(SUM_HOURS, (row[0],))
        await conn.execute(CLOSE_SUMS)


async def sum_daily(pool: Pool, _: Store) -> None:
    async with pool.connection() as conn:
        await sum_hours(conn)


@dataclass(frozen=True, slots=True)
class CostLine:
    """`jobs` are those that ended; pages and bytes are of their documents."""

    owner: str
    pipeline: str
    attempts: int
    jobs: int
    cpu_seconds: float
    pages: int
    bytes: int
    calls: int


READ_COSTS: Final = """
WITH summed AS (SELECT coalesce((SELECT summed_until FROM cost_sums), 'epoch') AS until),
parts AS (
    SELECT owner, pipeline, attempts, jobs, cpu_ms, pages, bytes, calls FROM cost_hours
     WHERE hour >= date_trunc('hour', %(since)s::timestamptz)
    UNION ALL
    SELECT j.owner, j.pipeline, 1, ended.once, coalesce(a.cpu_ms, 0),
           coalesce(d.pages, 0) * ended.once, d.bytes * ended.once, coalesce(a.calls, 0)
      FROM summed CROSS JOIN job_attempts a JOIN jobs j ON j.id = a.job_id
      JOIN documents d ON d.id = j.document_id
      CROSS JOIN LATERAL (SELECT (a.outcome IN ('complete', 'failed'))::int AS once) AS ended
     WHERE a.ended_at >= summed.until
       AND a.ended_at >= date_trunc('hour', %(since)s::timestamptz))
SELECT owner, pipeline, sum(attempts)::bigint AS attempts, sum(jobs)::bigint AS jobs,
       sum(cpu_ms)::float8 / 1000 AS cpu_seconds, sum(pages)::bigint AS pages,
       sum(bytes)::bigint AS bytes, sum(calls)::bigint AS calls
  FROM parts GROUP BY owner, pipeline ORDER BY cpu_seconds DESC, owner, pipeline LIMIT %(limit)s
"""
MOST_LINES: Final = 1000


async def read_costs(conn: Connection, since: datetime) -> list[CostLine]:
    """Since the hour of that instant, the dearest first."""
    args = {"since": since, "limit": MOST_LINES}
    async with conn.cursor(row_factory=class_row(CostLine)) as cur:
        return await (await cur.execute(READ_COSTS, args)).fetchall()


GIGABYTE: Final = 1_000_000_000


def price_line(line: CostLine, prices: Mapping[str, Decimal]) -> Decimal | None:
    """In the operator's own money; None where no price is set."""
    if not prices:
        return None
    amounts: dict[str, Any] = {
        "cpu_hour": Decimal(str(line.cpu_seconds)) / 3600,
        "page": Decimal(line.pages),
        "gigabyte": Decimal(line.bytes) / GIGABYTE,
        "call": Decimal(line.calls),
    }
    money = sum((amounts[name] * price for name, price in prices.items()), Decimal())
    return money.quantize(Decimal("0.0001"))
