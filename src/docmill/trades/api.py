"""Trades as the API and the page show them, as CSV too, and the check of who may see them."""

import csv
import io
from collections.abc import Iterable
from datetime import date
from decimal import Decimal
from typing import Annotated, Any, Final, Literal
from uuid import UUID

from fastapi import APIRouter, Depends, Query
from pydantic import BaseModel, ConfigDict, Field, PlainSerializer, create_model
from starlette.requests import Request
from starlette.responses import Response

from docmill.core.faults import DocmillError
from docmill.core.fields import ValueKind
from docmill.core.owners import Owner, may_see
from docmill.core.texts import clean_text
from docmill.db import wall
from docmill.db.pool import Connection, read_connection, write
from docmill.documents import queries as documents_queries
from docmill.documents.api import DOCUMENT_LOOKUP, ListedDocument, shape_document
from docmill.documents.originals import PdfAnswer, make_pdf_link, require_document, require_listed
from docmill.jobs import experience
from docmill.jobs.experience_shapes import CalibrateAnswer, TouchlessAnswer, make_touchless_answer
from docmill.trades import edits, queries, reviews, touchless
from docmill.trades.fields import FIELDS, NAMES, TradeField
from docmill.trades.queries import ReviewStatus, Trade, TradeFilter, TradeId
from docmill.web import json_body, params, problems
from docmill.web.params import CursorText, Instant
from docmill.web.site import CurrentOwner, CurrentSite, Site

FORMULA: Final = ("=", "+", "-", "@", "\t", "\r", "\n")


def format_amount(number: Decimal) -> str:
    """A number as text: exact, with a point and no exponent."""
    return f"{number:f}"


Amount = Annotated[Decimal, PlainSerializer(format_amount, return_type=str)]


class TradeSource(BaseModel):
    """Where a trade comes from."""

    id: str
    document_id: str
    job_id: str | None
    original_filename: str


_TYPES: Final[dict[ValueKind, Any]] = {ValueKind.AMOUNT: Amount, ValueKind.DATE: date}


def _model_field(field: TradeField) -> Any:
    kind = _TYPES.get(field.kind, str)
    examples = [field.example] if field.example else None
    return (kind if field.always else kind | None, Field(examples=examples))


TradeValues = create_model(
    "TradeValues", __base__=TradeSource, **{field.name: _model_field(field) for field in FIELDS}
)


class TradeShape(TradeValues):
    """A trade as those who may see it see it."""

    confidence_score: float
    review_status: str = Field(examples=["pending"])
    approved_by: str | None = Field(
        description="The person, or the rule in words, that approved it",
        examples=["rule: every needed value at 0.80 or surer"],
    )
    reviewed_by: str | None
    reviewed_at: Instant | None
    edited_by: str | None
    edited_at: Instant | None
    created_at: Instant
    updated_at: Instant


COLUMNS: Final = tuple(TradeShape.model_fields)


def shape_trade(trade: Trade) -> TradeShape:
    given: dict[str, Any] = {
        name: trade.values[name] if name in NAMES else getattr(trade, name) for name in COLUMNS
    }
    return TradeShape.model_validate(
        {name: str(value) if isinstance(value, UUID) else value for name, value in given.items()}
    )


def write_csv(found: Iterable[Trade]) -> str:
    """The trades as a table that spreadsheets open without running anything in it."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(COLUMNS)
    for trade in found:
        row = shape_trade(trade).model_dump(mode="json")
        writer.writerow([escape_formula(row[name]) for name in COLUMNS])
    return out.getvalue()


def escape_formula(cell: Any) -> str:
    """Text that begins like a formula gets an apostrophe before it."""
    text = "" if cell is None else str(cell)
    return f"'{text}" if text.startswith(FORMULA) else text


async def require_trade(conn: Connection, owner: Owner, trade_id: str) -> Trade:
    """The trade, if there is one and the asker may see it."""
    try:
        wanted = TradeId(UUID(trade_id))
        trade = await queries.find_trade(conn, wanted)
        if trade is None and await wall.is_known(conn, "trades", wanted):
            raise DocmillError("FORBIDDEN", tradeId=str(wanted))
    except ValueError:
        trade = None
    if trade is None:
        raise DocmillError("TRADE_NOT_FOUND", tradeId=clean_text(trade_id)[:64])
    if not may_see(owner, trade.owner):
        raise DocmillError("FORBIDDEN", tradeId=str(trade.id))
    return trade


router = APIRouter(prefix="/api/trades", tags=["trades"])

LOOKUP: Final = ("UNAUTHORIZED", "FORBIDDEN", "TRADE_NOT_FOUND", "DATABASE_DOWN", "BUSY")
EXPORTED: Final = 10_000


class TradeList(BaseModel):
    trades: list[TradeShape]
    next_cursor: str | None = Field(description="For the next page; null on the last one")


class TradeAuditShape(BaseModel):
    at: Instant
    who: str
    action: str = Field(examples=["approved"])
    before: dict[str, Any] | None
    after: dict[str, Any] | None


class TradeDetail(TradeShape):
    doubts: dict[str, str] = Field(
        description="While it waits: why a person should look, by name of the value",
        examples=[{"notional": "Quantity times price is 4,482.4"}],
    )
    raw_extracted_data: dict[str, Any] = Field(description="Each value's place and confidence")
    audit: list[TradeAuditShape]


async def read_filter(
    status: Annotated[Literal["pending", "approved", "rejected"] | None, Query()] = None,
    direction: Annotated[Literal["buy", "sell"] | None, Query()] = None,
    isin: Annotated[str | None, Query(max_length=12)] = None,
    currency: Annotated[str | None, Query(max_length=3)] = None,
    asset_class: Annotated[str | None, Query(max_length=40)] = None,
    since: Annotated[params.Day | None, Query(description="Traded on this day or later")] = None,
    until: Annotated[params.Day | None, Query(description="Traded on this day or before")] = None,
    below: Annotated[
        float | None, Query(ge=0, le=1, allow_inf_nan=False, description="Less sure than this")
    ] = None,
    document: Annotated[params.IdText | None, Query(description="Id of a document")] = None,
    q: Annotated[str | None, Query(max_length=100, description="Part of a name or number")] = None,
) -> TradeFilter:
    return TradeFilter(
        review_status=status,
        direction=direction,
        isin=isin.upper() if isin else None,
        currency=currency.upper() if currency else None,
        asset_class=asset_class or None,
        traded_from=since,
        traded_until=until,
        below=Decimal(str(below)) if below is not None else None,
        document_id=params.parse_id(document, at="document") if document else None,
        text=q or None,
    )


Only = Annotated[TradeFilter, Depends(read_filter)]


@router.get(
    "",
    summary="Trades of one's own documents and of one's desks, newest first",
    responses=problems.fault_responses("BAD_REQUEST", "UNAUTHORIZED", "DATABASE_DOWN", "BUSY"),
)
async def list_trades(
    site: CurrentSite,
    owner: CurrentOwner,
    only: Only,
    cursor: CursorText = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> TradeList:
    after = params.parse_cursor(cursor) if cursor else None
    async with read_connection(site.pool) as conn:
        found = await queries.list_trades(conn, owner, only, after=after, limit=limit + 1)
    page, last = params.cut_page(found, limit, lambda one: params.Cursor(one.created_at, one.id))
    return TradeList(
        trades=[shape_trade(trade) for trade in page],
        next_cursor=last,
    )


@router.get(
    "/export.csv",
    summary=f"The same as a table, {EXPORTED} rows at most; cells are never formulas",
    response_class=Response,
    responses=problems.fault_responses("BAD_REQUEST", "UNAUTHORIZED", "DATABASE_DOWN", "BUSY")
    | {200: {"description": "The table", "content": {"text/csv": {}}}},
)
async def export_trades(site: CurrentSite, owner: CurrentOwner, only: Only) -> Response:
    async with read_connection(site.pool) as conn:
        found = await queries.list_trades(conn, owner, only, after=None, limit=EXPORTED)
    headers = {
        "content-disposition": 'attachment; filename="trades.csv"',
        "cache-control": "private, no-store",
    }
    return Response(write_csv(found), media_type="text/csv; charset=utf-8", headers=headers)


@router.get(
    "/touchless",
    summary="How many trades were approved by rule, and the errors found in them later",
    responses=problems.fault_responses("UNAUTHORIZED", "DATABASE_DOWN", "BUSY"),
)
async def show_trades_touchless(site: CurrentSite, owner: CurrentOwner) -> TouchlessAnswer:
    async with read_connection(site.pool) as conn:
        counts = await touchless.count_touchless(conn, owner.key)
        seen = await experience.read_experience(conn, owner.key, touchless.PIPELINE)
    return make_touchless_answer(counts, seen)


@router.post(
    "/calibrate",
    summary="Fit confidence to your own reviews of trades now; it happens each night by itself",
    responses=problems.fault_responses("UNAUTHORIZED", "CROSS_SITE", "DATABASE_DOWN", "BUSY"),
)
async def calibrate_trades(site: CurrentSite, owner: CurrentOwner) -> CalibrateAnswer:
    done = await touchless.calibrate_owner(site.pool, owner.key)
    return CalibrateAnswer.model_validate(done)


@router.get(
    "/{trade_id}",
    summary="One trade with the places it was read from and its history",
    responses=problems.fault_responses(*LOOKUP),
)
async def show_trade(trade_id: str, site: CurrentSite, owner: CurrentOwner) -> TradeDetail:
    async with read_connection(site.pool) as conn:
        trade = await require_trade(conn, owner, trade_id)
        history = await queries.list_audit(conn, trade.id)
        threshold = await reviews.read_threshold(conn, trade.owner)
    return TradeDetail(
        **dict(shape_trade(trade)),
        doubts=reviews.explain_draft(edits.make_draft(trade), threshold),
        raw_extracted_data=dict(trade.raw_extracted_data),
        audit=[
            TradeAuditShape(at=e.at, who=e.who, action=e.action, before=e.before, after=e.after)
            for e in history
        ],
    )


_VALUE: Final = Annotated[str | None, Field(max_length=edits.LONGEST)]
_GIVEN: Final[dict[str, Any]] = dict.fromkeys(NAMES, (_VALUE, None))
TradeValuesBody = create_model("TradeValuesBody", __config__=ConfigDict(extra="forbid"), **_GIVEN)
TradeBody = create_model(
    "TradeBody", __base__=TradeValuesBody, direction=(str, Field(examples=["buy"]))
)
EDITED: Final = (*LOOKUP, "BAD_REQUEST", "TOO_LARGE", "CROSS_SITE", "REVIEW_CONFLICT")


@router.patch(
    "/{trade_id}",
    summary="Change values of a trade; each change is kept with what was there before",
    openapi_extra=json_body.describe_body(TradeValuesBody.model_json_schema()),
    responses=problems.fault_responses(*EDITED),
)
async def edit_trade(
    trade_id: str, request: Request, site: CurrentSite, owner: CurrentOwner
) -> TradeDetail:
    """Values are texts, null for none. An edit of what was decided opens its review again."""
    async with read_connection(site.pool) as conn:
        trade = await require_trade(conn, owner, trade_id)
    wish = await json_body.read_json(request, TradeValuesBody)
    await reviews.patch_trade(site, owner, trade, wish.model_dump(exclude_unset=True))
    return await show_trade(trade_id, site, owner)


@router.get(
    "/{trade_id}/pdf",
    summary="The exact document a trade was read from, by an address that lasts an hour",
    responses=problems.fault_responses(*LOOKUP, "EXPIRED", "IO_ERROR", "DAMAGED"),
)
async def link_to_pdf(
    trade_id: str, request: Request, site: CurrentSite, owner: CurrentOwner
) -> PdfAnswer:
    async with read_connection(site.pool) as conn:
        trade = await require_trade(conn, owner, trade_id)
        document = await documents_queries.find_document_row(conn, trade.document_id)
    assert document is not None, "a trade's document cannot be deleted under it"
    return await make_pdf_link(site, document, str(request.base_url))


@router.post(
    "/{trade_id}/approve",
    summary="Say that a trade is right",
    responses=problems.fault_responses(*LOOKUP, "CROSS_SITE"),
)
async def approve_trade(trade_id: str, site: CurrentSite, owner: CurrentOwner) -> TradeShape:
    return await review_trade(site, owner, trade_id, "approved")


@router.post(
    "/{trade_id}/reject",
    summary="Say that a trade is wrong, or none",
    responses=problems.fault_responses(*LOOKUP, "CROSS_SITE"),
)
async def reject_trade(trade_id: str, site: CurrentSite, owner: CurrentOwner) -> TradeShape:
    return await review_trade(site, owner, trade_id, "rejected")


@router.post(
    "/{trade_id}/reopen",
    summary="Take a decision back: the trade waits for review again",
    responses=problems.fault_responses(*LOOKUP, "CROSS_SITE"),
)
async def reopen_trade(trade_id: str, site: CurrentSite, owner: CurrentOwner) -> TradeShape:
    return await review_trade(site, owner, trade_id, "pending")


async def review_trade(site: Site, owner: Owner, trade_id: str, status: ReviewStatus) -> TradeShape:
    async def review(conn: Connection) -> TradeShape:
        trade = await require_trade(conn, owner, trade_id)
        await queries.set_review_status(conn, [trade.id], status, who=owner.key)
        return shape_trade(await require_trade(conn, owner, trade_id))

    reviewed = await write(site.pool, review)
    site.changes.ring()
    return reviewed


documents_router = APIRouter(prefix="/api/documents", tags=["documents"])


@documents_router.post(
    "/{document_id}/trades",
    summary="Add a trade that was not found in a document; it waits for approval",
    tags=["trades"],
    openapi_extra=json_body.describe_body(TradeBody.model_json_schema()),
    responses=problems.fault_responses(
        *DOCUMENT_LOOKUP, "BAD_REQUEST", "TOO_LARGE", "CROSS_SITE", "REVIEW_CONFLICT"
    ),
)
async def add_trade(
    document_id: str, request: Request, site: CurrentSite, owner: CurrentOwner
) -> TradeDetail:
    async with read_connection(site.pool) as conn:
        await require_document(conn, owner, document_id)
    wish = await json_body.read_json(request, TradeBody)
    given = wish.model_dump(exclude_unset=True)
    added = await reviews.add_trade(site, owner, document_id, given)
    return await show_trade(str(added), site, owner)


class DocumentDetail(ListedDocument):
    trades: list[TradeShape]


@documents_router.get(
    "/{document_id}",
    summary="One document with its trades",
    responses=problems.fault_responses(*DOCUMENT_LOOKUP),
)
async def show_document(document_id: str, site: CurrentSite, owner: CurrentOwner) -> DocumentDetail:
    async with read_connection(site.pool) as conn:
        document = await require_listed(conn, owner, document_id)
        found = await queries.trades_of_document(conn, document.id)
    return DocumentDetail(
        **dict(shape_document(document)), trades=[shape_trade(trade) for trade in found]
    )
