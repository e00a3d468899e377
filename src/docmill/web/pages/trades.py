"""The trades page: find trades, judge them in place, and see the page each was read from."""

from dataclasses import asdict, dataclass
from datetime import date
from decimal import Decimal
from typing import Annotated, Any, Final, Literal
from urllib.parse import urlencode

from fastapi import APIRouter, Header, Query
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from docmill.core.trades import ReviewStatus, Trade
from docmill.db import papers, trades
from docmill.db.pool import reading
from docmill.db.trades import Filter
from docmill.web import asking
from docmill.web.api.trades import reviewed
from docmill.web.deps import Asker, Here
from docmill.web.pages import render
from docmill.web.trades import pdf_of, seen_trade

router = APIRouter(include_in_schema=False)

SHOWN: Final = 100
SURE: Final = 0.9
DOUBTED: Final = 0.8
VERBS: Final[dict[str, ReviewStatus]] = {
    "approve": "approved",
    "reject": "rejected",
    "reopen": "pending",
}
FIELDS: Final = (
    ("direction", "Side"), ("name", "Security"), ("isin", "ISIN"), ("cusip", "CUSIP"),
    ("ticker", "Ticker"), ("quantity", "Quantity"), ("price", "Price"), ("notional", "Notional"),
    ("fees", "Fees"), ("taxes", "Taxes"), ("settlement_amount", "Settled"),
    ("currency", "Currency"), ("trade_date", "Trade date"), ("settlement_date", "Settlement date"),
    ("counterparty", "Counterparty"), ("exchange", "Exchange"), ("asset_class", "Kind"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Asked:
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

    def filter(self) -> Filter:
        return Filter(
            review_status=self.status or None,
            direction=self.direction or None,
            currency=self.currency.upper() or None,
            traded_from=_day(self.since),
            traded_until=_day(self.until),
            text=self.q.replace("\x00", "") or None,
        )


def _day(text: str) -> date | None:
    try:
        return date.fromisoformat(text) if text else None
    except ValueError:
        return None


@router.get("/trades")
async def trades_page(
    here: Here,
    owner: Asker,
    status: Annotated[str, Query(pattern="^(pending|approved|rejected)?$")] = "",
    direction: Annotated[str, Query(pattern="^(buy|sell)?$")] = "",
    currency: Annotated[str, Query(max_length=3)] = "",
    q: Annotated[str, Query(max_length=100)] = "",
    since: Annotated[str, Query(max_length=10)] = "",
    until: Annotated[str, Query(max_length=10)] = "",
    cursor: str = "",
) -> Response:
    asked = Asked(status, direction, currency, q, since, until)
    after = asking.trade_place(cursor) if cursor else None
    async with reading(here.services.pool) as conn:
        only = asked.filter()
        found = await trades.page(conn, owner, only, after=after, limit=SHOWN + 1)
        totals = await trades.totals(conn, owner, only)
    page = found[:SHOWN]
    last = asking.cursor_at(page[-1].created_at, page[-1].id) if len(found) > SHOWN else ""
    return render.page(
        "trades.html",
        rows=[_row(trade) for trade in page],
        totals=totals,
        asked=asked,
        more=asked.query(cursor=last) if last else "",
        grouped=grouped,
        bucket=here.watched.is_seen_by(owner),
        place=here.watched.place if here.watched.is_seen_by(owner) else "",
    )


def _row(trade: Trade) -> str:
    return render.draw("trade_row.html", trade=trade, grouped=grouped, look=look(trade))


def grouped(number: Decimal) -> str:
    """An exact number as people read it, in groups of three digits."""
    return f"{number:,f}"


def look(trade: Trade) -> str:
    """How a confidence is coloured."""
    score = float(trade.confidence_score)
    return "good" if score >= SURE else "warm" if score >= DOUBTED else "bad"


@router.post("/trades/{trade_id}/{verb}")
async def judge(
    trade_id: str,
    verb: Literal["approve", "reject", "reopen"],
    here: Here,
    owner: Asker,
    fragment: Annotated[str | None, Header(alias="x-fragment")] = None,
) -> Response:
    """A browser without scripts is led back; the script is given the row as it is now."""
    await reviewed(here, owner, trade_id, VERBS[verb])
    if fragment is None:
        return RedirectResponse(f"/trades/{trade_id}", status_code=303)
    async with reading(here.services.pool) as conn:
        trade = await seen_trade(conn, owner, trade_id)
    return HTMLResponse(_row(trade))


@router.get("/trades/{trade_id}")
async def trade_page(trade_id: str, here: Here, owner: Asker) -> Response:
    """The page image with the trade's values marked, and beside it what they are."""
    async with reading(here.services.pool) as conn:
        trade = await seen_trade(conn, owner, trade_id)
        history = await trades.audit(conn, trade.id)
        paper = await papers.one(conn, trade.document_id)
    assert paper is not None, "a trade's document cannot be deleted under it"
    return render.page(
        "trade.html",
        trade=trade,
        paper=paper,
        history=history,
        values=_values(trade),
        sheets=_sheets(trade),
        look=look(trade),
    )


def _values(trade: Trade) -> list[dict[str, Any]]:
    """Every value with how sure it is."""
    evidence: dict[str, dict[str, Any]] = trade.raw_extracted_data.get("evidence") or {}
    shown: list[dict[str, Any]] = []
    for name, label in FIELDS:
        value = getattr(trade, name)
        if value is not None:
            sure = evidence[name]["confidence"] if name in evidence else None
            text = grouped(value) if isinstance(value, Decimal) else str(value)
            shown.append({"name": name, "label": label, "text": text, "sure": sure})
    return shown


def _sheets(trade: Trade) -> list[dict[str, Any]]:
    """The pages that values stand on, with the place of each."""
    sizes: dict[str, list[float]] = trade.raw_extracted_data.get("pages") or {}
    evidence: dict[str, Any] = trade.raw_extracted_data.get("evidence") or {}
    labels = dict(FIELDS)
    sheets: list[dict[str, Any]] = []
    for number in sorted(sizes, key=int):
        marks = [
            {"label": labels.get(name, name), "box": found["box"], "name": name}
            for name, found in evidence.items()
            if found.get("box") and str(found.get("page")) == number
        ]
        width, height = sizes[number]
        sheets.append({"number": number, "width": width, "height": height, "marks": marks})
    return sheets


@router.get("/trades/{trade_id}/pdf")
async def trade_file(trade_id: str, request: Request, here: Here, owner: Asker) -> Response:
    async with reading(here.services.pool) as conn:
        trade = await seen_trade(conn, owner, trade_id)
        paper = await papers.one(conn, trade.document_id)
    assert paper is not None, "a trade's document cannot be deleted under it"
    answer = await pdf_of(here, paper, str(request.base_url))
    return RedirectResponse(answer.pdf_url, status_code=303)
