"""Trades: listed, exported, looked at, reviewed; and from each the way to its document."""

from datetime import date
from decimal import Decimal
from typing import Annotated, Any, Final, Literal

from fastapi import APIRouter, Depends, Query
from pydantic import BaseModel, Field
from starlette.requests import Request
from starlette.responses import Response

from docmill.core.owners import Owner
from docmill.core.trades import ReviewStatus
from docmill.db import papers, trades
from docmill.db.pool import connection, reading
from docmill.db.trades import Filter, Place
from docmill.web import asking, problems
from docmill.web.deps import Asker, Here, Site
from docmill.web.shapes import Instant
from docmill.web.trades import PdfAnswer, TradeShape, csv_of, pdf_of, seen_trade, shape

router = APIRouter(prefix="/api/trades", tags=["trades"])

LOOKUP: Final = ("UNAUTHORIZED", "FORBIDDEN", "TRADE_NOT_FOUND", "DATABASE_DOWN", "BUSY")
EXPORTED: Final = 10_000


class TradeList(BaseModel):
    trades: list[TradeShape]
    next_cursor: str | None = Field(description="For the next page; null on the last one")


class AuditShape(BaseModel):
    at: Instant
    who: str
    action: str = Field(examples=["approved"])
    before: dict[str, Any] | None
    after: dict[str, Any] | None


class TradeDetail(TradeShape):
    raw_extracted_data: dict[str, Any] = Field(description="Each value's place and confidence")
    audit: list[AuditShape]


async def the_filter(
    status: Annotated[Literal["pending", "approved", "rejected"] | None, Query()] = None,
    direction: Annotated[Literal["buy", "sell"] | None, Query()] = None,
    isin: Annotated[str | None, Query(max_length=12)] = None,
    currency: Annotated[str | None, Query(max_length=3)] = None,
    asset_class: Annotated[str | None, Query(max_length=40)] = None,
    since: Annotated[date | None, Query(description="Traded on this day or later")] = None,
    until: Annotated[date | None, Query(description="Traded on this day or before")] = None,
    below: Annotated[Decimal | None, Query(ge=0, le=1, description="Less sure than this")] = None,
    document: Annotated[str | None, Query(description="Id of a document")] = None,
    q: Annotated[str | None, Query(max_length=100, description="Part of a name or number")] = None,
) -> Filter:
    return Filter(
        review_status=status,
        direction=direction,
        isin=isin.upper() if isin else None,
        currency=currency.upper() if currency else None,
        asset_class=asset_class or None,
        traded_from=since,
        traded_until=until,
        below=below,
        document_id=asking.identity(document, at="document") if document else None,
        text=q.replace("\x00", "") if q else None,
    )


Only = Annotated[Filter, Depends(the_filter)]


@router.get(
    "",
    summary="Trades of one's own documents and of one's desks, newest first",
    responses=problems.documented("BAD_REQUEST", "UNAUTHORIZED", "DATABASE_DOWN", "BUSY"),
)
async def list_trades(
    here: Here,
    owner: Asker,
    only: Only,
    cursor: Annotated[str | None, Query(description="`next_cursor` of the page before")] = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> TradeList:
    after = asking.trade_place(cursor) if cursor else None
    async with reading(here.services.pool) as conn:
        found = await trades.page(conn, owner, only, after=after, limit=limit + 1)
    page, more = found[:limit], len(found) > limit
    last = Place(page[-1].created_at, page[-1].id) if more else None
    return TradeList(
        trades=[shape(trade) for trade in page],
        next_cursor=asking.cursor_at(last.created_at, last.id) if last else None,
    )


@router.get(
    "/export.csv",
    summary=f"The same as a table, {EXPORTED} rows at most; cells are never formulas",
    response_class=Response,
    responses=problems.documented("BAD_REQUEST", "UNAUTHORIZED", "DATABASE_DOWN", "BUSY")
    | {200: {"description": "The table", "content": {"text/csv": {}}}},
)
async def export_trades(here: Here, owner: Asker, only: Only) -> Response:
    async with reading(here.services.pool) as conn:
        found = await trades.page(conn, owner, only, after=None, limit=EXPORTED)
    headers = {
        "content-disposition": 'attachment; filename="trades.csv"',
        "cache-control": "private, no-store",
    }
    return Response(csv_of(found), media_type="text/csv; charset=utf-8", headers=headers)


@router.get(
    "/{trade_id}",
    summary="One trade with the places it was read from and its history",
    responses=problems.documented(*LOOKUP),
)
async def one_trade(trade_id: str, here: Here, owner: Asker) -> TradeDetail:
    async with reading(here.services.pool) as conn:
        trade = await seen_trade(conn, owner, trade_id)
        history = await trades.audit(conn, trade.id)
    return TradeDetail(
        **dict(shape(trade)),
        raw_extracted_data=dict(trade.raw_extracted_data),
        audit=[
            AuditShape(at=e.at, who=e.who, action=e.action, before=e.before, after=e.after)
            for e in history
        ],
    )


@router.get(
    "/{trade_id}/pdf",
    summary="The exact document a trade was read from, by an address that lasts an hour",
    responses=problems.documented(*LOOKUP, "EXPIRED", "IO_ERROR"),
)
async def trade_pdf(trade_id: str, request: Request, here: Here, owner: Asker) -> PdfAnswer:
    async with reading(here.services.pool) as conn:
        trade = await seen_trade(conn, owner, trade_id)
        paper = await papers.one(conn, trade.document_id)
    assert paper is not None, "a trade's document cannot be deleted under it"
    return await pdf_of(here, paper, str(request.base_url))


@router.post(
    "/{trade_id}/approve",
    summary="Say that a trade is right",
    responses=problems.documented(*LOOKUP, "CROSS_SITE"),
)
async def approve_trade(trade_id: str, here: Here, owner: Asker) -> TradeShape:
    return await reviewed(here, owner, trade_id, "approved")


@router.post(
    "/{trade_id}/reject",
    summary="Say that a trade is wrong, or none",
    responses=problems.documented(*LOOKUP, "CROSS_SITE"),
)
async def reject_trade(trade_id: str, here: Here, owner: Asker) -> TradeShape:
    return await reviewed(here, owner, trade_id, "rejected")


@router.post(
    "/{trade_id}/reopen",
    summary="Take a decision back: the trade waits for review again",
    responses=problems.documented(*LOOKUP, "CROSS_SITE"),
)
async def reopen_trade(trade_id: str, here: Here, owner: Asker) -> TradeShape:
    return await reviewed(here, owner, trade_id, "pending")


async def reviewed(here: Site, owner: Owner, trade_id: str, status: ReviewStatus) -> TradeShape:
    async with connection(here.services.pool) as conn:
        trade = await seen_trade(conn, owner, trade_id)
        await trades.review(conn, [trade.id], status, who=owner.key)
        trade = await seen_trade(conn, owner, trade_id)
    return shape(trade)
