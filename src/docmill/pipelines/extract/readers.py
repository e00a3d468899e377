"""Who reads a document: docmill itself, or a service for layouts where the operator has set one."""

from collections.abc import Generator, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, BinaryIO, Final

from docmill.core.faults import Faulted
from docmill.core.pipeline import PDF, Source, Tools
from docmill.core.steps import Steps
from docmill.pipelines.extract.layout import Layout
from docmill.reading import pdf
from docmill.reading.documents import open_document
from docmill.reading.pages import Document, Page
from docmill.reading.pdfium import Pdf
from docmill.reading.remembered import KIND, Turned, packed

SERVICE: Final = "analyze"
# So many in one question: what is answered is small, and is not asked again after a kill.
AT_A_TIME: Final = 20


def opened(source: Source, tools: Tools) -> AbstractContextManager[Document]:
    """A context that gives the Document, whoever reads it."""
    if SERVICE in tools.services and source.content_type.partition(";")[0].strip() == PDF:
        return _analysed(source.file, tools)
    return open_document(source.file, source.content_type, tools)


@contextmanager
def _analysed(file: BinaryIO, tools: Tools) -> Generator[Document, None, None]:
    """A PDF that is sound enough to be paid for; its first pages are asked for at once."""
    file.seek(0)
    with pdf.checked(file) as sheets:
        warnings: list[str] = []
        first = _asked(1, sheets.page_count, tools)
        pages = _pages(sheets, first, tools, warnings)
        yield Document(sheets.page_count, pdf.metadata(sheets), pages, warnings, _reader(first))


def _reader(layout: dict[str, Any]) -> str:
    return f"azure {layout['model']}"


def _asked(start: int, count: int, tools: Tools) -> dict[str, Any]:
    end = min(start + AT_A_TIME - 1, count)
    tools.progress(0, f"asking for pages {start} to {end} of {count}")
    return tools.ask(SERVICE, {"pages": f"{start}-{end}"})


def _pages(sheets: Pdf, first: dict[str, Any], tools: Tools, warnings: list[str]) -> Iterator[Page]:
    """Every page that the service gives; a fault at the end when there was none."""
    given = 0
    for turned in _kept(_turned(sheets, first, tools), tools):
        warnings += turned.warnings
        if turned.page:
            given += 1
            yield turned.page
    if not given:
        raise Faulted("SERVICE_REFUSED", f"the service gave none of {sheets.page_count} pages")


def _turned(sheets: Pdf, first: dict[str, Any], tools: Tools) -> Iterator[Turned]:
    count = sheets.page_count
    for start in range(1, count + 1, AT_A_TIME):
        layout = Layout(first if start == 1 else _asked(start, count, tools))
        for number in range(start, min(start + AT_A_TIME, count + 1)):
            page = layout.page(number, pdf.outline(sheets, number))
            missing = [] if page else [f"page {number} was not read by the service"]
            yield Turned(page, missing, 0, _reader(first))


def _kept(pages: Iterator[Turned], tools: Tools) -> Iterator[Turned]:
    """For people to read meanwhile. A later try has the answers, which say more."""
    steps = Steps(tools.memory, KIND, packed)
    known = sum(1 for _ in steps.earlier())
    for index, turned in enumerate(pages):
        if index >= known:
            steps.done(turned, turned.size)
        yield turned
