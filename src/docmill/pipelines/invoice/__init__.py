"""The pipeline `invoice`: any supplier's PDF to one canonical invoice, every value traceable."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from docmill import mappings
from docmill.core.faults import Faulted
from docmill.core.pipeline import PDF, Artifact, Output, Source, Tools
from docmill.pipelines.invoice.agreement import agreed
from docmill.pipelines.invoice.embedded import embedded
from docmill.pipelines.invoice.layout import sheet_of
from docmill.pipelines.invoice.lessons import Learned, applied
from docmill.pipelines.invoice.reader import marked, read
from docmill.pipelines.invoice.result import data_of
from docmill.pipelines.invoice.scanned import capped
from docmill.reading.documents import open_document
from docmill.reading.pages import Document, Page

OTHERS: Final = tuple(name for name in mappings.names() if name != mappings.DEFAULT)


@dataclass(frozen=True, slots=True)
class InvoicePipeline:
    """Reads all pages, for lines and totals go over several. XML inside the PDF wins."""

    name: str = "invoice"
    version: str = "1"
    accepts: tuple[str, ...] = (PDF,)
    mappings: tuple[str, ...] = (mappings.DEFAULT, *OTHERS)

    def run(self, source: Source, tools: Tools) -> Output:
        with open_document(source.file, source.content_type, tools) as document:
            pages = walked(document, tools)
            warnings = list(document.warnings)
        source.file.seek(0)
        xml = embedded(source.file.read())
        if not xml and not any(page.lines for page in pages):
            raise Faulted("BAD_PDF", "there is no text on any page")
        sheet = sheet_of(pages)
        found, learned = capped(read(sheet), pages), Learned()
        if not xml and source.options.get("lessons"):
            found, learned = applied(marked(sheet), found, source.options["lessons"])
        data: dict[str, Any] = data_of(agreed(xml, found) if xml else found)
        for path, lesson in learned.items():
            data["evidence"][path]["learned"] = lesson
        tools.progress(100, f"{len(data['lines'])} lines found")
        about = {"pipeline": self.name, "version": self.version, "source": "xml" if xml else "page"}
        scanned = [page.number for page in pages if page.scanned]
        read_from = {"page_count": len(pages), "scanned_pages": scanned, "warnings": warnings}
        data = {**about, **read_from, **data}
        return _mapped(data, source.mapping, source.options) if source.mapping else Output(data)


def walked(document: Document, tools: Tools) -> list[Page]:
    """All pages, told one by one: a page that is a picture takes seconds."""
    pages: list[Page] = []
    for page in document.pages:
        pages.append(page)
        percent = 50 * page.number // document.page_count
        tools.progress(percent, f"page {page.number} of {document.page_count}")
    tools.progress(50, f"pages read: {len(pages)}")
    return pages


def _mapped(data: dict[str, Any], name: str, options: Mapping[str, Any]) -> Output:
    """With the document the mapping makes of it; what it doubts joins what is to be reviewed.

    The owner's profile stays with the data, so that whoever writes it again writes the same.
    """
    mappings.check_invoice(data)
    told: dict[str, Any] = options.get("profile") or {}
    made = mappings.emit(mappings.load(name), data, mappings.profile_of(told), pretty=True)
    data = {**data, "profile": told} if told else data
    review = [*data["review"], *(path for path in made.review if path not in data["review"])]
    artifact = Artifact(made.xml, "application/xml")
    data = {**data, "mapping": name, "review": review, "notes": list(made.notes)}
    return Output(data, artifact, rows={"reviews": [{"doubts": len(review)}]})


pipeline: Final = InvoicePipeline()
