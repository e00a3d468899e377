"""The trades page: find trades, judge them in place, and see the page each was read from."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import date
from decimal import Decimal
from typing import Annotated, Any, Final, Literal
from urllib.parse import urlencode

from fastapi import APIRouter, Header, Query
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from docmill.core.owners import Owner
from docmill.db.pool import read_connection
from docmill.documents import queries as documents_queries
from docmill.documents.bucket_monitor import WatchedBuckets
from docmill.documents.originals import make_pdf_link
from docmill.trades import queries, reviews
from docmill.trades.api import require_trade, review_trade
from docmill.trades.fields import LABELS as FIELD_LABELS
from docmill.trades.fields import NAMES
from docmill.trades.queries import ReviewStatus, Trade, TradeFilter
from docmill.web import params, render
from docmill.web.params import Cursor
from docmill.web.site import CurrentOwner, CurrentSite

router = APIRouter(include_in_schema=False)

SHOWN: Final = 100
NOTES_SHOWN: Final = 4
SURE: Final = 0.9
DOUBTED: Final = 0.8
VERBS: Final[dict[str, ReviewStatus]] = {
    "approve": "approved",
    "reject": "rejected",
    "reopen": "pending",
}
# People look for these first; the others follow in their order.
FIRST: Final = ("direction", "name")
LABELS: Final = {name: FIELD_LABELS[name] for name in (*FIRST, *NAMES)}


@dataclass(frozen=True, slots=True)
class TradeQuery:
    """The filter as the address has it; the empty string means any."""

    status: str = ""
    direction: str = ""
    currency: str = ""
    q: str = ""
    since: str = ""
    until: str = ""

    def query(self, **more: str) -> str:
        given = {name: value for name, value in {**asdict(self), **more}.items() if value}
        return f"?{urlencode(given)}" if given else ""

    def filter(self) -> TradeFilter:
        return TradeFilter(
            review_status=self.status or None,
            direction=self.direction or None,
            currency=self.currency.upper() or None,
            traded_from=_read_day(self.since),
            traded_until=_read_day(self.until),
            text=self.q or None,
        )


def _read_day(text: str) -> date | None:
    try:
        return date.fromisoformat(text) if text else None
    except ValueError:
        return None


@router.get("/trades")
async def show_trades(
    site: CurrentSite,
    owner: CurrentOwner,
    status: Annotated[str, Query(pattern="^(pending|approved|rejected)?$")] = "",
    direction: Annotated[str, Query(pattern="^(buy|sell)?$")] = "",
    currency: Annotated[str, Query(max_length=3)] = "",
    q: Annotated[str, Query(max_length=100)] = "",
    since: Annotated[str, Query(max_length=10)] = "",
    until: Annotated[str, Query(max_length=10)] = "",
    cursor: str = "",
) -> Response:
    asked = TradeQuery(status, direction, currency, q, since, until)
    after = params.parse_cursor(cursor) if cursor else None
    async with read_connection(site.pool) as conn:
        only = asked.filter()
        found = await queries.list_trades(conn, owner, only, after=after, limit=SHOWN + 1)
        totals = await queries.sum_trades(conn, owner, only)
        waiting = await queries.list_waiting(conn, owner, NOTES_SHOWN)
    page, last = params.cut_page(found, SHOWN, lambda one: Cursor(one.created_at, one.id))
    seen = site.find(WatchedBuckets).seen_by(owner)
    return render.render_page(
        "trades.html",
        rows=[_render_row(trade, owner) for trade in page],
        waiting=waiting,
        totals=totals,
        asked=asked,
        more=asked.query(cursor=last) if last else "",
        grouped=group_digits,
        bucket=bool(seen),
        place=seen[0].place if seen else "",
    )


def _render_row(trade: Trade, owner: Owner) -> str:
    return render.render_template(
        "trade_row.html",
        trade=trade,
        what=reviews.describe_trade(trade),
        approved_by=reviews.describe_approval(trade, owner),
        grouped=group_digits,
        look=confidence_class(trade),
    )


def group_digits(number: Decimal) -> str:
    """An exact number as people read it, in groups of three digits."""
    return f"{number:,f}"


def confidence_class(trade: Trade) -> str:
    """How a confidence is coloured."""
    score = float(trade.confidence_score)
    return "good" if score >= SURE else "warm" if score >= DOUBTED else "bad"


@router.post("/trades/{trade_id}/{verb}")
async def judge_trade(
    trade_id: str,
    verb: Literal["approve", "reject", "reopen"],
    site: CurrentSite,
    owner: CurrentOwner,
    fragment: Annotated[str | None, Header(alias="x-fragment")] = None,
) -> Response:
    """A browser without scripts is led back; the script is given the row as it is now."""
    await review_trade(site, owner, trade_id, VERBS[verb])
    if fragment is None:
        return RedirectResponse(f"/trades/{trade_id}", status_code=303)
    async with read_connection(site.pool) as conn:
        trade = await require_trade(conn, owner, trade_id)
    return HTMLResponse(_render_row(trade, owner))


@router.get("/trades/{trade_id}")
async def show_trade_page(trade_id: str, site: CurrentSite, owner: CurrentOwner) -> Response:
    """The page image with the trade's values marked, and beside it what they are."""
    async with read_connection(site.pool) as conn:
        trade = await require_trade(conn, owner, trade_id)
        history = await queries.list_audit(conn, trade.id)
        document = await documents_queries.find_document_row(conn, trade.document_id)
    assert document is not None, "a trade's document cannot be deleted under it"
    return render.render_page(
        "trade.html",
        trade=trade,
        document=document,
        history=[(line, reviews.describe_person(line.who, owner)) for line in history],
        approved_by=reviews.describe_approval(trade, owner),
        values=_shown_values(trade),
        doubts=list_doubts(trade.raw_extracted_data),
        sheets=_marked_pages(trade),
        look=confidence_class(trade),
    )


def _shown_values(trade: Trade) -> list[dict[str, Any]]:
    """Every value with how sure it is."""
    evidence: dict[str, dict[str, Any]] = trade.raw_extracted_data.get("evidence") or {}
    shown: list[dict[str, Any]] = []
    for name, label in LABELS.items():
        value = trade.values[name]
        if value is not None:
            sure = evidence[name]["confidence"] if name in evidence else None
            text = group_digits(value) if isinstance(value, Decimal) else str(value)
            shown.append({"name": name, "label": label, "text": text, "sure": sure})
    return shown


def list_doubts(raw: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What two readers tell differently: the value's label, or the trade, and a sentence."""
    found: list[dict[str, Any]] = raw.get("differences") or []
    names = [str(one["path"]).partition("].")[2] for one in found]
    return [
        (LABELS.get(name, "Trade"), str(one["reason"]))
        for name, one in zip(names, found, strict=True)
    ]


def _marked_pages(trade: Trade) -> list[dict[str, Any]]:
    """The pages that values stand on, with the place of each."""
    sizes: dict[str, list[float]] = trade.raw_extracted_data.get("pages") or {}
    evidence: dict[str, Any] = trade.raw_extracted_data.get("evidence") or {}
    sheets: list[dict[str, Any]] = []
    for number in sorted(sizes, key=int):
        marks = [
            {"label": LABELS.get(name, name), "box": found["box"], "name": name}
            for name, found in evidence.items()
            if found.get("box") and str(found.get("page")) == number
        ]
        width, height = sizes[number]
        sheets.append({"number": number, "width": width, "height": height, "marks": marks})
    return sheets


@router.get("/trades/{trade_id}/pdf")
async def open_trade_file(
    trade_id: str, request: Request, site: CurrentSite, owner: CurrentOwner
) -> Response:
    async with read_connection(site.pool) as conn:
        trade = await require_trade(conn, owner, trade_id)
        document = await documents_queries.find_document_row(conn, trade.document_id)
    assert document is not None, "a trade's document cannot be deleted under it"
    answer = await make_pdf_link(site, document, str(request.base_url))
    return RedirectResponse(answer.pdf_url, status_code=303)
