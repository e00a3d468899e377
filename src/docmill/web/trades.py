"""Trades as the API and the page show them, as CSV too, and the check of who may see them."""

import csv
import io
from collections.abc import Iterable
from datetime import date, timedelta
from decimal import Decimal
from typing import Annotated, Any, Final
from uuid import UUID

from pydantic import BaseModel, Field, PlainSerializer

from docmill.core.documents import clean_text
from docmill.core.faults import Faulted
from docmill.core.jobs import DocumentId
from docmill.core.owners import Owner, may_see
from docmill.core.trades import Trade, TradeId
from docmill.db import papers, trades
from docmill.db.papers import Paper
from docmill.db.pool import Connection
from docmill.web.deps import Site
from docmill.web.shapes import Instant

LINK: Final = timedelta(hours=1)
FORMULA: Final = ("=", "+", "-", "@", "\t", "\r", "\n")


def figures(number: Decimal) -> str:
    """A number as text: exact, with a point and no exponent."""
    return f"{number:f}"


Amount = Annotated[Decimal, PlainSerializer(figures, return_type=str)]


class TradeShape(BaseModel):
    """A trade as those who may see it see it."""

    id: str
    document_id: str
    job_id: str | None
    original_filename: str
    ticker: str | None
    isin: str | None
    cusip: str | None
    name: str | None
    quantity: Amount | None
    price: Amount | None
    notional: Amount | None
    fees: Amount | None
    taxes: Amount | None
    settlement_amount: Amount | None
    currency: str | None
    trade_date: date | None
    settlement_date: date | None
    counterparty: str | None
    direction: str = Field(examples=["buy"])
    asset_class: str | None
    exchange: str | None
    confidence_score: float
    review_status: str = Field(examples=["pending"])
    reviewed_by: str | None
    reviewed_at: Instant | None
    created_at: Instant
    updated_at: Instant


COLUMNS: Final = tuple(TradeShape.model_fields)


def shape(trade: Trade) -> TradeShape:
    return TradeShape(**{name: _plain(getattr(trade, name)) for name in COLUMNS})


def _plain(value: Any) -> Any:
    return str(value) if isinstance(value, UUID) else value


def csv_of(found: Iterable[Trade]) -> str:
    """The trades as a table that spreadsheets open without running anything in it."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(COLUMNS)
    for trade in found:
        row = shape(trade).model_dump(mode="json")
        writer.writerow([harmless(row[name]) for name in COLUMNS])
    return out.getvalue()


def harmless(cell: Any) -> str:
    """Text that begins like a formula gets an apostrophe before it."""
    text = "" if cell is None else str(cell)
    return f"'{text}" if text.startswith(FORMULA) else text


async def seen_trade(conn: Connection, owner: Owner, trade_id: str) -> Trade:
    """The trade, if there is one and the asker may see it."""
    try:
        trade = await trades.one(conn, TradeId(UUID(trade_id)))
    except ValueError:
        trade = None
    if trade is None:
        raise Faulted("TRADE_NOT_FOUND", tradeId=clean_text(trade_id)[:64])
    if not may_see(owner, trade.owner):
        raise Faulted("FORBIDDEN", tradeId=str(trade.id))
    return trade


async def seen_paper(conn: Connection, owner: Owner, document_id: str) -> Paper:
    """The document, if there is one and the asker may see it."""
    try:
        paper = await papers.one(conn, DocumentId(UUID(document_id)))
    except ValueError:
        paper = None
    if paper is None:
        raise Faulted("DOCUMENT_NOT_FOUND", documentId=clean_text(document_id)[:64])
    if not may_see(owner, paper.owner):
        raise Faulted("FORBIDDEN", documentId=str(paper.id))
    return paper


class PdfAnswer(BaseModel):
    """Where the exact file is, for an hour."""

    document_id: str
    original_filename: str
    sender_email: str | None
    received_at: Instant
    pdf_url: str
    expires_in_seconds: int


async def pdf_of(here: Site, paper: Paper, base: str) -> PdfAnswer:
    if paper.upload_key is None:
        raise Faulted("EXPIRED", documentId=str(paper.id))
    name = paper.original_filename
    url = await here.links.url(paper.upload_key, expires=LINK, base=base, filename=name)
    return PdfAnswer(
        document_id=str(paper.id),
        original_filename=name,
        sender_email=paper.sender_email,
        received_at=paper.received_at,
        pdf_url=url,
        expires_in_seconds=int(LINK.total_seconds()),
    )
