"""Trades: written when their job completes, listed, reviewed; every change leaves its audit."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any, Final
from uuid import UUID

from psycopg.rows import class_row

from docmill.core.jobs import Claimed, DocumentId, JobId
from docmill.core.owners import Owner
from docmill.core.trades import ReviewStatus, Trade, TradeId
from docmill.db.pool import Connection

# Who is noted in the audit of whatever this transaction changes.
WHO: Final = "SELECT set_config('docmill.who', %s, true)"

# What a person reviewed stays, also when the document is read again: see decision 0022.
FORGET: Final = "DELETE FROM trades WHERE document_id = %s AND reviewed_at IS NULL"

WRITE: Final = """
INSERT INTO trades (document_id, job_id, owner, position, ticker, isin, cusip, name, quantity,
                    price, notional, fees, taxes, settlement_amount, currency, trade_date,
                    settlement_date, counterparty, direction, asset_class, exchange,
                    confidence_score, raw_extracted_data, review_status)
SELECT %(document_id)s, %(job_id)s, %(owner)s, r.position, r.ticker, r.isin, r.cusip, r.name,
       r.quantity, r.price, r.notional, r.fees, r.taxes, r.settlement_amount, r.currency,
       r.trade_date, r.settlement_date, r.counterparty, r.direction, r.asset_class, r.exchange,
       r.confidence_score, coalesce(r.raw_extracted_data, '{}'),
       CASE WHEN r.needs_review THEN 'pending' ELSE 'approved' END
  FROM jsonb_to_recordset(%(rows)s::jsonb) AS r(
       position int, ticker text, isin text, cusip text, name text, quantity numeric,
       price numeric, notional numeric, fees numeric, taxes numeric, settlement_amount numeric,
       currency text, trade_date date, settlement_date date, counterparty text, direction text,
       asset_class text, exchange text, confidence_score numeric, raw_extracted_data jsonb,
       needs_review boolean)
 WHERE NOT EXISTS (
       SELECT FROM trades kept
        WHERE kept.document_id = %(document_id)s AND kept.reviewed_at IS NOT NULL
          AND (kept.position = r.position
               OR (kept.direction, kept.quantity, kept.trade_date)
                  = (r.direction, r.quantity, r.trade_date)
              AND kept.isin IS NOT DISTINCT FROM r.isin))
"""


async def write(conn: Connection, job: Claimed, rows: str) -> None:
    """The trades of a document as its latest run read them, beside those people reviewed."""
    await conn.execute(WHO, (f"job:{job.id}",))
    await conn.execute(FORGET, (job.document_id,))
    args = {"document_id": job.document_id, "job_id": job.id, "owner": job.owner, "rows": rows}
    await conn.execute(WRITE, args)


EXIST: Final = "SELECT 1 FROM trades WHERE job_id = %s LIMIT 1"


async def exist(conn: Connection, job_id: JobId) -> bool:
    return await (await conn.execute(EXIST, (job_id,))).fetchone() is not None


@dataclass(frozen=True, slots=True)
class Place:
    """Where a page of trades ended."""

    created_at: datetime
    id: UUID


@dataclass(frozen=True, slots=True)
class Filter:
    """None means any. `text` looks in names, tickers, ISINs, CUSIPs and counterparties."""

    review_status: str | None = None
    direction: str | None = None
    isin: str | None = None
    currency: str | None = None
    asset_class: str | None = None
    traded_from: date | None = None
    traded_until: date | None = None
    below: Decimal | None = None
    document_id: UUID | None = None
    text: str | None = None


SHOWN: Final = """
SELECT t.id, t.document_id, t.job_id, t.owner, t.position, t.ticker, t.isin, t.cusip, t.name,
       t.quantity, t.price, t.notional, t.fees, t.taxes, t.settlement_amount, t.currency,
       t.trade_date, t.settlement_date, t.counterparty, t.direction, t.asset_class, t.exchange,
       t.confidence_score, t.raw_extracted_data, t.review_status, t.reviewed_by, t.reviewed_at,
       t.created_at, t.updated_at, d.original_filename
  FROM trades t JOIN documents d ON d.id = t.document_id
"""
# One's own, and those of the desks one may look into; '*' stands for every desk.
VISIBLE: Final = """
 WHERE (t.owner = %(owner)s OR (t.owner LIKE 'desk:%%'
        AND ('*' = ANY(%(desks)s) OR substr(t.owner, 6) = ANY(%(desks)s))))
"""
CHOSEN: Final = """
   AND (%(review_status)s::text IS NULL OR t.review_status = %(review_status)s)
   AND (%(direction)s::text IS NULL OR t.direction = %(direction)s)
   AND (%(isin)s::text IS NULL OR t.isin = %(isin)s)
   AND (%(currency)s::text IS NULL OR t.currency = %(currency)s)
   AND (%(asset_class)s::text IS NULL OR t.asset_class = %(asset_class)s)
   AND (%(traded_from)s::date IS NULL OR t.trade_date >= %(traded_from)s)
   AND (%(traded_until)s::date IS NULL OR t.trade_date <= %(traded_until)s)
   AND (%(below)s::numeric IS NULL OR t.confidence_score < %(below)s)
   AND (%(document_id)s::uuid IS NULL OR t.document_id = %(document_id)s)
   AND (%(text)s::text IS NULL
        OR position(lower(%(text)s) IN lower(concat_ws(' ', t.name, t.ticker, t.isin, t.cusip,
                                                       t.counterparty, d.original_filename))) > 0)
"""
PAGE: Final = (
    SHOWN
    + VISIBLE
    + CHOSEN
    + """
   AND (t.created_at, t.id) < (%(created_at)s, %(id)s)
 ORDER BY t.created_at DESC, t.id DESC LIMIT %(limit)s
"""
)


async def page(
    conn: Connection, asker: Owner, only: Filter, *, after: Place | None, limit: int
) -> list[Trade]:
    """The newest first, from where the last page ended."""
    args = {
        **_asked(asker, only),
        "created_at": after.created_at if after else "infinity",
        "id": after.id if after else UUID(int=0),
        "limit": limit,
    }
    async with conn.cursor(row_factory=class_row(Trade)) as cur:
        return await (await cur.execute(PAGE, args)).fetchall()


def _asked(asker: Owner, only: Filter) -> dict[str, Any]:
    return {**asdict(only), "owner": asker.key, "desks": list(asker.desks)}


@dataclass(frozen=True, slots=True)
class Total:
    """What was bought or sold in one currency."""

    currency: str | None
    direction: str
    trades: int
    notional: Decimal


TOTALS: Final = (
    """
SELECT t.currency, t.direction, count(*) AS trades, coalesce(sum(t.notional), 0) AS notional
  FROM trades t JOIN documents d ON d.id = t.document_id
"""
    + VISIBLE
    + CHOSEN
    + """
   AND t.review_status <> 'rejected'
 GROUP BY t.currency, t.direction ORDER BY t.currency NULLS LAST, t.direction
"""
)


async def totals(conn: Connection, asker: Owner, only: Filter) -> list[Total]:
    """Sums over everything a filter finds, without what was rejected."""
    async with conn.cursor(row_factory=class_row(Total)) as cur:
        return await (await cur.execute(TOTALS, _asked(asker, only))).fetchall()


ONE: Final = SHOWN + " WHERE t.id = %s"


async def one(conn: Connection, trade_id: TradeId) -> Trade | None:
    async with conn.cursor(row_factory=class_row(Trade)) as cur:
        return await (await cur.execute(ONE, (trade_id,))).fetchone()


REVIEW: Final = """
UPDATE trades SET review_status = %(status)s, updated_at = now(),
       reviewed_by = CASE WHEN %(status)s <> 'pending' THEN %(who)s END,
       reviewed_at = CASE WHEN %(status)s <> 'pending' THEN now() END
 WHERE id = ANY(%(ids)s)
"""


async def review(
    conn: Connection, trade_ids: Sequence[TradeId], status: ReviewStatus, *, who: str
) -> int:
    """Approve, reject or reopen; how many there were."""
    await conn.execute(WHO, (who,))
    args = {"ids": list(trade_ids), "status": status, "who": who}
    return (await conn.execute(REVIEW, args)).rowcount


@dataclass(frozen=True, slots=True)
class Audited:
    """One line of a trade's history."""

    at: datetime
    who: str
    action: str
    before: dict[str, Any] | None
    after: dict[str, Any] | None


AUDIT: Final = (
    "SELECT at, who, action, before, after FROM trade_audit WHERE trade_id = %s ORDER BY id"
)


async def audit(conn: Connection, trade_id: TradeId) -> list[Audited]:
    async with conn.cursor(row_factory=class_row(Audited)) as cur:
        return await (await cur.execute(AUDIT, (trade_id,))).fetchall()


CLOCK: Final = "SELECT now()"


async def clock(conn: Connection) -> datetime:
    row = await (await conn.execute(CLOCK)).fetchone()
    assert row is not None
    return row[0]


# Whoever commits late is counted late, but once: the time is that of the writing transaction.
EXTRACTED: Final = "SELECT count(*) FROM trade_audit WHERE action = 'extracted' AND at >= %s"


async def extracted(conn: Connection, since: datetime) -> int:
    """How many trades were read since a time."""
    row = await (await conn.execute(EXTRACTED, (since,))).fetchone()
    return row[0] if row else 0


OF_DOCUMENT: Final = SHOWN + " WHERE t.document_id = %s ORDER BY t.position, t.id"


async def of_document(conn: Connection, document_id: DocumentId) -> list[Trade]:
    async with conn.cursor(row_factory=class_row(Trade)) as cur:
        return await (await cur.execute(OF_DOCUMENT, (document_id,))).fetchall()
