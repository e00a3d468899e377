"""The pipeline `trades`: a broker's note, of any broker, to the trades it tells of."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from docmill.core.faults import DocmillError
from docmill.core.plugins import PDF, Output, Recognition, Source, Tools
from docmill.core.summaries import TO_CHECK
from docmill.reading.blank import require_text
from docmill.reading.documents import open_document
from docmill.reading.pages import Page, PagedDocument, Value
from docmill.reading.second_opinion import CONTESTED, ORDERS, Dispute
from docmill.reading.turning import Frames, find_frames, set_upright
from docmill.trades.approval import PENDING, decide_approval
from docmill.trades.fields import FIELDS, NAMES
from docmill.trades.reader import second_reader, services
from docmill.trades.reader.read import read_trades
from docmill.trades.reader.recognition import recognize_note
from docmill.trades.reader.rows import FoundTrade, FoundTrades, NoteSheet, make_sheet


@dataclass(frozen=True, slots=True)
class TradesPipeline:
    """Reads all pages; a document without a trade completes with none, and says why."""

    name: str = "trades"
    version: str = "1"
    accepts: tuple[str, ...] = (PDF,)

    def recognize(self, _source: Source, pages: Sequence[Page]) -> Recognition:
        return recognize_note(pages)

    def run(self, source: Source, tools: Tools) -> Output:
        with open_document(source.file, source.content_type, tools) as document:
            pages = _read_all_pages(document, tools)
            warnings = list(document.warnings)
        require_text(pages)
        threshold = float(source.options.get("review_threshold", THRESHOLD))
        tools.progress(70, "looking for trades")
        sheet, frames = make_sheet(map(set_upright, pages)), find_frames(pages)
        second = SecondTradesReader(source.options.get("trades_reader"), tools, warnings)
        reading, by = _choose_reading(sheet, pages, second, threshold)
        reading = _place_on_pages(reading, frames)
        found: dict[str, Any] = make_data(reading, threshold)
        tools.progress(100, _trade_count_text(found["trades"]))
        about = {"pipeline": self.name, "version": self.version, "source": by}
        scanned = [page.number for page in pages if page.scanned]
        read_from = {"page_count": len(pages), "scanned_pages": scanned, "warnings": warnings}
        sizes = {page.number: (page.width, page.height) for page in pages}
        rows = {"trades": make_rows(reading, threshold, by, sizes)}
        summary = summarize_trades(found["trades"], len(_doubtful_trades(reading, threshold)))
        return Output({**about, **read_from, **found}, rows=rows, summary=summary)


@dataclass(frozen=True, slots=True)
class SecondTradesReader:
    """The language model, as the operator wants it; without a `mode` it is asked where we doubt."""

    mode: str | None
    tools: Tools
    warnings: list[str]

    def read(self, own: FoundTrades, sheet: NoteSheet, pages: Sequence[Page]) -> FoundTrades:
        upright = [set_upright(page) for page in pages]
        told = second_reader.read_by_model(sheet, upright, self.tools)
        if told.gives_orders:
            self.warnings.append(ORDERS)
        if told.cut:
            self.warnings.append("the language model was sent the first pages only")
        if told.unseen and self.mode == BOTH:
            self.warnings.append("the language model names a trade that the pages do not show")
        if self.mode == BOTH and own.kind and not own.trades:
            if told.trades:
                self.warnings.append(f"the language model reads trades in it, a {own.kind}")
            return own
        return second_reader.combine(own, told, mode=self.mode or MODEL)

    def is_wanted(self, own: FoundTrades, threshold: float) -> bool:
        if self.mode:
            return self.mode in {MODEL, BOTH}
        sure = own.trades and all(trade_confidence(trade) >= threshold for trade in own.trades)
        return services.MODEL in self.tools.services and not sure and not own.kind


def _choose_reading(
    sheet: NoteSheet, pages: Sequence[Page], second: SecondTradesReader, threshold: float
) -> tuple[FoundTrades, str]:
    """The trades and who read them: the parser outside if there is one, else we ourselves; a
    language model beside us, where it is wanted."""
    if services.PARSER in second.tools.services:
        return services.ask_parser(second.tools, sheet), "parser"
    own = read_trades(sheet)
    if not second.is_wanted(own, threshold):
        return own, "page"
    try:
        written = second.read(own, sheet, pages)
    except DocmillError as exc:
        if second.mode == MODEL:
            raise
        second.warnings.append(f"the language model was asked in vain ({exc.fault.code})")
        return own, "page"
    if second.mode == BOTH or not (written.trades or second.mode):
        return (written if second.mode else own), "page"
    return written, "model"


def _place_on_pages(reading: FoundTrades, frames: Frames) -> FoundTrades:
    """The trades with the places of their values on the pages as shown."""
    return replace(
        reading,
        trades=tuple(
            replace(
                trade,
                values={name: frames.place(value) for name, value in trade.items()},
                disputes=tuple(_place_dispute(one, frames) for one in trade.disputes),
            )
            for trade in reading.trades
        ),
    )


def _place_dispute(dispute: Dispute, frames: Frames) -> Dispute:
    return replace(dispute, model=frames.place(dispute.model)) if dispute.model else dispute


def summarize_trades(trades: Sequence[Mapping[str, Any]], doubtful: int) -> dict[str, Any]:
    """What the queue shows: an amount only where there is one trade."""
    nothing: Mapping[str, Any] = {}
    first = trades[0] if trades else nothing
    alone = first if len(trades) == 1 else nothing
    return {
        "title": first.get("counterparty"),
        "number": alone.get("isin") or alone.get("ticker"),
        "date": first.get("trade_date"),
        "amount": alone.get("notional"),
        "currency": alone.get("currency"),
        "note": "1 trade" if len(trades) == 1 else f"{len(trades)} trades",
        "check": doubtful,
        **({"state": TO_CHECK} if doubtful else {}),
    }


def _doubtful_trades(reading: FoundTrades, threshold: float) -> list[FoundTrade]:
    return [trade for trade in reading.trades if trade_confidence(trade) < threshold]


def _trade_count_text(trades: Sequence[Any]) -> str:
    return "1 trade found" if len(trades) == 1 else f"{len(trades)} trades found"


def _read_all_pages(document: PagedDocument, tools: Tools) -> list[Page]:
    """All pages, told one by one: a page that is a picture takes seconds."""
    pages: list[Page] = []
    for page in document.pages:
        pages.append(page)
        percent = 60 * page.number // document.page_count
        tools.progress(percent, f"page {page.number} of {document.page_count}")
    return pages


pipeline: Final = TradesPipeline()


THRESHOLD: Final = 0.8
NEEDED: Final = tuple(field.name for field in FIELDS if field.needed)
IDENTIFIERS: Final = tuple(field.name for field in FIELDS if field.identifies)
MISSING: Final = 0.3
MODEL, BOTH = "model", "both"
UNIDENTIFIED: Final = 0.5


def make_data(reading: FoundTrades, threshold: float) -> dict[str, Any]:
    """The trades as JSON. A trade below the threshold is listed under `review`."""
    trades = [_trade_data(trade) for trade in reading.trades]
    evidence = {
        f"trades[{index}].{name}": _evidence(value)
        for index, trade in enumerate(reading.trades)
        for name, value in trade.items()
    }
    return {
        "trades": trades,
        "reason": reading.reason or None,
        "kind": reading.kind or None,
        "evidence": evidence,
        "differences": [one.to_json() for trade in reading.trades for one in trade.disputes],
        "review": list(_doubtful_paths(reading, threshold)),
        "review_threshold": threshold,
    }


def make_rows(
    reading: FoundTrades, threshold: float, source: str, sizes: Mapping[int, tuple[float, float]]
) -> list[dict[str, Any]]:
    """The trades as their table takes them."""
    return [
        {
            **_trade_data(trade),
            "position": index,
            **_make_approval(trade_confidence(trade), threshold),
            "raw_extracted_data": {
                "source": source,
                "checks": list(trade.checks),
                "differences": [one.to_json() for one in trade.disputes],
                "pages": {
                    str(value.page): list(sizes[value.page])
                    for _, value in trade.items()
                    if value.page in sizes
                },
                "evidence": {name: _evidence(value) for name, value in trade.items()},
            },
        }
        for index, trade in enumerate(reading.trades)
    ]


def _make_approval(confidence: float, threshold: float) -> dict[str, Any]:
    decided = decide_approval(confidence, threshold)
    return {"needs_review": decided.status == PENDING, "approved_by": decided.approved_by}


def trade_confidence(trade: FoundTrade) -> float:
    """How sure a trade is: as its weakest needed value, with one name for the security.

    Whatever two readers tell differently is for a person.
    """
    values = trade.values
    needed = [values[name].confidence if name in values else MISSING for name in NEEDED]
    known = [values[name].confidence for name in IDENTIFIERS if name in values]
    open_ = [CONTESTED] if trade.disputes else []
    return round(min([*needed, max([UNIDENTIFIED, *known]), *open_]), 2)


def _trade_data(trade: FoundTrade) -> dict[str, Any]:
    plain = {name: trade.values[name].value if name in trade.values else None for name in NAMES}
    return {**plain, "confidence_score": trade_confidence(trade)}


def _doubtful_paths(reading: FoundTrades, threshold: float) -> Iterator[str]:
    """The paths a person should look at: of doubtful trades those values that make them so."""
    for index, trade in enumerate(reading.trades):
        if trade_confidence(trade) >= threshold:
            continue
        weak = (name for name in NEEDED if _is_weak(trade, name, threshold))
        paths = [f"trades[{index}]", *(f"trades[{index}].{name}" for name in weak)]
        yield from dict.fromkeys([*paths, *(one.path for one in trade.disputes)])


def _is_weak(trade: FoundTrade, name: str, threshold: float) -> bool:
    value = trade.values.get(name)
    return value is None or value.confidence < threshold


def _evidence(value: Value) -> Mapping[str, Any]:
    return {
        "confidence": value.confidence,
        "page": value.page or None,
        "box": value.box.to_list() if value.box else None,
        "text": value.text,
    }
