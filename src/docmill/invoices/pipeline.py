"""The pipeline `invoice`: any supplier's PDF to one canonical invoice, every value traceable."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from docmill.core.faults import DocmillError
from docmill.core.plugins import PDF, Artifact, Output, Source, Tools
from docmill.invoices import checks, formats, profile
from docmill.invoices.reader import detect_notation, read_invoice, read_pages
from docmill.invoices.reader.confidence import Curves, fit_confidence, load_curves
from docmill.invoices.reader.embedded import read_embedded
from docmill.invoices.reader.layout import make_sheet
from docmill.invoices.reader.lessons import LessonData, apply_lessons
from docmill.invoices.reader.model import Invoice, cap_confidence, map_values, reconcile, to_json
from docmill.reading.documents import open_document
from docmill.reading.pages import Page
from docmill.reading.turning import find_frames, set_upright

# The default first.
MAPPINGS: Final = tuple(sorted(formats.list_names(), key=lambda name: name != formats.DEFAULT))


@dataclass(frozen=True, slots=True)
class InvoicePipeline:
    """Reads all pages, for lines and totals go over several. XML inside the PDF wins."""

    name: str = "invoice"
    version: str = "1"
    accepts: tuple[str, ...] = (PDF,)
    mappings: tuple[str, ...] = MAPPINGS
    curves: Curves = field(default_factory=load_curves)

    def run(self, source: Source, tools: Tools) -> Output:
        with open_document(source.file, source.content_type, tools) as document:
            pages = read_pages(document, tools)
            warnings = list(document.warnings)
        source.file.seek(0)
        xml = read_embedded(source.file.read())
        if not xml and not any(page.lines for page in pages):
            raise DocmillError("BAD_PDF", "there is no text on any page")
        data: dict[str, Any] = {
            "pipeline": self.name,
            "version": self.version,
            "source": "xml" if xml else "page",
            "page_count": len(pages),
            "scanned_pages": [page.number for page in pages if page.scanned],
            "warnings": warnings,
            **self._read_data(pages, xml, [] if xml else source.options.get("lessons", [])),
        }
        tools.progress(100, f"{len(data['lines'])} lines found")
        if not source.mapping:
            return Output(data)
        return _write_document(data, source.mapping, source.options)

    def _read_data(
        self, pages: Sequence[Page], xml: Invoice | None, lessons: Sequence[LessonData]
    ) -> dict[str, Any]:
        """The canonical JSON of what the pages and the XML say, read by its layout's lessons."""
        frames, upright = find_frames(pages), [set_upright(page) for page in pages]
        sheet = detect_notation(make_sheet(upright))
        scanned = frozenset(page.number for page in pages if page.scanned)
        read = fit_confidence(cap_confidence(read_invoice(sheet), upright), scanned, self.curves)
        found, learned = apply_lessons(sheet, read, lessons)
        found = map_values(found, frames.place)
        data = to_json(reconcile(xml, found) if xml else found)
        for path, lesson in learned.items():
            data["evidence"][path]["learned"] = lesson
        return data


def _write_document(data: dict[str, Any], name: str, options: Mapping[str, Any]) -> Output:
    """With the document the mapping makes of it; what it doubts joins what is to be reviewed.

    The owner's profile stays with the data, so that whoever writes it again writes the same.
    """
    checks.check_invoice(data)
    given: dict[str, Any] = options.get("profile") or {}
    made = formats.emit(formats.load(name), data, profile.parse_profile(given), pretty=True)
    data = {**data, "profile": given} if given else data
    review = [*data["review"], *(path for path in made.review if path not in data["review"])]
    artifact = Artifact(made.xml, "application/xml")
    data = {**data, "mapping": name, "review": review, "notes": list(made.notes)}
    return Output(data, artifact, rows={"reviews": [{"doubts": len(review)}]})


pipeline: Final = InvoicePipeline()
