"""Trade notes all of whose trades are decided, to be read again and compared."""

from collections.abc import Sequence
from typing import Final
from uuid import UUID

from psycopg import sql
from psycopg.rows import class_row, kwargs_row

from docmill.core.comparison import ApprovedReading
from docmill.core.jobs import JobId
from docmill.db.pool import Connection
from docmill.trades.outline import outline_values
from docmill.trades.queries import SELECT_TRADES, Trade, make_trade

LIST_DECIDED: Final = """
SELECT t.job_id, string_agg(DISTINCT t.approved_by, ', ') AS by, max(t.reviewed_at) AS at,
       r.key AS read_key
  FROM trades t JOIN jobs j ON j.id = t.job_id AND j.result_key IS NOT NULL
  JOIN results r ON r.job_id = j.id AND r.claim = j.claim AND r.form = 'data' AND r.revision = 0
 WHERE t.job_id > %(after)s
 GROUP BY t.job_id, r.key
HAVING bool_and(t.review_status <> 'pending') AND bool_or(t.review_status = 'approved')
 ORDER BY t.job_id LIMIT %(limit)s
"""
APPROVED: Final = SELECT_TRADES + sql.SQL(
    " WHERE t.job_id = %s AND t.review_status = 'approved' ORDER BY t.position, t.id"
)


async def list_approved(
    conn: Connection, after: JobId | None, limit: int
) -> Sequence[ApprovedReading]:
    args = {"after": after or UUID(int=0), "limit": limit}
    async with conn.cursor(row_factory=class_row(ApprovedReading)) as cur:
        found = await (await cur.execute(LIST_DECIDED, args)).fetchall()
    return [
        ApprovedReading(
            one.job_id, one.by, one.at, one.read_key,
            approved=outline_values(
                trade.values for trade in await _list_trades(conn, one.job_id)
            ),
        )
        for one in found
    ]  # fmt: skip


async def _list_trades(conn: Connection, job_id: JobId) -> list[Trade]:
    async with conn.cursor(row_factory=kwargs_row(make_trade)) as cur:
        return await (await cur.execute(APPROVED, (job_id,))).fetchall()
