"""The pipeline `trades`: a broker's note, of any broker, to the trades it tells of."""

import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from docmill.core.experience import Counts, blend_confidence
from docmill.core.faults import DocmillError
from docmill.core.plugins import PDF, Output, Recognition, Source, Tools
from docmill.core.promise import RATE, Promise
from docmill.core.summaries import TO_CHECK
from docmill.reading.blank import require_text
from docmill.reading.documents import open_document
from docmill.reading.pages import Page, PagedDocument, Value
from docmill.reading.pdf import NO_TOOLS
from docmill.reading.sample import make_sample
from docmill.reading.second_opinion import CONTESTED, ORDERS, Dispute
from docmill.reading.turning import Frames, find_frames, set_upright
from docmill.trades.approval import PENDING, Approval, decide_approval, decide_by_promise
from docmill.trades.confidence import estimate_values, load_fitted, name_field
from docmill.trades.doubts import TradeJudge, list_evidence, parse_values
from docmill.trades.fields import FIELDS, NAMES
from docmill.trades.reader import second_reader, services
from docmill.trades.reader.read import read_trades
from docmill.trades.reader.recognition import recognize_note
from docmill.trades.reader.rows import FoundTrade, FoundTrades, NoteSheet, make_sheet

_SAMPLE: Final = (
    "Sample Securities | Contract note",
    "We have bought for your account",
    "Security | Example Holding AG",
    "ISIN | DE0000000009",
    "Trade date | 14.03.2024",
    "Value date | 18.03.2024",
    "Quantity | 100",
    "Price | EUR 12.50",
    "Gross amount | EUR 1,250.00",
    "Commission | EUR 5.00",
    "Net amount | EUR 1,255.00",
)


@dataclass(frozen=True, slots=True)
class TradesPipeline:
    """Reads all pages; a document without a trade completes with none, and says why."""

    name: str = "trades"
    version: str = "1"
    accepts: tuple[str, ...] = (PDF,)

    def warm(self) -> None:
        """Read a small note: what the first reading builds is there for all that follow."""
        self.run(Source(io.BytesIO(make_sample(_SAMPLE)), "sample.pdf", PDF), NO_TOOLS)

    def recognize(self, _source: Source, pages: Sequence[Page]) -> Recognition:
        return recognize_note(pages)

    def run(self, source: Source, tools: Tools) -> Output:
        pages, warnings = _open_pages(source, tools)
        tools.progress(70, "looking for trades")
        sheet, frames = make_sheet(map(set_upright, pages)), find_frames(pages)
        second = SecondTradesReader(source.options.get("trades_reader"), tools, warnings)
        fitting = TradeFitting.of(source.options, pages)
        reading, by = _choose_reading(sheet, pages, second, fitting)
        reading = _place_on_pages(reading, frames)
        scanned = _list_scanned(pages)
        data = {**make_data(reading), **fitting.told, "scanned_pages": scanned}
        found = judge_data(data, fitting.judge if by == PAGE else None)
        tools.progress(100, _trade_count_text(found["trades"]))
        about = {"pipeline": self.name, "version": self.version, "source": by}
        read_from = {"page_count": len(pages), "warnings": warnings}
        sizes = {page.number: (page.width, page.height) for page in pages}
        rows = {"trades": make_rows(reading, found, by, sizes)}
        doubtful = sum(not one.approved_by for one in list_approvals(found))
        summary = summarize_trades(found["trades"], doubtful)
        return Output({**about, **read_from, **found}, rows=rows, summary=summary)


@dataclass(frozen=True, slots=True)
class TradeFitting:
    """How sure values are to be called, and by what trades are judged."""

    texts: Sequence[str]
    scanned: list[int]
    experience: Counts
    judge: TradeJudge
    told: dict[str, Any]

    @classmethod
    def of(cls, options: Mapping[str, Any], pages: Sequence[Page]) -> "TradeFitting":
        texts = [cell.text for page in pages for line in page.lines for cell in line.cells]
        scanned, threshold = _list_scanned(pages), options.get("review_threshold")
        rate = float(options.get("error_rate", RATE))
        judge = TradeJudge(
            rate, None if threshold is None else float(threshold), scanned=bool(scanned)
        )
        told = {} if threshold is None else {"review_threshold": float(threshold)}
        return cls(texts, scanned, options.get("experience") or {}, judge, told)

    def fit(self, reading: FoundTrades) -> FoundTrades:
        """What our rules say, each value as sure as such values were on documents not fitted on."""
        data = {**make_data(reading), "scanned_pages": self.scanned}
        sure = estimate_values(data, self.texts, load_fitted())
        sure = {
            path: blend_confidence(self.experience, name_field(path), confidence)
            for path, confidence in sure.items()
        }
        return replace(
            reading,
            trades=tuple(
                replace(
                    trade,
                    values={
                        name: replace(
                            value,
                            confidence=sure.get(f"trades[{index}].{name}", value.confidence),
                        )
                        for name, value in trade.items()
                    },
                )
                for index, trade in enumerate(reading.trades)
            ),
        )


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

    def is_wanted(self, own: FoundTrades, judge: TradeJudge) -> bool:
        if self.mode:
            return self.mode in {MODEL, BOTH}
        if services.MODEL not in self.tools.services or own.kind:
            return False
        judged = judge_data(make_data(own), judge)
        return not all(one.approved_by for one in list_approvals(judged)) or not own.trades


def _choose_reading(
    sheet: NoteSheet, pages: Sequence[Page], second: SecondTradesReader, fitting: TradeFitting
) -> tuple[FoundTrades, str]:
    """The trades and who read them: the parser outside if there is one, else we ourselves; a
    language model beside us, where it is wanted."""
    if services.PARSER in second.tools.services:
        return services.ask_parser(second.tools, sheet), "parser"
    own = fitting.fit(read_trades(sheet))
    if not second.is_wanted(own, fitting.judge):
        return own, PAGE
    try:
        written = second.read(own, sheet, pages)
    except DocmillError as exc:
        if second.mode == MODEL:
            raise
        second.warnings.append(f"the language model was asked in vain ({exc.fault.code})")
        return own, PAGE
    if second.mode == BOTH or not (written.trades or second.mode):
        return (written if second.mode else own), PAGE
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


def _trade_count_text(trades: Sequence[Any]) -> str:
    return "1 trade found" if len(trades) == 1 else f"{len(trades)} trades found"


def read_unfitted(source: Source, tools: Tools) -> tuple[dict[str, Any], list[Page]]:
    """What the rules say, each value as sure as its rules are, and the pages."""
    pages, _ = _open_pages(source, tools)
    reading = read_trades(make_sheet(map(set_upright, pages)))
    return {**make_data(reading), "scanned_pages": _list_scanned(pages)}, pages


def _open_pages(source: Source, tools: Tools) -> tuple[list[Page], list[str]]:
    with open_document(source.file, source.content_type, tools, drawn=False) as document:
        pages = _read_all_pages(document, tools)
        warnings = list(document.warnings)
    require_text(pages)
    return pages, warnings


def _list_scanned(pages: Sequence[Page]) -> list[int]:
    return [page.number for page in pages if page.scanned]


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
MODEL, BOTH, PAGE = "model", "both", "page"
UNIDENTIFIED: Final = 0.5


def make_data(reading: FoundTrades) -> dict[str, Any]:
    """The trades as JSON. `checks` say of each how its numbers fit together."""
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
        "checks": {
            f"trades[{index}]": list(trade.checks) for index, trade in enumerate(reading.trades)
        },
        "differences": [one.to_json() for trade in reading.trades for one in trade.disputes],
    }


def judge_data(data: dict[str, Any], judge: TradeJudge | None) -> dict[str, Any]:
    """With what is expected to be wrong in it and what is to be looked at, by the promise.

    Without a `judge` the threshold decides: nobody has measured what is judged.
    """
    if judge is None:
        return {**data, "review": list(_list_weak(data))}
    promises = [
        judge.judge(
            parse_values(trade), list_evidence(data, index), data["checks"][f"trades[{index}]"]
        )
        for index, trade in enumerate(data["trades"])
    ]
    promises = [_add_disputes(data, index, one) for index, one in enumerate(promises)]
    count = max(len(promises), 1)
    rules = {one.approved_by for one in promises}
    told = {
        "rate": judge.rate,
        "expected": round(sum(one.expected for one in promises) / count, 5),
        "approved_by": rules.pop() if len(rules) == 1 else None,
        "trades": [{"expected": one.expected, "approved_by": one.approved_by} for one in promises],
    }
    review = [path for index, one in enumerate(promises) for path in _list_paths(index, one)]
    return {**data, "promise": told, "review": review}


def _add_disputes(data: Mapping[str, Any], index: int, promise: Promise) -> Promise:
    """What two readers tell differently is for a person."""
    trade = f"trades[{index}]"
    paths: list[str] = [one["path"] for one in data["differences"]]
    own = [path.removeprefix(trade).lstrip(".") for path in paths if _is_within(path, trade)]
    return replace(promise, doubtful=tuple(dict.fromkeys((*own, *promise.doubtful))))


def _is_within(path: str, trade: str) -> bool:
    return path == trade or path.startswith(f"{trade}.")


def _list_paths(index: int, promise: Promise) -> Iterator[str]:
    if not promise.approved_by:
        yield f"trades[{index}]"
        yield from (f"trades[{index}].{name}" for name in promise.doubtful if name)


def list_approvals(data: Mapping[str, Any]) -> list[Approval]:
    """What becomes of each trade, by the promise or by the threshold."""
    if "promise" in data:
        return [decide_by_promise(one["approved_by"]) for one in data["promise"]["trades"]]
    least = data.get("review_threshold", THRESHOLD)
    return [decide_approval(trade["confidence_score"], least) for trade in data["trades"]]


def make_rows(
    reading: FoundTrades,
    data: Mapping[str, Any],
    source: str,
    sizes: Mapping[int, tuple[float, float]],
) -> list[dict[str, Any]]:
    """The trades as their table takes them."""
    return [
        {
            **data["trades"][index],
            "position": index,
            "needs_review": approval.status == PENDING,
            "approved_by": approval.approved_by,
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
                **_keep_promise(data, index),
            },
        }
        for index, (trade, approval) in enumerate(
            zip(reading.trades, list_approvals(data), strict=True)
        )
    ]


def _keep_promise(data: Mapping[str, Any], index: int) -> dict[str, Any]:
    if "promise" not in data:
        return {}
    promise = data["promise"]
    expected = promise["trades"][index]["expected"]
    scanned = bool(data.get("scanned_pages"))
    rule = promise["trades"][index]["approved_by"]
    kept = {"rate": promise["rate"], "expected": expected, "scanned": scanned, "rule": rule}
    return {"promise": kept}


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


def _list_weak(data: Mapping[str, Any]) -> Iterator[str]:
    """The paths a person should look at: of doubtful trades those values that make them so."""
    least: float = data.get("review_threshold", THRESHOLD)
    for index, trade in enumerate(data["trades"]):
        if trade["confidence_score"] >= least:
            continue
        start = f"trades[{index}]"
        seen = {name: data["evidence"].get(f"{start}.{name}") for name in NEEDED}
        weak = [name for name in NEEDED if not seen[name] or seen[name]["confidence"] < least]
        yield from (start, *(f"{start}.{name}" for name in weak))
    yield from (one["path"] for one in data["differences"])


def _evidence(value: Value) -> Mapping[str, Any]:
    return {
        "confidence": value.confidence,
        "page": value.page or None,
        "box": value.box.to_list() if value.box else None,
        "text": value.text,
    }
