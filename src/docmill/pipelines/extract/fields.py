"""Labels and values found by where they stand: behind a colon, beside each other, or below.

How sure a field is comes from how it was found, and whether the value looks like something: a colon
and a date are worth more than two words with a gap between them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

from docmill.pipelines.extract import labels
from docmill.pipelines.extract.kinds import TEXT, kind
from docmill.reading.blocks import LaidOut
from docmill.reading.pages import Box, Line, Page, Word, line_of

TYPED: Final = 0.15
LONG: Final = 0.15
LONG_CHARS: Final = 60
BELOW: Final = 1.6  # of the label's height: how far down its value may start
ROWS_BELOW: Final = 3
FORM_CELLS: Final = (2, 4)

Row = Sequence[Line]


class Found(Enum):
    """How a value was found; the number is how sure that makes us of it."""

    TOLD = 0.9
    SAME_RUN = 0.8
    COLON_BESIDE = 0.75
    COLON_BELOW = 0.6
    BESIDE = 0.5
    BELOW = 0.4


@dataclass(frozen=True, slots=True)
class Field:
    """One label and its value, on one page."""

    label: Line
    value: Line
    page: int
    found: Found
    sure: float | None = None  # where the reader says so itself

    @property
    def name(self) -> str:
        return self.label.text.rstrip(" :")

    @property
    def kind(self) -> str:
        return kind(self.value.text)

    @property
    def confidence(self) -> float:
        if self.sure is not None:
            return round(self.sure, 2)
        typed = TYPED if self.kind != TEXT else 0
        long = LONG if len(self.value.text) > LONG_CHARS else 0
        return round(self.found.value + typed - long, 2)


def fields_of(page: Page) -> list[Field]:
    """The fields of a page, in reading order; nothing is the value of two labels.

    Those that the reader of the page found itself come first.
    """
    if not isinstance(page, LaidOut) or not page.pairs:
        return _seen(page)
    told = [
        Field(pair.label, pair.value, page.number, Found.TOLD, pair.confidence)
        for pair in page.pairs
    ]
    known = {word for field in told for word in _words(field)}
    return [*told, *(field for field in _seen(page) if known.isdisjoint(_words(field)))]


def _words(field: Field) -> Iterator[Word]:
    yield from field.label.words
    yield from field.value.words


def _seen(page: Page) -> list[Field]:
    rows = [line.cells for line in page.lines if not line.words[0].angle]
    taken: set[Box] = set()
    fields: list[Field] = []
    for index, row in enumerate(rows):
        for column, cell in enumerate(row):
            if cell.box in taken:
                continue
            found = [item for item in _found(rows, index, column) if item[1].box not in taken]
            taken |= {value.box for _, value, _ in found}
            fields += [Field(label, value, page.number, how) for label, value, how in found]
    return fields


def _found(rows: Sequence[Row], index: int, column: int) -> Iterator[tuple[Line, Line, Found]]:
    """Every label in one cell that has a value, there or next to it."""
    cell = rows[index][column]
    pairs = labels.pairs(cell)
    for pair in pairs:
        if pair.value:
            yield pair.label, pair.value, Found.SAME_RUN
    if pairs and pairs[-1].value is None:
        yield from _open_label(rows, index, column, pairs[-1].label)
    elif not pairs and labels.is_label(cell.text):
        yield from _bare_label(rows, index, column)


def _open_label(
    rows: Sequence[Row], index: int, column: int, label: Line
) -> Iterator[tuple[Line, Line, Found]]:
    """The value of a label that ends with a colon and has nothing behind it in its cell."""
    beside = rows[index][column + 1 : column + 2]
    if beside and not labels.pairs(beside[0]):
        yield label, beside[0], Found.COLON_BESIDE
        return
    below = nearest_below(rows, index, label)
    if below and not labels.pairs(below) and not _is_open(rows[index + 1 :], below):
        yield label, below, Found.COLON_BELOW


def _is_open(rows: Sequence[Row], cell: Line) -> bool:
    """Whether a cell is a label itself, with the colon in the cell behind it."""
    row = next((row for row in rows[:ROWS_BELOW] if cell in row), ())
    behind = row[row.index(cell) + 1 :] if row else ()
    return bool(behind) and behind[0].text.startswith(":")


def _bare_label(rows: Sequence[Row], index: int, column: int) -> Iterator[tuple[Line, Line, Found]]:
    """The value of words without a colon: only what looks like one, and is no table's column."""
    row = rows[index]
    beside = row[column + 1] if column + 1 < len(row) else None
    if beside and beside.words[0].text == ":" and len(beside.words) > 1:
        yield row[column], line_of(beside.words[1:]), Found.COLON_BESIDE
    elif beside and len(row) in FORM_CELLS and column % 2 == 0 and kind(beside.text) != TEXT:
        yield row[column], beside, Found.BESIDE
    elif all(kind(cell.text) == TEXT for cell in row):
        yield from _heading(rows, index, row[column])


def _heading(rows: Sequence[Row], index: int, label: Line) -> Iterator[tuple[Line, Line, Found]]:
    below = nearest_below(rows, index, label)
    if below is None or kind(below.text) == TEXT:
        return
    under = nearest_below(rows, index + 1, below)
    if under is None or kind(under.text) != kind(below.text):
        yield label, below, Found.BELOW


def nearest_below(rows: Sequence[Row], index: int, label: Line) -> Line | None:
    """The nearest cell under a label, if it is close and not off to one side."""
    top, reach = label.box.y1, BELOW * label.box.height
    for row in rows[index + 1 : index + 1 + ROWS_BELOW]:
        for cell in row:
            level = -0.3 * label.box.height <= cell.box.y0 - top <= reach
            if level and cell.box.x0 < label.box.x1 and cell.box.x1 > label.box.x0:
                return cell
    return None
