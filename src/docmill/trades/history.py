"""Trade notes all of whose trades are decided, to be read again and compared."""

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any, Final
from uuid import UUID

from psycopg import sql
from psycopg.rows import class_row, kwargs_row

from docmill.core.comparison import ApprovedReading, Outline
from docmill.core.fields import ValueKind
from docmill.core.jobs import JobId
from docmill.db.pool import Connection
from docmill.trades.fields import FIELDS, TradeField
from docmill.trades.queries import SELECT_TRADES, Trade, make_trade

MIDNIGHT: Final = "T00:00:00"

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


def outline_trades(data: Mapping[str, Any]) -> Outline:
    """Trades without where their values stand."""
    return outline_values(data.get("trades") or ())


def outline_values(trades: Iterable[Mapping[str, Any]]) -> Outline:
    rows = [
        {field.name: _write(field, trade.get(field.name)) for field in FIELDS} for trade in trades
    ]
    told = [{name: value for name, value in row.items() if value} for row in rows]
    return Outline(rows=told, noun="trades")


def _write(field: TradeField, value: object) -> str:
    if value is None:
        return ""
    if field.kind is not ValueKind.AMOUNT:
        return str(value).removesuffix(MIDNIGHT).strip()
    try:
        number = Decimal(str(value))
    except InvalidOperation:
        return str(value)
    text = f"{number:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
