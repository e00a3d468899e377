"""Trades in the database: written when their job completes, listed, reviewed; all with an audit."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any, Final, Literal, LiteralString, NewType
from uuid import UUID

from psycopg import sql
from psycopg.rows import class_row, dict_row, kwargs_row
from psycopg.types.json import Jsonb

from docmill.core.fields import ValueKind
from docmill.core.jobs import Claimed, DocumentId, JobId
from docmill.core.owners import Owner
from docmill.db.pool import Connection
from docmill.trades.fields import FIELDS, NAMES, TradeField
from docmill.web.params import Cursor

TradeId = NewType("TradeId", UUID)
ReviewStatus = Literal["pending", "approved", "rejected"]
TradeValue = str | Decimal | date | None


@dataclass(frozen=True, slots=True)
class Trade:
    """One trade, the document it was read from, and what people said of it.

    `values` has an entry for each of `FIELDS`, None where nothing was found.
    """

    id: TradeId
    document_id: DocumentId
    job_id: JobId | None
    owner: str
    position: int
    values: Mapping[str, TradeValue]
    confidence_score: Decimal
    raw_extracted_data: Mapping[str, Any]
    review_status: str
    approved_by: str | None
    reviewed_by: str | None
    reviewed_at: datetime | None
    edited_by: str | None
    edited_at: datetime | None
    created_at: datetime
    updated_at: datetime
    original_filename: str


def make_trade(**columns: Any) -> Trade:
    values = {name: columns.pop(name) for name in NAMES}
    return Trade(values=values, **columns)


# Who is noted in the audit of whatever this transaction changes.
SET_ACTOR: Final = "SELECT set_config('docmill.who', %s, true)"

SET_REASON: Final = "SELECT set_config('docmill.why', %s, true)"

# What a person reviewed or edited stays, also when the document is read again: see decision 0022.
FORGET: Final = """
DELETE FROM trades WHERE document_id = %s AND reviewed_at IS NULL AND edited_at IS NULL
"""

_TYPES: Final = {ValueKind.AMOUNT: sql.SQL("numeric"), ValueKind.DATE: sql.SQL("date")}
_TEXT: Final = sql.SQL("text")


def _each(template: LiteralString, fields: Iterable[TradeField] = FIELDS) -> sql.Composed:
    """A piece of SQL for each field: its name and the type of its column."""
    return sql.SQL(", ").join(
        sql.SQL(template).format(
            name=sql.Identifier(field.name), type=_TYPES.get(field.kind, _TEXT)
        )
        for field in fields
    )


WRITE: Final = sql.SQL("""
INSERT INTO trades (document_id, job_id, owner, position, {columns}, confidence_score,
                    raw_extracted_data, review_status, approved_by)
SELECT %(document_id)s, %(job_id)s, %(owner)s, r.position, {values}, r.confidence_score,
       coalesce(r.raw_extracted_data, '{{}}'),
       CASE WHEN r.needs_review OR r.approved_by IS NULL THEN 'pending' ELSE 'approved' END,
       r.approved_by
  FROM jsonb_to_recordset(%(rows)s::jsonb) AS r(
       position int, {types}, confidence_score numeric, raw_extracted_data jsonb,
       needs_review boolean, approved_by text)
 WHERE NOT EXISTS (
       SELECT FROM trades kept
        WHERE kept.document_id = %(document_id)s
          AND (kept.reviewed_at IS NOT NULL OR kept.edited_at IS NOT NULL)
          AND (kept.position = r.position
               OR (kept.direction, kept.quantity, kept.trade_date)
                  = (r.direction, r.quantity, r.trade_date)
              AND kept.isin IS NOT DISTINCT FROM r.isin))
""").format(columns=_each("{name}"), values=_each("r.{name}"), types=_each("{name} {type}"))


async def write_trades(conn: Connection, job: Claimed, rows: str) -> None:
    """The trades of a document as its latest run read them, beside those people reviewed."""
    await conn.execute(SET_ACTOR, (f"job:{job.id}",))
    await conn.execute(FORGET, (job.document_id,))
    args = {"document_id": job.document_id, "job_id": job.id, "owner": job.owner, "rows": rows}
    await conn.execute(WRITE, args)


TRADES_EXIST: Final = "SELECT 1 FROM trades WHERE job_id = %s LIMIT 1"


async def trades_exist(conn: Connection, job_id: JobId) -> bool:
    return await (await conn.execute(TRADES_EXIST, (job_id,))).fetchone() is not None


@dataclass(frozen=True, slots=True)
class TradeFilter:
    """None means any. `text` looks in file names and in the fields that are searched."""

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


SELECT_TRADES: Final = sql.SQL("""
SELECT t.id, t.document_id, t.job_id, t.owner, t.position, {columns}, t.confidence_score,
       t.raw_extracted_data, t.review_status, t.approved_by, t.reviewed_by, t.reviewed_at,
       t.edited_by, t.edited_at, t.created_at, t.updated_at, d.original_filename
  FROM trades t JOIN documents d ON d.id = t.document_id
""").format(columns=_each("t.{name}"))
# One's own, and those of the desks one may look into; '*' stands for every desk.
VISIBLE: Final = sql.SQL("""
 WHERE (t.owner = %(owner)s OR (t.owner LIKE 'desk:%%'
        AND ('*' = ANY(%(desks)s) OR substr(t.owner, 6) = ANY(%(desks)s))))
""")
MATCHING: Final = sql.SQL("""
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
        OR position(lower(%(text)s) IN lower(concat_ws(' ', {searched}, d.original_filename))) > 0)
""").format(searched=_each("t.{name}", [field for field in FIELDS if field.searched]))
PAGE: Final = (
    SELECT_TRADES
    + VISIBLE
    + MATCHING
    + sql.SQL("""
   AND (t.created_at, t.id) < (%(created_at)s, %(id)s)
 ORDER BY t.created_at DESC, t.id DESC LIMIT %(limit)s
""")
)


async def list_trades(
    conn: Connection, asker: Owner, only: TradeFilter, *, after: Cursor | None, limit: int
) -> list[Trade]:
    """The newest first, from where the last page ended."""
    args = {
        **_filter_args(asker, only),
        "created_at": after.created_at if after else "infinity",
        "id": after.id if after else UUID(int=0),
        "limit": limit,
    }
    async with conn.cursor(row_factory=kwargs_row(make_trade)) as cur:
        return await (await cur.execute(PAGE, args)).fetchall()


def _filter_args(asker: Owner, only: TradeFilter) -> dict[str, Any]:
    return {**asdict(only), "owner": asker.key, "desks": list(asker.desks)}


@dataclass(frozen=True, slots=True)
class TradeTotal:
    """What was bought or sold in one currency."""

    currency: str | None
    direction: str
    trades: int
    notional: Decimal


TOTALS: Final = (
    sql.SQL("""
SELECT t.currency, t.direction, count(*) AS trades, coalesce(sum(t.notional), 0) AS notional
  FROM trades t JOIN documents d ON d.id = t.document_id
""")
    + VISIBLE
    + MATCHING
    + sql.SQL("""
   AND t.review_status <> 'rejected'
 GROUP BY t.currency, t.direction ORDER BY t.currency NULLS LAST, t.direction
""")
)


async def sum_trades(conn: Connection, asker: Owner, only: TradeFilter) -> list[TradeTotal]:
    """Sums over everything a filter finds, without what was rejected."""
    async with conn.cursor(row_factory=class_row(TradeTotal)) as cur:
        return await (await cur.execute(TOTALS, _filter_args(asker, only))).fetchall()


ONE: Final = SELECT_TRADES + sql.SQL(" WHERE t.id = %s")


async def find_trade(conn: Connection, trade_id: TradeId) -> Trade | None:
    async with conn.cursor(row_factory=kwargs_row(make_trade)) as cur:
        return await (await cur.execute(ONE, (trade_id,))).fetchone()


# The jobs first, then their owners, then the trades: as a run that ends goes.
HOLD_JOBS: Final = """
WITH held AS MATERIALIZED (
    SELECT id, owner FROM jobs WHERE id IN (SELECT job_id FROM trades WHERE id = ANY(%(ids)s))
     ORDER BY id FOR UPDATE)
SELECT owner FROM owners WHERE owner IN (SELECT owner FROM held) ORDER BY owner FOR UPDATE
"""
# What the queue shows follows the trades that are not rejected: an amount where there is one.
SUMMARIZE: Final = """
UPDATE jobs SET summary =
       coalesce(jobs.summary, '{}') - ARRAY['title', 'number', 'date', 'amount', 'currency']
       || jsonb_strip_nulls(jsonb_build_object(
           'title', told.first ->> 'counterparty', 'date', told.first ->> 'trade_date',
           'number', told.alone ->> 'number', 'amount', told.alone ->> 'notional',
           'currency', told.alone ->> 'currency',
           'note', told.live || CASE WHEN told.live = 1 THEN ' trade' ELSE ' trades' END,
           'check', told.pending, 'state', CASE WHEN told.pending > 0 THEN 'to check'
                                                WHEN told.live > 0 THEN 'approved'
                                                ELSE 'rejected' END))
  FROM (SELECT *, CASE WHEN live = 1 THEN first END AS alone FROM (
        SELECT job_id, count(*) FILTER (WHERE review_status = 'pending') AS pending,
               count(*) FILTER (WHERE review_status <> 'rejected') AS live,
               (array_agg(jsonb_build_object(
                   'counterparty', counterparty, 'trade_date', trade_date::text,
                   'number', coalesce(isin, ticker), 'notional', notional::text,
                   'currency', currency)
                   ORDER BY review_status = 'rejected', position))[1] AS first
          FROM trades WHERE job_id IN (SELECT job_id FROM trades WHERE id = ANY(%(ids)s))
         GROUP BY job_id) AS counted) AS told
 WHERE jobs.id = told.job_id
"""
REVIEW: Final = """
UPDATE trades SET review_status = %(status)s, updated_at = now(),
       reviewed_by = CASE WHEN %(status)s <> 'pending' THEN %(who)s END,
       reviewed_at = CASE WHEN %(status)s <> 'pending' THEN now() END
 WHERE id = ANY(%(ids)s) AND (review_status <> %(status)s OR reviewed_at IS NULL)
"""


async def set_review_status(
    conn: Connection,
    trade_ids: Sequence[TradeId],
    status: ReviewStatus,
    *,
    who: str,
    reason: str = "",
) -> int:
    """Approve, reject or reopen those that are not so already; how many there were."""
    await conn.execute(SET_ACTOR, (who,))
    await conn.execute(SET_REASON, (reason,))
    args = {"ids": list(trade_ids), "status": status, "who": who}
    await conn.execute(HOLD_JOBS, args)
    changed = (await conn.execute(REVIEW, args)).rowcount
    await conn.execute(SUMMARIZE, args)
    return changed


@dataclass(frozen=True, slots=True)
class TradeAudit:
    """One line of a trade's history."""

    at: datetime
    who: str
    action: str
    before: dict[str, Any] | None
    after: dict[str, Any] | None


AUDIT: Final = (
    "SELECT at, who, action, before, after FROM trade_audit WHERE trade_id = %s ORDER BY id"
)


async def list_audit(conn: Connection, trade_id: TradeId) -> list[TradeAudit]:
    async with conn.cursor(row_factory=class_row(TradeAudit)) as cur:
        return await (await cur.execute(AUDIT, (trade_id,))).fetchall()


OF_DOCUMENT: Final = SELECT_TRADES + sql.SQL(" WHERE t.document_id = %s ORDER BY t.position, t.id")


async def trades_of_document(conn: Connection, document_id: DocumentId) -> list[Trade]:
    async with conn.cursor(row_factory=kwargs_row(make_trade)) as cur:
        return await (await cur.execute(OF_DOCUMENT, (document_id,))).fetchall()


# The latest line of a document's history: whoever changes its trades says which one they saw.
DECISIONS: Final = """
SELECT id::text AS trade, review_status AS status, coalesce(approved_by, reviewed_by) AS reviewer,
       reviewed_at AS at
  FROM trades WHERE job_id = %s ORDER BY id
"""


async def list_decisions(conn: Connection, job_id: JobId) -> list[dict[str, Any]]:
    """The trades of a job, how each stands, and which person or rule decided on it."""
    async with conn.cursor(row_factory=dict_row) as cur:
        return await (await cur.execute(DECISIONS, (job_id,))).fetchall()


REVISION: Final = "SELECT coalesce(max(id), 0) FROM trade_audit WHERE document_id = %s"


async def find_revision(conn: Connection, document_id: DocumentId) -> int:
    row = await (await conn.execute(REVISION, (document_id,))).fetchone()
    return row[0] if row else 0


HOLD_TRADES: Final = "SELECT id FROM trades WHERE document_id = %s ORDER BY id FOR UPDATE"


async def hold_trades(conn: Connection, document: DocumentId, ids: Sequence[TradeId]) -> int:
    """Nobody else changes the document's trades until the transaction ends; its revision."""
    await conn.execute(HOLD_JOBS, {"ids": list(ids)})
    await conn.execute(HOLD_TRADES, (document,))
    return await find_revision(conn, document)


EDIT: Final = sql.SQL("""
UPDATE trades SET {values}, raw_extracted_data = raw_extracted_data || %(raw)s,
       review_status = 'pending', reviewed_by = NULL, reviewed_at = NULL,
       edited_by = %(who)s, edited_at = now(), updated_at = now()
 WHERE id = %(id)s
""").format(
    values=sql.SQL(", ").join(
        sql.SQL("{} = {}").format(sql.Identifier(name), sql.Placeholder(name)) for name in NAMES
    )
)


async def edit_trade(
    conn: Connection,
    trade_id: TradeId,
    values: Mapping[str, TradeValue],
    evidence: Mapping[str, Any],
    *,
    who: str,
) -> None:
    """Other values than were read. What was decided on is open again."""
    await conn.execute(SET_ACTOR, (who,))
    raw = Jsonb({"evidence": evidence})
    await conn.execute(EDIT, {**values, "id": trade_id, "raw": raw, "who": who})


CHECK: Final = """
WITH kept AS (
    UPDATE trades SET raw_extracted_data = raw_extracted_data || %(raw)s, updated_at = now()
     WHERE id = %(id)s RETURNING id, document_id)
INSERT INTO trade_audit (trade_id, document_id, who, action, after)
SELECT id, document_id, %(who)s, 'checked', %(values)s FROM kept
"""


async def check_trade(
    conn: Connection,
    trade_id: TradeId,
    values: Mapping[str, str],
    evidence: Mapping[str, Any],
    *,
    who: str,
) -> None:
    """A person says that these values are right as they are."""
    raw = Jsonb({"evidence": evidence})
    args = {"id": trade_id, "raw": raw, "who": who, "values": Jsonb(values)}
    await conn.execute(CHECK, args)


ADD: Final = sql.SQL("""
INSERT INTO trades (document_id, job_id, owner, position, {columns}, confidence_score,
                    raw_extracted_data, edited_by, edited_at)
SELECT d.id, %(job_id)s, d.owner,
       (SELECT coalesce(max(position) + 1, 0) FROM trades WHERE document_id = d.id), {values}, 1,
       %(raw)s, %(who)s, now()
  FROM documents d WHERE d.id = %(document_id)s
RETURNING id
""").format(columns=_each("{name}"), values=sql.SQL(", ").join(map(sql.Placeholder, NAMES)))


async def add_trade(
    conn: Connection,
    source: tuple[DocumentId, JobId | None],
    values: Mapping[str, TradeValue],
    evidence: Mapping[str, Any],
    *,
    who: str,
) -> TradeId:
    """One that the reader did not see; it waits for approval as others do."""
    await conn.execute(SET_ACTOR, (who,))
    document_id, job_id = source
    raw = Jsonb({"source": "person", "evidence": evidence})
    args = {**values, "document_id": document_id, "job_id": job_id, "raw": raw, "who": who}
    row = await (await conn.execute(ADD, args)).fetchone()
    assert row is not None, "the document is there, for its trades are held"
    return row[0]


async def summarize_jobs(conn: Connection, trade_ids: Sequence[TradeId]) -> None:
    await conn.execute(SUMMARIZE, {"ids": list(trade_ids)})


@dataclass(frozen=True, slots=True)
class NoteAudit:
    """One line of the history of a document's trades."""

    id: int
    trade_id: TradeId
    at: datetime
    who: str
    action: str
    before: dict[str, Any] | None
    after: dict[str, Any] | None


AUDIT_OF_DOCUMENT: Final = """
SELECT id, trade_id, at, who, action, before, after FROM trade_audit
 WHERE document_id = %s AND id > %s ORDER BY id
"""


async def list_note_audit(
    conn: Connection, document_id: DocumentId, since: int = 0
) -> list[NoteAudit]:
    async with conn.cursor(row_factory=class_row(NoteAudit)) as cur:
        return await (await cur.execute(AUDIT_OF_DOCUMENT, (document_id, since))).fetchall()


@dataclass(frozen=True, slots=True)
class WaitingNote:
    """A document some of whose trades wait for a person."""

    document_id: DocumentId
    filename: str
    counterparty: str | None
    pending: int
    notes: int
    since: datetime


# The oldest first: whoever waits longest is served first.
WAITING: Final = (
    sql.SQL("""
SELECT t.document_id, d.original_filename AS filename, min(t.counterparty) AS counterparty,
       count(*) AS pending, count(*) OVER () AS notes, min(t.created_at) AS since
  FROM trades t JOIN documents d ON d.id = t.document_id
""")
    + VISIBLE
    + sql.SQL("""
   AND t.review_status = 'pending'
 GROUP BY t.document_id, d.original_filename ORDER BY min(t.created_at), t.document_id
 LIMIT %(limit)s
""")
)


async def list_waiting(conn: Connection, asker: Owner, limit: int) -> list[WaitingNote]:
    args = {"owner": asker.key, "desks": list(asker.desks), "limit": limit}
    async with conn.cursor(row_factory=class_row(WaitingNote)) as cur:
        return await (await cur.execute(WAITING, args)).fetchall()
