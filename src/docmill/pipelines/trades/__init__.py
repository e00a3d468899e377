"""The pipeline `trades`: a broker's note, of any broker, to the trades it tells of."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from docmill.core.faults import Faulted
from docmill.core.pipeline import PDF, Output, Source, Tools
from docmill.pipelines.trades import told
from docmill.pipelines.trades.model import Reading
from docmill.pipelines.trades.reader import read
from docmill.pipelines.trades.result import THRESHOLD, confidence, data_of, rows_of
from docmill.pipelines.trades.rows import Sheet, sheet_of
from docmill.reading.documents import open_document
from docmill.reading.pages import Document, Page


@dataclass(frozen=True, slots=True)
class TradesPipeline:
    """Reads all pages; a paper that tells of no trade is done with none, and says why."""

    name: str = "trades"
    version: str = "1"
    accepts: tuple[str, ...] = (PDF,)

    def run(self, source: Source, tools: Tools) -> Output:
        with open_document(source.file, source.content_type, tools) as document:
            pages = _walked(document, tools)
            warnings = list(document.warnings)
        if not any(page.lines for page in pages):
            raise Faulted("BAD_PDF", "there is no text on any page")
        threshold = float(source.options.get("review_threshold", THRESHOLD))
        tools.progress(70, "looking for trades")
        reading, by = _read(sheet_of(pages), tools, threshold, warnings)
        found: dict[str, Any] = data_of(reading, threshold)
        tools.progress(100, _said(found["trades"]))
        about = {"pipeline": self.name, "version": self.version, "source": by}
        scanned = [page.number for page in pages if page.scanned]
        read_from = {"page_count": len(pages), "scanned_pages": scanned, "warnings": warnings}
        sizes = {page.number: (page.width, page.height) for page in pages}
        rows = {"trades": rows_of(reading, threshold, by, sizes)}
        return Output({**about, **read_from, **found}, rows=rows)


def _read(sheet: Sheet, tools: Tools, threshold: float, warnings: list[str]) -> tuple[Reading, str]:
    """The trades and who read them: the parser outside if there is one, else we ourselves; a
    language model, if there is one, where we have doubts."""
    if told.PARSER in tools.services:
        return told.parsed(tools, sheet), "parser"
    own = read(sheet)
    sure = own.trades and all(confidence(trade) >= threshold for trade in own.trades)
    if told.MODEL not in tools.services or sure or own.kind:
        return own, "page"
    try:
        written = told.written(tools, sheet)
    except Faulted as exc:
        warnings.append(f"the language model was asked in vain ({exc.fault.code})")
        return own, "page"
    return (written, "model") if written.trades else (own, "page")


def _said(trades: Sequence[Any]) -> str:
    return "1 trade found" if len(trades) == 1 else f"{len(trades)} trades found"


def _walked(document: Document, tools: Tools) -> list[Page]:
    """All pages, told one by one: a page that is a picture takes seconds."""
    pages: list[Page] = []
    for page in document.pages:
        pages.append(page)
        percent = 60 * page.number // document.page_count
        tools.progress(percent, f"page {page.number} of {document.page_count}")
    return pages


pipeline: Final = TradesPipeline()
