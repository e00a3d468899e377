"""The pipeline `extract`: any document to its text, layout and fields."""

from dataclasses import dataclass
from typing import Any, Final

from docmill.core.pipeline import PDF, Output, Source, Tools
from docmill.pipelines.extract.fields import Field, fields_of
from docmill.reading.documents import open_document
from docmill.reading.pages import Box, Document, Page

MAX_FIELDS: Final = 10_000


@dataclass(frozen=True, slots=True)
class Extract:
    """Reads page by page, so that memory holds one page and the result."""

    name: str = "extract"
    version: str = "1"
    accepts: tuple[str, ...] = (PDF,)

    def run(self, source: Source, tools: Tools) -> Output:
        with open_document(source.file, source.content_type) as document:
            found = _read(document, tools)
            metadata = {**document.metadata, "page_count": document.page_count}
        return Output(
            {"pipeline": self.name, "version": self.version, "metadata": metadata, **found}
        )


def _read(document: Document, tools: Tools) -> dict[str, Any]:
    pages: list[dict[str, Any]] = []
    fields: list[dict[str, Any]] = []
    blank: list[int] = []
    word_count = 0
    for page in document.pages:
        pages.append(_page(page))
        if len(fields) < MAX_FIELDS:
            fields += [_field(field, page) for field in fields_of(page)]
        word_count += sum(len(line.words) for line in page.lines)
        blank += [] if page.lines else [page.number]
        percent = 100 * page.number // document.page_count
        tools.progress(percent, f"page {page.number} of {document.page_count}")
    tools.progress(100, f"{len(pages)} of {document.page_count} pages read")
    warnings = [*document.warnings, *(f"page {number} has no text" for number in blank)]
    if len(fields) > MAX_FIELDS:
        warnings.append(f"only the first {MAX_FIELDS} fields are given")
        del fields[MAX_FIELDS:]
    return {"pages": pages, "fields": fields, "warnings": warnings, "word_count": word_count}


def _page(page: Page) -> dict[str, Any]:
    return {
        "number": page.number,
        "width": page.width,
        "height": page.height,
        "scanned": page.scanned,
        "text": page.text,
        "lines": [{"text": line.text, "box": _box(line.box, page)} for line in page.lines],
    }


def _field(field: Field, page: Page) -> dict[str, Any]:
    return {
        "label": field.name,
        "value": field.value.text,
        "type": field.kind,
        "confidence": field.confidence,
        "page": field.page,
        "box": _box(field.value.box, page),
        "label_box": _box(field.label.box, page),
    }


def _box(box: Box, page: Page) -> list[float] | None:
    """No box where the page itself has no places to show: text and Word documents."""
    return None if page.flow else box.rounded()


pipeline: Final = Extract()
