"""The pipeline `invoice`: any supplier's PDF to one canonical invoice, every value traceable."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from docmill.core.faults import DocmillError
from docmill.core.plugins import PDF, Artifact, Output, Recognition, Source, Tools
from docmill.invoices import checks, formats, profile
from docmill.invoices.formats import choosing
from docmill.invoices.reader import detect_notation, read_invoice, read_pages
from docmill.invoices.reader.audit import add_differences, find_differences
from docmill.invoices.reader.embedded import read_embedded
from docmill.invoices.reader.layout import make_sheet
from docmill.invoices.reader.lessons import LessonData, apply_lessons
from docmill.invoices.reader.model import Invoice, cap_confidence, map_values, reconcile, to_json
from docmill.invoices.recognition import recognize_invoice
from docmill.invoices.summary import summarize_invoice
from docmill.reading.blank import require_text
from docmill.reading.documents import open_document
from docmill.reading.pages import Page
from docmill.reading.turning import find_frames, set_upright

# The default first.
_NAMED: Final = sorted(formats.list_names(), key=lambda name: name != formats.DEFAULT)
MAPPINGS: Final = (choosing.AUTO, *_NAMED)


@dataclass(frozen=True, slots=True)
class InvoicePipeline:
    """Reads all pages, for lines and totals go over several. XML inside the PDF wins."""

    name: str = "invoice"
    version: str = "1"
    accepts: tuple[str, ...] = (PDF,)
    mappings: tuple[str, ...] = MAPPINGS

    def recognize(self, source: Source, pages: Sequence[Page]) -> Recognition:
        return recognize_invoice(source, pages)

    def run(self, source: Source, tools: Tools) -> Output:
        with open_document(source.file, source.content_type, tools) as document:
            pages = read_pages(document, tools)
            warnings = list(document.warnings)
        source.file.seek(0)
        xml = read_embedded(source.file.read())
        if not xml:
            require_text(pages)
        data: dict[str, Any] = {
            "pipeline": self.name,
            "version": self.version,
            "source": "xml" if xml else "page",
            "page_count": len(pages),
            "scanned_pages": [page.number for page in pages if page.scanned],
            "warnings": warnings,
            **_read_data(pages, xml, [] if xml else source.options.get("lessons", [])),
        }
        if (threshold := source.options.get("review_threshold")) is not None:
            data["review_threshold"] = threshold
            data["review"] = checks.find_doubts(data, data["checks"])
        count = len(data["lines"])
        tools.progress(100, "1 line found" if count == 1 else f"{count} lines found")
        if not source.mapping:
            return Output(data, summary=summarize_invoice(data, check=len(data["review"])))
        return _write_document(data, source.mapping, source.options)


def _read_data(
    pages: Sequence[Page], xml: Invoice | None, lessons: Sequence[LessonData]
) -> dict[str, Any]:
    """The canonical JSON of what the pages and the XML say, read by the lessons of its layout."""
    frames, upright = find_frames(pages), [set_upright(page) for page in pages]
    sheet = detect_notation(make_sheet(upright))
    found, learned = apply_lessons(sheet, cap_confidence(read_invoice(sheet), upright), lessons)
    found = map_values(found, frames.place)
    data = to_json(reconcile(xml, found) if xml else found)
    if xml:
        data = add_differences(data, find_differences(xml, found))
    for path, lesson in learned.items():
        data["evidence"][path]["learned"] = lesson
    return data


def _write_document(data: dict[str, Any], name: str, options: Mapping[str, Any]) -> Output:
    """With the document the mapping makes of it; what it doubts joins what is to be reviewed.

    The owner's profile stays with the data, so that whoever writes it again writes the same.
    """
    checks.check_invoice(data)
    given: dict[str, Any] = options.get("profile") or {}
    data = {**data, "profile": given} if given else data
    try:
        written = choosing.write_invoice(name, data, profile.parse_profile(given))
    except DocmillError as exc:
        if exc.fault.code != choosing.REFUSED:
            raise
        return _keep_reading(data, name, choosing.explain_refusal(exc))
    made = written.emitted
    review = [*data["review"], *(path for path in made.review if path not in data["review"])]
    artifact = Artifact(made.xml, "application/xml")
    data = {**data, "mapping": written.mapping, "review": review, "notes": list(made.notes)}
    rows = {"reviews": [{"doubts": len(review)}]}
    summary = summarize_invoice(data, check=len(review))
    return Output(data, artifact, rows, summary, mapping=written.mapping)


def _keep_reading(data: dict[str, Any], name: str, refusal: str) -> Output:
    """What was read, whatever the format says; only who chose it is told that it refused."""
    rows = {"reviews": [{"doubts": len(data["review"])}]}
    data = {**data, "mapping": None if name == choosing.AUTO else name, "notes": [refusal]}
    summary = summarize_invoice(data, check=len(data["review"]))
    return Output(
        data, rows=rows, summary=summary, refusal="" if name == choosing.AUTO else refusal
    )


pipeline: Final = InvoicePipeline()
