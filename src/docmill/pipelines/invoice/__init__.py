"""The pipeline `invoice`: any supplier's PDF to one canonical invoice, every value traceable."""

from dataclasses import dataclass
from typing import Any, Final

from docmill.core.faults import Faulted
from docmill.core.pipeline import PDF, Output, Source, Tools
from docmill.pipelines.invoice.layout import sheet_of
from docmill.pipelines.invoice.reader import read
from docmill.pipelines.invoice.result import data_of
from docmill.reading.documents import open_document


@dataclass(frozen=True, slots=True)
class InvoicePipeline:
    """Reads all pages, for lines and totals go over several."""

    name: str = "invoice"
    version: str = "1"
    accepts: tuple[str, ...] = (PDF,)

    def run(self, source: Source, tools: Tools) -> Output:
        with open_document(source.file, source.content_type) as document:
            pages = list(document.pages)
        if not any(page.lines for page in pages):
            raise Faulted("BAD_PDF", "there is no text on any page")
        tools.progress(50, f"{len(pages)} pages read")
        data: dict[str, Any] = data_of(read(sheet_of(pages)))
        tools.progress(100, f"{len(data['lines'])} lines found")
        return Output({"pipeline": self.name, "version": self.version, "page_count": len(pages), **data})


pipeline: Final = InvoicePipeline()
