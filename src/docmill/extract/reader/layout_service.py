"""What a service says of pages, in its measures and order, as the pages that docmill works with.

Words are put into lines by docmill, since rows make fields; parts and tables are the service's.
"""

import math
from bisect import bisect_left
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any, BinaryIO, Final

from docmill.core.faults import DocmillError
from docmill.core.plugins import PDF, Source, Steps, Tools
from docmill.reading import pdf
from docmill.reading.blocks import (
    Block,
    BlockKind,
    LabelPair,
    LaidOut,
    is_list_item,
    make_table_block,
)
from docmill.reading.cleaning import clean
from docmill.reading.documents import open_document
from docmill.reading.order import order_lines
from docmill.reading.page_json import KIND, PageRecord, pack_page
from docmill.reading.pages import Box, Line, Page, PagedDocument, Word, bounding_box, make_line
from docmill.reading.pdfium import Pdf
from docmill.reading.tables.model import CellSlot, assemble
from docmill.reading.words import snap_angle

POINTS: Final = 72.0  # in an inch, which is what the service measures a PDF in
HEADINGS: Final = {"title": 1, "sectionHeading": 2}
EDGES: Final = {"pageHeader": BlockKind.HEADER, "pageFooter": BlockKind.FOOTER}
NUMBER: Final = "pageNumber"
MARKS: Final = {":selected:": "☒", ":unselected:": "☐"}

AnswerPart = Mapping[str, Any]
Outline = tuple[tuple[float, float], bool]


@dataclass(frozen=True, slots=True)
class ServicePage:
    """One page of the answer: how its measures become points, and its words by their offsets."""

    number: int
    size: tuple[float, float]
    scale: tuple[float, float]
    offsets: list[int]
    words: list[Word]

    def box(self, polygon: Sequence[float]) -> Box:
        across, down = self.scale
        xs, ys = polygon[0::2], polygon[1::2]
        return Box(min(xs) * across, min(ys) * down, max(xs) * across, max(ys) * down)

    def within(self, spans: Sequence[AnswerPart]) -> list[Word]:
        found: list[Word] = []
        for span in spans:
            first = bisect_left(self.offsets, span["offset"])
            last = bisect_left(self.offsets, span["offset"] + span["length"])
            found += self.words[first:last]
        return found

    def region(self, part: AnswerPart) -> Box | None:
        """Where a part stands on this page, if it does."""
        boxes = [
            self.box(region["polygon"])
            for region in part.get("bounding_regions", ())
            if region["page_number"] == self.number
        ]
        return bounding_box(boxes) if boxes else None

    def line(self, part: AnswerPart) -> Line | None:
        """The words of a part on this page; where there are none, such as of a mark, its text."""
        if words := self.within(part.get("spans", ())):
            return make_line(words)
        box, text = self.region(part), _text_of(part)
        return make_line([Word(text, box)]) if box and text else None


class ServiceLayout:
    """One answer. What stands on several pages is given on each."""

    def __init__(self, answer: AnswerPart) -> None:
        self._pages: dict[int, AnswerPart] = {page["page_number"]: page for page in answer["pages"]}
        self._tables: Sequence[AnswerPart] = answer.get("tables", ())
        self._pairs: Sequence[AnswerPart] = answer.get("key_value_pairs", ())
        taken = sorted(
            (span["offset"], span["offset"] + span["length"])
            for table in self._tables
            for span in table.get("spans", ())
        )
        self._paragraphs: list[AnswerPart] = [
            paragraph
            for paragraph in answer.get("paragraphs", ())
            if not _is_in(_offset_of(paragraph), taken)
        ]

    def page(self, number: int, outline: Outline | None) -> LaidOut | None:
        """One page, as large as it is shown; None where the service has not read it."""
        answer = self._pages.get(number)
        if answer is None:
            return None
        seen = answer["width"] * POINTS, answer["height"] * POINTS
        size, picture = outline or (seen, False)
        scale = size[0] / answer["width"], size[1] / answer["height"]
        sheet = _to_service_page(answer, size, scale)
        words = sheet.words
        return LaidOut(
            number, round(size[0], 2), round(size[1], 2), order_lines(words, size),
            scanned=picture, confidence=_mean_confidence(words), blocks=tuple(self._blocks(sheet)),
            pairs=tuple(_to_pairs(self._pairs, sheet)),
        )  # fmt: skip

    def _blocks(self, sheet: ServicePage) -> list[Block]:
        placed = [
            *(
                (_offset_of(part), block)
                for part in self._paragraphs
                for block in _to_blocks(part, sheet)
            ),
            *(
                (_offset_of(part), block)
                for part in self._tables
                for block in _to_table(part, sheet)
            ),
        ]
        return [block for _, block in sorted(placed, key=lambda item: item[0])]


def _to_service_page(
    answer: AnswerPart, size: tuple[float, float], scale: tuple[float, float]
) -> ServicePage:
    sheet = ServicePage(answer["page_number"], size, scale, [], [])
    for word in sorted(answer.get("words", ()), key=lambda word: word["span"]["offset"]):
        text = "".join(clean(word["content"]).split())
        if text:
            box, angle = sheet.box(word["polygon"]), _angle_of(word["polygon"])
            sheet.words.append(Word(text, box, angle, word.get("confidence", 1.0)))
            sheet.offsets.append(word["span"]["offset"])
    return sheet


def _angle_of(polygon: Sequence[float]) -> int:
    """The way text runs: from its first corner to the second."""
    return snap_angle(math.degrees(math.atan2(polygon[3] - polygon[1], polygon[2] - polygon[0])))


def _mean_confidence(words: Sequence[Word]) -> float:
    letters = sum(len(word.text) for word in words)
    if not letters:
        return 1.0
    return round(sum(word.confidence * len(word.text) for word in words) / letters, 3)


def _offset_of(part: AnswerPart) -> int:
    return min((span["offset"] for span in part.get("spans", ())), default=0)


def _is_in(offset: int, taken: Sequence[tuple[int, int]]) -> bool:
    at = bisect_left(taken, (offset + 1, 0)) - 1
    return at >= 0 and offset < taken[at][1]


def _text_of(part: AnswerPart) -> str:
    return " ".join(MARKS.get(word, word) for word in clean(part.get("content", "")).split())


def _to_blocks(part: AnswerPart, sheet: ServicePage) -> Iterator[Block]:
    """A paragraph, or as much of it as stands on this page."""
    box = sheet.region(part)
    if box is None:
        return
    whole = len({region["page_number"] for region in part["bounding_regions"]}) == 1
    text = _text_of(part) if whole else " ".join(w.text for w in sheet.within(part["spans"]))
    if text:
        kind = _kind_of(part.get("role", ""), text, box, sheet)
        level = HEADINGS.get(part.get("role", ""), 0)
        yield Block(kind, text, box, level)


def _kind_of(role: str, text: str, box: Box, sheet: ServicePage) -> BlockKind:
    if role in HEADINGS:
        return BlockKind.HEADING
    if role == NUMBER:
        return BlockKind.HEADER if box.middle < sheet.size[1] / 2 else BlockKind.FOOTER
    if role in EDGES:
        return EDGES[role]
    return BlockKind.LIST_ITEM if is_list_item(text) else BlockKind.PARAGRAPH


def _to_table(part: AnswerPart, sheet: ServicePage) -> Iterator[Block]:
    """The rows of a table that stand on this page."""
    places = [
        CellSlot(
            cell["row_index"], cell["column_index"], cell.get("row_span", 1),
            cell.get("column_span", 1), [Word(_text_of(cell), box)],
        )
        for cell in part["cells"]
        if (box := sheet.region(cell)) and _text_of(cell)
    ]  # fmt: skip
    table = assemble(places, sheet.region(part))
    if table:
        yield make_table_block(table)


def _to_pairs(parts: Sequence[AnswerPart], sheet: ServicePage) -> Iterator[LabelPair]:
    """Labels with their values, which are on the page of the label."""
    for part in parts:
        value = part.get("value")
        label, said = sheet.line(part["key"]), sheet.line(value) if value else None
        if label and said:
            yield LabelPair(label, said, part.get("confidence", 1.0))


SERVICE: Final = "analyze"
# So many in one question: what is answered is small, and is not asked again after a kill.
AT_A_TIME: Final = 20


def open_source(source: Source, tools: Tools) -> AbstractContextManager[PagedDocument]:
    """A context that gives the Document, whoever reads it."""
    if SERVICE in tools.services and source.content_type.partition(";")[0].strip() == PDF:
        return _open_analysed(source.file, tools)
    return open_document(source.file, source.content_type, tools)


@contextmanager
def _open_analysed(file: BinaryIO, tools: Tools) -> Generator[PagedDocument, None, None]:
    """A PDF that is sound enough to be paid for; its first pages are asked for at once."""
    file.seek(0)
    with pdf.open_checked(file) as sheets:
        warnings: list[str] = []
        first = _ask_for_pages(1, sheets.page_count, tools)
        pages = _give_pages(sheets, first, tools, warnings)
        yield PagedDocument(
            sheets.page_count, pdf.read_metadata(sheets), pages, warnings, _reader_name(first)
        )


def _reader_name(layout: dict[str, Any]) -> str:
    return f"azure {layout['model']}"


def _ask_for_pages(start: int, count: int, tools: Tools) -> dict[str, Any]:
    end = min(start + AT_A_TIME - 1, count)
    tools.progress(0, f"asking for pages {start} to {end} of {count}")
    return tools.ask(SERVICE, {"pages": f"{start}-{end}"})


def _give_pages(
    sheets: Pdf, first: dict[str, Any], tools: Tools, warnings: list[str]
) -> Iterator[Page]:
    """Every page that the service gives; a fault at the end when there was none."""
    given = 0
    for turned in _keep_pages(_analyse_pages(sheets, first, tools), tools):
        warnings += turned.warnings
        if turned.page:
            given += 1
            yield turned.page
    if not given:
        raise DocmillError("SERVICE_REFUSED", f"the service gave none of {sheets.page_count} pages")


def _analyse_pages(sheets: Pdf, first: dict[str, Any], tools: Tools) -> Iterator[PageRecord]:
    count = sheets.page_count
    for start in range(1, count + 1, AT_A_TIME):
        layout = ServiceLayout(first if start == 1 else _ask_for_pages(start, count, tools))
        for number in range(start, min(start + AT_A_TIME, count + 1)):
            page = layout.page(number, pdf.inspect_page(sheets, number))
            missing = [] if page else [f"page {number} was not read by the service"]
            yield PageRecord(page, missing, 0, _reader_name(first))


def _keep_pages(pages: Iterator[PageRecord], tools: Tools) -> Iterator[PageRecord]:
    """For people to read meanwhile. A later try has the answers, which say more."""
    steps = Steps(tools.memory, KIND, pack_page)
    known = sum(1 for _ in steps.recall())
    for index, turned in enumerate(pages):
        if index >= known:
            steps.add(turned, turned.size)
        yield turned
