"""A trade as the database keeps it, and who may see it."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any, Literal, NewType
from uuid import UUID

from docmill.core.jobs import DocumentId, JobId

TradeId = NewType("TradeId", UUID)
ReviewStatus = Literal["pending", "approved", "rejected"]


@dataclass(frozen=True, slots=True)
class Trade:
    """One trade, the document it was read from, and what people said of it."""

    id: TradeId
    document_id: DocumentId
    job_id: JobId | None
    owner: str
    position: int
    ticker: str | None
    isin: str | None
    cusip: str | None
    name: str | None
    quantity: Decimal | None
    price: Decimal | None
    notional: Decimal | None
    fees: Decimal | None
    taxes: Decimal | None
    settlement_amount: Decimal | None
    currency: str | None
    trade_date: date | None
    settlement_date: date | None
    counterparty: str | None
    direction: str
    asset_class: str | None
    exchange: str | None
    confidence_score: Decimal
    raw_extracted_data: Mapping[str, Any]
    review_status: str
    reviewed_by: str | None
    reviewed_at: datetime | None
    created_at: datetime
    updated_at: datetime
    original_filename: str
