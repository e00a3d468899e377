"""What a service says of pages, in its measures and order, as the pages that docmill works with.

Words are put into lines by docmill, since rows make fields; parts and tables are the service's.
"""

import math
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from docmill.reading.blocks import Block, Kind, LaidOut, Pair, block_of
from docmill.reading.cleaning import clean
from docmill.reading.order import lines_of
from docmill.reading.pages import Box, Line, Word, around, line_of
from docmill.reading.parts import is_item
from docmill.reading.tables import Place, assembled
from docmill.reading.words import snapped

POINTS: Final = 72.0  # in an inch, which is what the service measures a PDF in
HEADINGS: Final = {"title": 1, "sectionHeading": 2}
EDGES: Final = {"pageHeader": Kind.HEADER, "pageFooter": Kind.FOOTER}
NUMBER: Final = "pageNumber"
MARKS: Final = {":selected:": "☒", ":unselected:": "☐"}

Part = Mapping[str, Any]
Outline = tuple[tuple[float, float], bool]


@dataclass(frozen=True, slots=True)
class Sheet:
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

    def within(self, spans: Sequence[Part]) -> list[Word]:
        found: list[Word] = []
        for span in spans:
            first = bisect_left(self.offsets, span["offset"])
            last = bisect_left(self.offsets, span["offset"] + span["length"])
            found += self.words[first:last]
        return found

    def region(self, part: Part) -> Box | None:
        """Where a part stands on this page, if it does."""
        boxes = [
            self.box(region["polygon"])
            for region in part.get("bounding_regions", ())
            if region["page_number"] == self.number
        ]
        return around(boxes) if boxes else None

    def line(self, part: Part) -> Line | None:
        """The words of a part on this page; where there are none, such as of a mark, its text."""
        if words := self.within(part.get("spans", ())):
            return line_of(words)
        box, text = self.region(part), _text(part)
        return line_of([Word(text, box)]) if box and text else None


class Layout:
    """One answer. What stands on several pages is told on each."""

    def __init__(self, answer: Part) -> None:
        self._pages: dict[int, Part] = {page["page_number"]: page for page in answer["pages"]}
        self._tables: Sequence[Part] = answer.get("tables", ())
        self._pairs: Sequence[Part] = answer.get("key_value_pairs", ())
        taken = sorted(
            (span["offset"], span["offset"] + span["length"])
            for table in self._tables
            for span in table.get("spans", ())
        )
        self._paragraphs: list[Part] = [
            paragraph
            for paragraph in answer.get("paragraphs", ())
            if not _is_in(_offset(paragraph), taken)
        ]

    def page(self, number: int, outline: Outline | None) -> LaidOut | None:
        """One page, as large as it is shown; None where the service has not read it."""
        told = self._pages.get(number)
        if told is None:
            return None
        seen = told["width"] * POINTS, told["height"] * POINTS
        size, picture = outline or (seen, False)
        scale = size[0] / told["width"], size[1] / told["height"]
        sheet = _sheet(told, size, scale)
        words = sheet.words
        return LaidOut(
            number, round(size[0], 2), round(size[1], 2), lines_of(words, size),
            scanned=picture, confidence=_sure(words), blocks=tuple(self._blocks(sheet)),
            pairs=tuple(_pairs(self._pairs, sheet)),
        )  # fmt: skip

    def _blocks(self, sheet: Sheet) -> list[Block]:
        placed = [
            *((_offset(part), block) for part in self._paragraphs for block in _part(part, sheet)),
            *((_offset(part), block) for part in self._tables for block in _table(part, sheet)),
        ]
        return [block for _, block in sorted(placed, key=lambda item: item[0])]


def _sheet(told: Part, size: tuple[float, float], scale: tuple[float, float]) -> Sheet:
    sheet = Sheet(told["page_number"], size, scale, [], [])
    for word in sorted(told.get("words", ()), key=lambda word: word["span"]["offset"]):
        text = "".join(clean(word["content"]).split())
        if text:
            box, angle = sheet.box(word["polygon"]), _angle(word["polygon"])
            sheet.words.append(Word(text, box, angle, word.get("confidence", 1.0)))
            sheet.offsets.append(word["span"]["offset"])
    return sheet


def _angle(polygon: Sequence[float]) -> int:
    """The way text runs: from its first corner to the second."""
    return snapped(math.degrees(math.atan2(polygon[3] - polygon[1], polygon[2] - polygon[0])))


def _sure(words: Sequence[Word]) -> float:
    letters = sum(len(word.text) for word in words)
    if not letters:
        return 1.0
    return round(sum(word.confidence * len(word.text) for word in words) / letters, 3)


def _offset(part: Part) -> int:
    return min((span["offset"] for span in part.get("spans", ())), default=0)


def _is_in(offset: int, taken: Sequence[tuple[int, int]]) -> bool:
    at = bisect_left(taken, (offset + 1, 0)) - 1
    return at >= 0 and offset < taken[at][1]


def _text(part: Part) -> str:
    return " ".join(MARKS.get(word, word) for word in clean(part.get("content", "")).split())


def _part(part: Part, sheet: Sheet) -> Iterator[Block]:
    """A paragraph, or as much of it as stands on this page."""
    box = sheet.region(part)
    if box is None:
        return
    whole = len({region["page_number"] for region in part["bounding_regions"]}) == 1
    text = _text(part) if whole else " ".join(w.text for w in sheet.within(part["spans"]))
    if text:
        kind = _kind(part.get("role", ""), text, box, sheet)
        level = HEADINGS.get(part.get("role", ""), 0)
        yield Block(kind, text, box, level)


def _kind(role: str, text: str, box: Box, sheet: Sheet) -> Kind:
    if role in HEADINGS:
        return Kind.HEADING
    if role == NUMBER:
        return Kind.HEADER if box.middle < sheet.size[1] / 2 else Kind.FOOTER
    if role in EDGES:
        return EDGES[role]
    return Kind.LIST_ITEM if is_item(text) else Kind.PARAGRAPH


def _table(part: Part, sheet: Sheet) -> Iterator[Block]:
    """The rows of a table that stand on this page."""
    places = [
        Place(
            cell["row_index"], cell["column_index"], cell.get("row_span", 1),
            cell.get("column_span", 1), [Word(_text(cell), box)],
        )
        for cell in part["cells"]
        if (box := sheet.region(cell)) and _text(cell)
    ]  # fmt: skip
    table = assembled(places, sheet.region(part))
    if table:
        yield block_of(table)


def _pairs(parts: Sequence[Part], sheet: Sheet) -> Iterator[Pair]:
    """Labels with their values, which are on the page of the label."""
    for part in parts:
        value = part.get("value")
        label, said = sheet.line(part["key"]), sheet.line(value) if value else None
        if label and said:
            yield Pair(label, said, part.get("confidence", 1.0))
