"""Pages as rows of cells, across columns: labels and values are found by where they stand."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Final

from docmill.reading.labels import TextCell, TextRow, TextSheet, make_cell, squeeze
from docmill.reading.numbers import CODES, DecimalMark, Number, find_numbers
from docmill.reading.order import group_by_level
from docmill.reading.pages import Box, Page, Word

CELL_GAP: Final = 0.75
MAX_ROW: Final = 150  # words: no paper has more in a row, and they are compared with each other
COVERED: Final = 0.6  # of the narrower word: so much in one place is one over the other


NARROW: Final = 0.5  # how wide a mark is beside a figure
BULLETS: Final = frozenset("·•|●∙◦▪–—")
_AMOUNT: Final = r"(?:\d{1,3}(?:[.,]\d{3})+(?:[.,]\d{2})?|\d+[.,]\d{2})(?:,-)?"
_GLUED: Final = re.compile(
    rf"([^\W\d_]{{2,}}|\d{{1,2}}(?:[.,]\d+)?%)({_AMOUNT})"
    rf"|([^\W\d_]{{2,}}|\d{{1,2}}%?)((?:Rp\.?|IDR|USD|EUR|[€$£]){_AMOUNT})"
)
_UNREAD: Final = re.compile(  # leaders and rules drawn with characters, accents beside letters
    r"[._=-]{4,}|[´`ˆ¨˜¸ˇ]"
)
FACING: Final = 0.75  # of the height: how far an amount may stand higher or lower than its words
_SIGN: Final = rf"(?:[A-Z]{{0,3}}[€$£¥₹]|Rp\.?|{'|'.join(sorted(CODES))})"
_MONEY_WORD: Final = re.compile(
    rf"{_SIGN}|[:=]|{_SIGN}?[-+(]?\d[\d.,'’]*-?[)%]?(?:[€$£¥]|[A-Z]{{3}})?"
)
_MARKED: Final = re.compile(rf"[.,%]|{_SIGN}|^0$")
_WORDY: Final = re.compile(r"[^\W\d_]{2}")
_MONEY_WORDS: Final = frozenset({"rp", "idr", "usd", "eur", "sgd", "gbp", "rs", "inr", "chf", "rm"})


@dataclass(slots=True, unsafe_hash=True)  # not frozen, as boxes
class PrintedNumber:
    """A number on a page."""

    number: Number
    cell: TextCell
    box: Box
    row: int

    @property
    def text(self) -> str:
        return self.cell.text[self.number.start : self.number.end]

    @property
    def is_marked(self) -> bool:
        """Whether it is printed as money is: with a currency, cents or groups of figures."""
        return bool(self.number.currency or set(self.text) & set(".,' \u00a0\u202f"))


def split_rows(page: Page, first: int) -> list[TextRow]:
    """The rows of a page, numbered from `first`; turned text is left out."""
    words = [
        word
        for word in page.words
        if not word.angle and (word.text[:1].isalnum() or not _UNREAD.fullmatch(word.text))
    ]
    upright = [part for word in words for part in _split_glued(word)]
    found: list[TextRow] = []
    for at, row in enumerate(_limit_rows(_join_facing(group_by_level(upright))), first):
        shown, hidden = _separate_layers(row)
        found.append(
            TextRow(tuple(_split_cells(shown, page.number)), page.number, at, tuple(hidden))
        )
    return found


def _join_facing(rows: list[list[Word]]) -> list[list[Word]]:
    """Rows, an amount that stands a little higher or lower than its words put beside them."""
    partners: dict[int, int] = {}
    reached: dict[int, float] = {}
    for at, row in enumerate(rows):
        if not _is_figures(row):
            continue
        beside = [other for other in (at - 1, at + 1) if 0 <= other < len(rows)]
        near = [(_offset(row, rows[other]), other) for other in beside if _faces(row, rows[other])]
        if near and min(near)[0] < reached.get(min(near)[1], FACING):
            reached[min(near)[1]] = min(near)[0]
            partners[min(near)[1]] = at
    taken = set(partners.values())
    return [
        sorted([*row, *rows[partners[at]]], key=lambda word: word.box.x0) if at in partners else row
        for at, row in enumerate(rows)
        if at not in taken
    ]


def _is_figures(row: Sequence[Word]) -> bool:
    """Whether a row is nothing but numbers printed like money, with or without a currency."""
    figures = all(_MONEY_WORD.fullmatch(word.text) for word in row[:MAX_ROW])
    return figures and any(_MARKED.search(word.text) for word in row)


def _faces(row: Sequence[Word], other: Sequence[Word]) -> bool:
    """Whether two rows overlap in height and nowhere else, and the other one has words."""
    if _offset(row, other) >= FACING or _is_figures(other):
        return False
    if not any(_WORDY.search(word.text) for word in other):
        return False
    return not any(one.box.shares_width(two.box) for one in row for two in other[:MAX_ROW])


def _offset(row: Sequence[Word], other: Sequence[Word]) -> float:
    """How far rows lie apart, in heights."""
    one, two = row[0].box, other[0].box
    return abs(one.middle - two.middle) / max(min(one.height, two.height), 1.0)


def _limit_rows(rows: Iterable[list[Word]]) -> Iterator[list[Word]]:
    """Rows, none longer than MAX_ROW."""
    for row in rows:
        yield from (row[at : at + MAX_ROW] for at in range(0, len(row), MAX_ROW))


def _separate_layers(row: list[Word]) -> tuple[list[Word], list[Word]]:
    """A row's words, and those that lie in the same place as one of them: old text under new."""
    shown: list[Word] = []
    hidden: list[Word] = []
    for word in row:
        over = hidden if shown and _covers(shown[-1], word) else shown
        over.append(word)
    return shown, hidden


def _covers(word: Word, other: Word) -> bool:
    """Whether two numbers stand in one place; words may touch without hiding each other."""
    if not _overlaps(word.box, other.box):
        return False
    figures = any(map(str.isdigit, word.text)) and any(map(str.isdigit, other.text))
    return figures or word.text == other.text


def _split_glued(word: Word) -> list[Word]:
    """A word, cut where a number is glued to it (`box1.250,00`)."""
    if len(word.text) <= 5 or word.text.isalpha():
        return [word]
    match = _GLUED.fullmatch(word.text)
    head = (match[1] or match[3]) if match else ""
    if not head or squeeze(head) in _MONEY_WORDS:
        return [word]
    at = len(head)
    x = word.box.x0 + word.box.width * at / len(word.text)
    left, right = replace(word.box, x1=x), replace(word.box, x0=x)
    return [
        replace(word, text=word.text[:at], box=left),
        replace(word, text=word.text[at:], box=right),
    ]


def _split_cells(words: Sequence[Word], page: int) -> list[TextCell]:
    cells: list[list[Word]] = []
    for word in words:
        bullet = word.text in BULLETS or (bool(cells) and cells[-1][-1].text in BULLETS)
        reach = (3 if bullet else 1) * CELL_GAP * word.box.height
        if cells and word.box.x0 - cells[-1][-1].box.x1 < reach:
            cells[-1].append(word)
        else:
            cells.append([word])
    return [make_cell(cell, page) for cell in cells]


def make_sheet(pages: Iterable[Page]) -> TextSheet:
    """All pages laid one under the other."""
    rows: list[TextRow] = []
    sizes: list[tuple[float, float]] = []
    for page in pages:
        rows += split_rows(page, len(rows))
        sizes.append((page.width, page.height))
    usual = median(row.height for row in rows) if rows else 0.0
    return TextSheet(tuple(rows), tuple(sizes), usual)


def find_figures(row: TextRow, mark: DecimalMark) -> list[PrintedNumber]:
    """The numbers of a row, from left to right; two in one place are one with two readings."""
    found: list[PrintedNumber] | None = row.kept.get(mark)
    if found is None:
        found = [
            PrintedNumber(number, cell, cell.place(number.start, number.end), row.index)
            for cell in row.cells
            for number in find_numbers(cell.text, mark)
        ]
        if row.hidden:
            found = [_add_hidden_readings(figure, row.hidden, mark) for figure in found]
        row.kept[mark] = found
    return list(found)


def _add_hidden_readings(
    figure: PrintedNumber, hidden: Sequence[Word], mark: DecimalMark
) -> PrintedNumber:
    under = [word for word in hidden if _overlaps(word.box, figure.box)]
    texts = [*(word.text for word in under), _overlay_text(figure, under)] if under else []
    others = [
        reading
        for text in texts
        for number in find_numbers(text, mark)
        for reading in number.readings
    ]
    readings = tuple(dict.fromkeys((*figure.number.readings, *others)))
    return replace(figure, number=replace(figure.number, readings=readings))


def _overlay_text(figure: PrintedNumber, words: Sequence[Word]) -> str:
    """What lies under a number, completed by it: a figure in both is on the page only once."""
    text, box = figure.text, figure.box
    widths = [NARROW if char in ".,' " else 1.0 for char in text]
    step = box.width / sum(widths)
    ends = [box.x0 + step * sum(widths[: at + 1]) for at in range(len(text))]
    made = dict(enumerate(text))
    for word in words:
        first = sum(end <= word.box.x0 + step / 3 for end in ends)
        made.update({first + at: char for at, char in enumerate(word.text)})
    return "".join(made[at] for at in sorted(made))


def _overlaps(one: Box, other: Box) -> bool:
    shared = min(one.x1, other.x1) - max(one.x0, other.x0)
    return shared > COVERED * (one.x1 - one.x0) or shared > COVERED * (other.x1 - other.x0)
