"""What can be a label, and labels with their values inside one run of words."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Final

from docmill.extract.reader.values import TEXT, kind_of
from docmill.reading.blocks import LaidOut
from docmill.reading.labels import cells_under
from docmill.reading.pages import Box, Line, Page, Word, make_line

MAX_CHARS: Final = 40
MAX_WORDS: Final = 6

_GLUED: Final = re.compile(r"([^\W\d_][^:/\\]*:)([^:/\\][^:]*)")
_SHORT: Final = re.compile(r"(?:nr|no|num|nbr|ref|tel|tgl|art)\.$", re.IGNORECASE)
_NUMBERED: Final = re.compile(r"\d{4}|\d:\d\d")  # a place with its code, a time of the day
_SEPARATORS: Final = frozenset("-–—|·•,;/")


@dataclass(frozen=True, slots=True)
class InlinePair:
    """A label and the value that belongs to it; none where it must be looked for elsewhere."""

    label: Line
    value: Line | None


def is_label(text: str) -> bool:
    """Whether text is short and wordy enough to name something."""
    name = text.lstrip(" .…").rstrip(" :")
    ends = name.endswith((".", ",", ";", "!", "?")) and not _SHORT.search(name)
    letters = sum(char.isalpha() for char in name)
    return (
        1 < len(name) <= MAX_CHARS
        and len(name.split()) <= MAX_WORDS
        and letters * 2 >= len(name.replace(" ", ""))
        and not ends
        and not _NUMBERED.search(name)
        and kind_of(name) == TEXT
    )


def find_inline_pairs(cell: Line) -> list[InlinePair]:
    """Every `label: value` in a run of words, from left to right."""
    words = _split_glued(cell.words)
    colons = [index for index, word in enumerate(words) if word.text.endswith(":")]
    starts = [_label_start(words, at, index) for index, at in enumerate(colons)]
    found: list[InlinePair] = []
    for index, at in enumerate(colons):
        end = starts[index + 1] if index + 1 < len(colons) else len(words)
        label, value = words[starts[index] : at + 1], _trim_separators(words[at + 1 : end])
        if label and is_label(" ".join(word.text for word in label)):
            found.append(InlinePair(make_line(label), make_line(value) if value else None))
    return found


def _split_glued(words: Sequence[Word]) -> list[Word]:
    """Words, with those that are label and value in one (`No:123`) cut in two."""
    parted: list[Word] = []
    for word in words:
        match = _GLUED.fullmatch(word.text)
        parted += _cut_word(word, len(match[1])) if match else [word]
    return parted


def _cut_word(word: Word, at: int) -> list[Word]:
    box = word.box
    x = box.x0 + box.width * at / len(word.text)
    return [
        Word(word.text[:at], Box(box.x0, box.y0, x, box.y1)),
        Word(word.text[at:], Box(x, box.y0, box.x1, box.y1)),
    ]


def _label_start(words: Sequence[Word], colon: int, index: int) -> int:
    """Where the label before a colon starts: the first one with the run, a later one after the
    nearest separator or figure, and failing these one word back."""
    if index == 0:
        return 0
    own = colon - 1 if words[colon].text == ":" else colon
    for back in range(own, max(own - MAX_WORDS, 0), -1):
        if _ends_value(words[back - 1].text):
            return back
    return own


def _ends_value(text: str) -> bool:
    return text in _SEPARATORS or text[-1] in ",;" or any(char.isdigit() for char in text)


def _trim_separators(words: Sequence[Word]) -> Sequence[Word]:
    first, last = 0, len(words)
    while first < last and words[first].text in _SEPARATORS:
        first += 1
    while last > first and words[last - 1].text in _SEPARATORS:
        last -= 1
    kept = list(words[first:last])
    if kept and len(kept[-1].text) > 1:
        kept[-1] = replace(kept[-1], text=kept[-1].text.rstrip(",;") or kept[-1].text)
    return kept


TYPED: Final = 0.15
LONG: Final = 0.15
LONG_CHARS: Final = 60
BELOW: Final = 2.6  # of the label's height: how far down its value may stand
ROWS_BELOW: Final = 3
FORM_CELLS: Final = (2, 4)

CellRow = Sequence[Line]


class FoundBy(Enum):
    """How a value was found; the number is how sure that makes us of it."""

    TOLD = 0.9
    SAME_RUN = 0.8
    COLON_BESIDE = 0.75
    COLON_BELOW = 0.6
    BESIDE = 0.5
    BELOW = 0.4


@dataclass(frozen=True, slots=True)
class LabelledField:
    """One label and its value, on one page."""

    label: Line
    value: Line
    page: int
    found: FoundBy
    sure: float | None = None  # where the reader says so itself

    @property
    def name(self) -> str:
        return self.label.text.rstrip(" :")

    @property
    def kind(self) -> str:
        return kind_of(self.value.text)

    @property
    def confidence(self) -> float:
        if self.sure is not None:
            return round(self.sure, 2)
        typed = TYPED if self.kind != TEXT else 0
        long = LONG if len(self.value.text) > LONG_CHARS else 0
        return round(self.found.value + typed - long, 2)


def find_fields(page: Page) -> list[LabelledField]:
    """The fields of a page, in reading order; nothing is the value of two labels.

    Those that the reader of the page found itself come first.
    """
    if not isinstance(page, LaidOut) or not page.pairs:
        return _find_by_place(page)
    given = [
        LabelledField(pair.label, pair.value, page.number, FoundBy.TOLD, pair.confidence)
        for pair in page.pairs
    ]
    known = {word for field in given for word in _words_of_field(field)}
    return [
        *given,
        *(field for field in _find_by_place(page) if known.isdisjoint(_words_of_field(field))),
    ]


def _words_of_field(field: LabelledField) -> Iterator[Word]:
    yield from field.label.words
    yield from field.value.words


def _find_by_place(page: Page) -> list[LabelledField]:
    rows = [line.cells for line in page.lines if not line.words[0].angle]
    taken: set[Box] = set()
    fields: list[LabelledField] = []
    for index, row in enumerate(rows):
        for column, cell in enumerate(row):
            if cell.box in taken:
                continue
            found = [
                item for item in _find_in_cell(rows, index, column) if item[1].box not in taken
            ]
            taken |= {value.box for _, value, _ in found}
            fields += [LabelledField(label, value, page.number, how) for label, value, how in found]
    return fields


def _find_in_cell(
    rows: Sequence[CellRow], index: int, column: int
) -> Iterator[tuple[Line, Line, FoundBy]]:
    """Every label in one cell that has a value, there or next to it."""
    cell = rows[index][column]
    pairs = find_inline_pairs(cell)
    for pair in pairs:
        if pair.value:
            yield pair.label, pair.value, FoundBy.SAME_RUN
    if pairs and pairs[-1].value is None:
        yield from _find_open_value(rows, index, column, pairs[-1].label)
    elif not pairs and is_label(cell.text):
        yield from _find_bare_value(rows, index, column)


def _find_open_value(
    rows: Sequence[CellRow], index: int, column: int, label: Line
) -> Iterator[tuple[Line, Line, FoundBy]]:
    """The value of a label that ends with a colon and has nothing behind it in its cell."""
    beside = rows[index][column + 1 : column + 2]
    if beside and not find_inline_pairs(beside[0]):
        yield label, beside[0], FoundBy.COLON_BESIDE
        return
    below = find_nearest_below(rows, index, label)
    if below and not find_inline_pairs(below) and not _is_open(rows[index + 1 :], below):
        yield label, below, FoundBy.COLON_BELOW


def _is_open(rows: Sequence[CellRow], cell: Line) -> bool:
    """Whether a cell is a label itself, with the colon in the cell behind it."""
    row = next((row for row in rows[:ROWS_BELOW] if cell in row), ())
    behind = row[row.index(cell) + 1 :] if row else ()
    return bool(behind) and behind[0].text.startswith(":")


def _find_bare_value(
    rows: Sequence[CellRow], index: int, column: int
) -> Iterator[tuple[Line, Line, FoundBy]]:
    """The value of words without a colon: only what looks like one, and is no table's column."""
    row = rows[index]
    beside = row[column + 1] if column + 1 < len(row) else None
    if beside and beside.words[0].text == ":" and len(beside.words) > 1:
        yield row[column], make_line(beside.words[1:]), FoundBy.COLON_BESIDE
    elif beside and len(row) in FORM_CELLS and column % 2 == 0 and kind_of(beside.text) != TEXT:
        yield row[column], beside, FoundBy.BESIDE
    elif all(kind_of(cell.text) == TEXT for cell in row):
        yield from _find_value_below(rows, index, row[column])


def _find_value_below(
    rows: Sequence[CellRow], index: int, label: Line
) -> Iterator[tuple[Line, Line, FoundBy]]:
    below = find_nearest_below(rows, index, label)
    if below is None or kind_of(below.text) == TEXT:
        return
    under = find_nearest_below(rows, index + 1, below)
    if under is None or kind_of(under.text) != kind_of(below.text):
        yield label, below, FoundBy.BELOW


def find_nearest_below(rows: Sequence[CellRow], index: int, label: Line) -> Line | None:
    """The nearest cell under a label, if it is close and not off to one side."""
    below = rows[index + 1 : index + 1 + ROWS_BELOW]
    return next((cell for row in below for cell in cells_under(row, label.box, BELOW)), None)
