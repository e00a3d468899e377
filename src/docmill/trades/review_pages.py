"""The review desk of trades: the pages of a document beside a grid of its trades."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Final

from fastapi import APIRouter, Query
from starlette.responses import RedirectResponse, Response

from docmill.core.amounts import group_thousands
from docmill.core.faults import DocmillError
from docmill.core.fields import ValueKind
from docmill.core.owners import Owner
from docmill.db.pool import read_connection
from docmill.jobs import results
from docmill.jobs.review_shapes import PAGES_SHOWN, STANDINGS, ReviewCell
from docmill.queue.enqueue import find_visible_job
from docmill.trades import edits, queries, reviews
from docmill.trades.edits import TradeDraft
from docmill.trades.fields import FIELDS, LABELS, TradeField
from docmill.trades.queries import Trade, WaitingNote
from docmill.trades.reader.facts import cusip_in_isin
from docmill.trades.reviews import NoteReview
from docmill.web import render
from docmill.web.site import CurrentOwner, CurrentSite, Site

router = APIRouter(include_in_schema=False)

FEW_TRADES: Final = 3  # so many are shown with all their values at once; more are rows of a table
MANY_TRADES: Final = 30  # from here on the rows stand close
STEPS_SHOWN: Final = 200
# Columns as people look for them; those not named follow in their order.
FIRST: Final = (
    "direction", "name", "isin", "cusip", "ticker", "quantity", "price", "notional", "currency",
    "trade_date", "settlement_date", "counterparty", "asset_class", "exchange",
)  # fmt: skip
COLUMNS: Final = sorted(FIELDS, key=lambda field: (*FIRST, field.name).index(field.name))
ALWAYS_SHOWN: Final = frozenset(
    {"direction", "isin", "quantity", "price", "notional", "currency", "trade_date"}
)
ALONE_SHOWN: Final = ALWAYS_SHOWN | {"name", "settlement_date", "counterparty"}


@dataclass(frozen=True, slots=True)
class TradeColumn:
    """A column of the grid; one in which no trade has anything is hidden until asked for."""

    name: str
    label: str
    kind: str
    kept: bool
    empty: bool


@dataclass(frozen=True, slots=True)
class TradeRow:
    """A trade of the grid, and what people call it."""

    trade: Trade
    title: str
    cells: Sequence[ReviewCell]
    approved_by: str


@router.get("/trades/review")
async def open_first_note(site: CurrentSite, owner: CurrentOwner) -> Response:
    """The note that waits longest; the list where none does."""
    async with read_connection(site.pool) as conn:
        waiting = await queries.list_waiting(conn, owner, 1)
    address = f"/trades/review/{waiting[0].document_id}" if waiting else "/trades"
    return RedirectResponse(address, status_code=303)


@router.get("/trades/jobs/{job_id}")
async def open_note_of_job(job_id: str, site: CurrentSite, owner: CurrentOwner) -> Response:
    async with read_connection(site.pool) as conn:
        job = await find_visible_job(conn, owner, job_id)
    return RedirectResponse(f"/trades/review/{job.document_id}", status_code=303)


@router.get("/trades/review/{document_id}")
async def show_desk(
    document_id: str,
    site: CurrentSite,
    owner: CurrentOwner,
    trade: Annotated[str, Query(max_length=64)] = "",
) -> Response:
    note = await reviews.open_note(site, owner, document_id)
    context = await _build_context(site, owner, note)
    read = await _read_result(site, owner, note)
    start = next((at for at, one in enumerate(note.live) if str(one.id) == trade), None)
    return render.render_page(
        "trade_review.html",
        **context,
        pages=range(1, _count_pages(note, read) + 1),
        reason=read.get("reason") or "",
        start="" if start is None else f"lines[{start}].quantity",
    )


@router.get("/trades/review/{document_id}/values")
async def show_desk_values(document_id: str, site: CurrentSite, owner: CurrentOwner) -> Response:
    """The values alone, to be put in place of those that a page shows."""
    note = await reviews.open_note(site, owner, document_id)
    return render.render_page("trade_values.html", **await _build_context(site, owner, note))


def _count_pages(note: NoteReview, read: Mapping[str, Any]) -> int:
    """Of the document whose pictures can be shown; without its reading those that values are on."""
    if note.job_id is None or note.document.upload_key is None:
        return 0
    named = [int(page) for one in note.trades for page in one.raw_extracted_data.get("pages") or ()]
    return min(max([int(read.get("page_count") or 1), *named]), PAGES_SHOWN)


async def _read_result(site: Site, owner: Owner, note: NoteReview) -> Mapping[str, Any]:
    """What the last run found; nothing where retention has taken it."""
    if note.job_id is None:
        return {}
    try:
        async with read_connection(site.pool) as conn:
            job = await find_visible_job(conn, owner, str(note.job_id))
            found = await results.require_reading(conn, job)
        return await results.read_data(site.pool, site.store, found.key)
    except DocmillError:
        return {}


async def _build_context(site: Site, owner: Owner, note: NoteReview) -> dict[str, Any]:
    async with read_connection(site.pool) as conn:
        waiting = await queries.list_waiting(conn, owner, 2)
        history = await queries.list_note_audit(conn, note.document.id)
    drafts = [edits.make_draft(trade) for trade in note.live]
    doubts = reviews.list_doubts(drafts, note.threshold)
    document = {"id": note.job_id, "original_filename": note.document.original_filename}
    steps = [step for line in history for step in reviews.list_steps(line, note)]
    few = len(note.live) <= FEW_TRADES
    return {
        "job": document,
        "note": note,
        "head": {"status": note.status, "revision": note.revision, "reason": ""},
        "standing": STANDINGS[note.status] if note.trades else "No trades",
        "idle": not note.trades,
        "count": len(doubts),
        "mark": note.mark,
        "group": "." if note.mark == "," else ",",
        "columns": [_make_column(field, note.live, few=few) for field in COLUMNS],
        "rows": [_make_row(note, at, draft, doubts, owner) for at, draft in enumerate(drafts)],
        "gone": [(one, reviews.describe_trade(one)) for one in note.trades if one not in note.live],
        "few": few,
        "many": len(note.live) >= MANY_TRADES,
        "steps": [_describe_step(step, note, owner) for step in reversed(steps)][:STEPS_SHOWN],
        **_describe_waiting(waiting, note),
    }


def _describe_waiting(waiting: Sequence[WaitingNote], note: NoteReview) -> dict[str, Any]:
    """The next document, and how many there are besides this one."""
    others = [one for one in waiting if one.document_id != note.document.id]
    left = waiting[0].notes - (1 if note.pending else 0) if waiting else 0
    return {"next": others[0] if others else None, "left": left}


def _make_column(field: TradeField, trades: Sequence[Trade], *, few: bool) -> TradeColumn:
    """Where there are many trades, a column that says nothing new would only take room."""
    kept = field.name in (ALONE_SHOWN if few else ALWAYS_SHOWN)
    empty = all(_is_empty(field.name, trade, few=few) for trade in trades)
    return TradeColumn(field.name, field.label, _kind_of(field), kept, empty and not kept)


def _is_empty(name: str, trade: Trade, *, few: bool) -> bool:
    value, isin = trade.values[name], str(trade.values["isin"] or "")
    return value is None or (name == "cusip" and not few and value == cusip_in_isin(isin))


def _kind_of(field: TradeField) -> str:
    return "figure" if field.kind is ValueKind.AMOUNT else "text"


def _make_row(
    note: NoteReview, at: int, draft: TradeDraft, doubts: dict[str, str], owner: Owner
) -> TradeRow:
    assert draft.trade is not None, "it was just read"
    title = reviews.describe_trade(draft.trade)
    cells = [_make_cell(field, draft, f"lines[{at}]", note.mark) for field in COLUMNS]
    return TradeRow(
        draft.trade,
        title,
        [_with_reason(cell, doubts.get(cell.path, ""), title) for cell in cells],
        reviews.describe_approval(draft.trade, owner),
    )


def _make_cell(field: TradeField, draft: TradeDraft, row: str, mark: str) -> ReviewCell:
    text, kind = edits.write_value(draft.values[field.name]), _kind_of(field)
    seen: dict[str, Any] = draft.evidence.get(field.name) or {}
    return ReviewCell(
        path=f"{row}.{field.name}",
        name=field.label,
        value=text,
        shown=group_thousands(text, mark) if kind == "figure" else text,
        kind=kind,
        needed=field.needed,
        reason="",
        page=seen.get("page"),
        box=" ".join(map(str, seen.get("box") or ())),
        edited=bool(seen.get("edited")),
    )


def _with_reason(cell: ReviewCell, reason: str, title: str) -> ReviewCell:
    return replace(cell, reason=reason, name=f"{cell.name} of {title}")


def _describe_step(step: dict[str, Any], note: NoteReview, owner: Owner) -> dict[str, Any]:
    about = next((one for one in note.trades if str(one.id) == step["trade_id"]), None)
    name = str(step["path"] or "").rpartition(".")[2]
    return {
        **step,
        "kind": {"extracted": "read", "replaced": "read again"}.get(step["kind"], step["kind"]),
        "name": LABELS.get(name, ""),
        "trade": reviews.describe_trade(about) if about else "a trade",
        "before": step["before"] or "nothing",
        "after": step["after"] or "nothing",
        "by": reviews.describe_person(step["by"], owner),
    }
