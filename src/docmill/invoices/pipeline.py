"""The pipeline `invoice`: any supplier's PDF to one canonical invoice, every value traceable."""

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from docmill.core.faults import DocmillError
from docmill.core.plugins import PDF, Artifact, Output, Recognition, Source, Tools
from docmill.core.promise import RATE
from docmill.invoices import checks, doubts, formats, profile
from docmill.invoices.confidence import (
    fit_absences,
    fit_confidence,
    list_texts,
    load_fitted,
    weigh_confidence,
)
from docmill.invoices.experience import apply_experience
from docmill.invoices.formats import choosing
from docmill.invoices.formats.completeness import EUROPEAN, write_checked
from docmill.invoices.formats.language import MAPPING_TEXT, SUFFIX
from docmill.invoices.reader import detect_notation, read_pages
from docmill.invoices.reader.audit import add_differences, find_differences
from docmill.invoices.reader.column_lessons import read_by_columns
from docmill.invoices.reader.embedded import read_embedded
from docmill.invoices.reader.layout import make_sheet
from docmill.invoices.reader.lessons import LessonData, apply_lessons
from docmill.invoices.reader.model import Invoice, cap_confidence, map_values, reconcile, to_json
from docmill.invoices.reader.second_reader import (
    MODEL,
    RULES,
    SecondReader,
    add_disputes,
    place_on_pages,
)
from docmill.invoices.recognition import recognize_invoice
from docmill.invoices.summary import summarize_invoice
from docmill.reading.blank import require_text
from docmill.reading.documents import open_document
from docmill.reading.pages import Page
from docmill.reading.pdf import NO_TOOLS
from docmill.reading.sample import make_sample
from docmill.reading.turning import find_frames, set_upright

# The default first.
_NAMED: Final = sorted(formats.list_built_in(), key=lambda name: name != formats.DEFAULT)
MAPPINGS: Final = (choosing.AUTO, *_NAMED)
_SAMPLE: Final = (
    "Sample Works Ltd",
    "1 Mill Street, 12345 Town | Tel. +49 30 123456",
    "VAT ID: DE123456789 | www.sample.example",
    "Bill to: | Invoice No: | INV-2024-001",
    "Example Trading GmbH | Invoice date: | 14 March 2024",
    "Market Street 2 | Payment terms: | 30 days",
    "10115 Berlin | Due date: | 13.04.2024",
    "Description | Quantity | Unit price | Amount",
    "Grinding of wheat | 2 | 50.00 | 100.00",
    "Delivery to the harbour | 3 | 20.00 | 60.00",
    "Subtotal | | | EUR 160.00",
    "VAT 19% | | | EUR 30.40",
    "Total | | | EUR 190.40",
    "Please pay within 30 days to IBAN DE02 1203 0000 0000 2020 51.",
)
# Says nothing of its country and writes money as many do: then the words of all are looked for.
_VAGUE: Final = (
    "Sample Works",
    "Invoice 1002 | Fällig: 14/03/2024",
    "Milling | 2 | $50.00 | $100.00",
    "Total | | | $100.00",
)


@dataclass(frozen=True, slots=True)
class InvoicePipeline:
    """Reads all pages, for lines and totals go over several. XML inside the PDF wins."""

    name: str = "invoice"
    version: str = "1"
    accepts: tuple[str, ...] = (PDF,)
    mappings: tuple[str, ...] = MAPPINGS

    def warm(self) -> None:
        """Read small invoices: what first readings build is there for all that follow."""
        for sample in (_SAMPLE, _VAGUE):
            self.run(Source(io.BytesIO(make_sample(sample)), "sample.pdf", PDF), NO_TOOLS)

    def recognize(self, source: Source, pages: Sequence[Page]) -> Recognition:
        return recognize_invoice(source, pages)

    def run(self, source: Source, tools: Tools) -> Output:
        reading = _read_document(source, tools)
        data = _judge_data(reading, source.options)
        count = len(data["lines"])
        tools.progress(100, "1 line found" if count == 1 else f"{count} lines found")
        if not source.mapping:
            return Output(data, summary=summarize_invoice(data, check=len(data["review"])))
        return _write_document(data, source.mapping, source.options)


def read_unfitted(source: Source, tools: Tools) -> tuple[dict[str, Any], list[Page]]:
    """What the reader says, each value as sure as its rules are, and the pages."""
    reading = _read_document(source, tools)
    return reading.data, reading.pages


@dataclass(frozen=True, slots=True)
class InvoiceReading:
    """`rules` is what the rules alone say, where a model had a word in it."""

    data: dict[str, Any]
    pages: list[Page]
    rules: dict[str, Any] | None


def _read_document(source: Source, tools: Tools) -> InvoiceReading:
    with open_document(source.file, source.content_type, tools, drawn=False) as document:
        pages = read_pages(document, tools)
        warnings = list(document.warnings)
    xml = _read_xml(source) if document.embeds else None
    if not xml:
        require_text(pages)
    second = SecondReader(source.options.get("invoice_reader", RULES), tools, warnings)
    lessons: list[LessonData] = [] if xml else source.options.get("lessons", [])
    told, rules = _read_data(pages, xml, lessons, second)
    about: dict[str, Any] = {
        "pipeline": pipeline.name,
        "version": pipeline.version,
        "source": "xml" if xml else MODEL if second.mode == MODEL else "page",
        "page_count": len(pages),
        "scanned_pages": [page.number for page in pages if page.scanned],
        "warnings": warnings,
    }
    return InvoiceReading({**about, **told}, pages, {**about, **rules} if rules else None)


def _read_xml(source: Source) -> Invoice | None:
    source.file.seek(0)
    return read_embedded(source.file.read())


def _judge_data(reading: InvoiceReading, options: Mapping[str, Any]) -> dict[str, Any]:
    """With the confidence that was fitted, and what is to be looked at by it."""
    fitted, absent, data = load_fitted(), dict[str, float](), reading.data
    if data["source"] != "xml":
        texts = list_texts(reading.pages)
        if reading.rules:
            known = fit_confidence(reading.rules, texts, fitted)
            data = weigh_confidence(data, reading.rules, known)
        else:
            data = fit_confidence(data, texts, fitted)
        absent = fit_absences(data, texts, fitted)
        data = apply_experience(data, options.get("experience") or {})
    if (threshold := options.get("review_threshold")) is not None:
        data["review_threshold"] = threshold
    rate = float(options.get("error_rate", RATE))
    promise, doubtful = doubts.judge_reading(data, rate, absent)
    return {**data, "promise": promise, "review": doubtful}


def _read_data(
    pages: Sequence[Page],
    xml: Invoice | None,
    lessons: Sequence[LessonData],
    second: SecondReader,
) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """The canonical JSON of what the pages and the XML say, read by the lessons of its layout.

    Then what the rules alone say, where a model was asked; none is where an XML says it all.
    """
    frames, upright = find_frames(pages), [set_upright(page) for page in pages]
    sheet = detect_notation(make_sheet(upright))
    read, by_columns = read_by_columns(sheet, lessons)
    found, learned = apply_lessons(sheet, cap_confidence(read, upright), lessons)
    if xml:
        found = map_values(found, frames.place)
        data = add_differences(to_json(reconcile(xml, found)), find_differences(xml, found))
        return data, None
    agreement, about = second.read(sheet, upright, found)
    agreement = place_on_pages(agreement, frames)
    data = {**to_json(agreement.invoice), **about}
    for path, lesson in {**by_columns, **learned}.items():
        if path in data["evidence"]:
            data["evidence"][path]["learned"] = lesson
    if not about:
        return data, None
    return add_disputes(data, agreement), to_json(map_values(found, frames.place))


def _write_document(data: dict[str, Any], name: str, options: Mapping[str, Any]) -> Output:
    """With the document the mapping makes of it; what it doubts joins what is to be reviewed.

    The owner's profile stays with the data, so that whoever writes it again writes the same.
    """
    if own := options.get(MAPPING_TEXT):
        formats.register(own, f"{name}{SUFFIX}")
    checks.check_invoice(data)
    given: dict[str, Any] = options.get("profile") or {}
    data = {**data, "profile": given} if given else data
    try:
        written = write_checked(name, data, profile.parse_profile(given))
    except DocmillError as exc:
        if exc.fault.code != choosing.REFUSED:
            raise
        return _keep_reading(data, name, choosing.explain_refusal(exc))
    if written.missing and name == choosing.AUTO and written.mapping in EUROPEAN:
        return _keep_reading(data, name, written.missing, written.emitted.review)
    made = written.emitted
    review = [*data["review"], *(path for path in made.review if path not in data["review"])]
    artifact = Artifact(made.xml, "application/xml")
    data = {**data, "mapping": written.mapping, "review": review, "notes": list(made.notes)}
    promise = data["promise"]
    told = {"expected": promise["expected"], "rate": promise["rate"]}
    rows = {"reviews": [{"doubts": len(review), **told}]}
    summary = summarize_invoice(data, check=len(review))
    return Output(data, artifact, rows, summary, mapping=written.mapping)


def _keep_reading(
    data: dict[str, Any], name: str, refusal: str, doubts: Sequence[str] = ()
) -> Output:
    """What was read, whatever the format says; only who chose it is told that it refused.

    Nobody chose the format of `auto`: a file that lacks values is no result, it is a draft.
    """
    data = {**data, "review": [*dict.fromkeys((*data["review"], *doubts))]}
    rows = {"reviews": [{"doubts": len(data["review"])}]}
    data = {**data, "mapping": None if name == choosing.AUTO else name, "notes": [refusal]}
    summary = summarize_invoice(data, check=len(data["review"]))
    return Output(
        data, rows=rows, summary=summary, refusal="" if name == choosing.AUTO else refusal
    )


pipeline: Final = InvoicePipeline()
