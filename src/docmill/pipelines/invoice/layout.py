"""Pages as rows of cells, across columns: labels and values are found by where they stand."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Final

from docmill.pipelines.invoice.lexicon import fold
from docmill.reading.numbers import Mark, Number, find
from docmill.reading.pages import Box, Page, Word, around

SAME_ROW: Final = 0.4  # of the height: how far middles on one row may lie apart
CELL_GAP: Final = 0.75
COVERED: Final = 0.6  # of the narrower word: so much in one place is one over the other
WIDE_SPACE: Final = 0.6
NARROW: Final = 0.5  # how wide a mark is beside a figure
BULLETS: Final = frozenset("·•|●∙◦▪–—")
_AMOUNT: Final = r"(?:\d{1,3}(?:[.,]\d{3})+(?:[.,]\d{2})?|\d+[.,]\d{2})(?:,-)?"
_GLUED: Final = re.compile(
    rf"([^\W\d_]{{2,}}|\d{{1,2}}(?:[.,]\d+)?%)({_AMOUNT})"
    rf"|([^\W\d_]{{2,}}|\d{{1,2}}%?)((?:Rp\.?|IDR|USD|EUR|[€$£]){_AMOUNT})"
)
_RULE: Final = re.compile(r"[._=-]{4,}")  # leaders and rules drawn with characters
_MONEY_WORDS: Final = frozenset({"rp", "idr", "usd", "eur", "sgd", "gbp", "rs", "inr", "chf", "rm"})
BELOW: Final = 2.2  # of the height: how far under a label its value may start


@dataclass(frozen=True, slots=True)
class Cell:
    """Words of one row with no wide gap between them."""

    words: tuple[Word, ...]
    page: int
    box: Box
    text: str
    starts: tuple[int, ...]

    def place(self, start: int, end: int) -> Box:
        """The box of a part of the text; of half a word, the half by its share of letters."""
        boxes: list[Box] = []
        for word, at in zip(self.words, self.starts, strict=True):
            first, last = max(start, at), min(end, at + len(word.text))
            if first < last:
                step = word.box.width / len(word.text)
                left, right = word.box.x0 + step * (first - at), word.box.x0 + step * (last - at)
                boxes.append(Box(left, word.box.y0, right, word.box.y1))
        return around(boxes) if boxes else self.box

    def part(self, start: int, end: int) -> "Cell | None":
        """The words from character to character, as a cell of its own."""
        kept = [
            (word, at)
            for word, at in zip(self.words, self.starts, strict=True)
            if at >= start and at + len(word.text) <= end
        ]
        return cell_of([word for word, _ in kept], self.page) if kept else None


@dataclass(frozen=True, slots=True)
class Row:
    """Cells on one level of one page, from left to right."""

    cells: tuple[Cell, ...]
    page: int
    index: int
    hidden: tuple[Word, ...] = ()

    @property
    def y(self) -> float:
        return self.cells[0].box.middle if self.cells else 0.0

    @property
    def height(self) -> float:
        return self.cells[0].box.height if self.cells else 0.0

    @property
    def text(self) -> str:
        return "  ".join(cell.text for cell in self.cells)


@dataclass(frozen=True, slots=True)
class Sheet:
    """All rows of a document, its decimal mark, and whether its dates put the month first."""

    rows: tuple[Row, ...]
    sizes: tuple[tuple[float, float], ...]
    usual_height: float = 0.0
    mark: Mark = ""
    month_first: bool = False

    @property
    def cells(self) -> Iterable[tuple[Row, int, Cell]]:
        for row in self.rows:
            for column, cell in enumerate(row.cells):
                yield row, column, cell

    def height(self, page: int) -> float:
        return self.sizes[page - 1][1]

    def width(self, page: int) -> float:
        return self.sizes[page - 1][0]


@dataclass(frozen=True, slots=True)
class Figure:
    """A number on a page."""

    number: Number
    cell: Cell
    box: Box
    row: int

    @property
    def text(self) -> str:
        return self.cell.text[self.number.start : self.number.end]


def cell_of(words: Sequence[Word], page: int) -> Cell:
    """A cell; a space too wide to stand inside a number is written twice."""
    text, starts = "", list[int]()
    for index, word in enumerate(words):
        if index:
            gap = word.box.x0 - words[index - 1].box.x1
            text += "  " if gap > WIDE_SPACE * word.box.height else " "
        starts.append(len(text))
        text += word.text
    return Cell(tuple(words), page, around([word.box for word in words]), text, tuple(starts))


def rows_of(page: Page, first: int) -> list[Row]:
    """The rows of a page, numbered from `first`; turned text is left out."""
    rows: list[list[Word]] = []
    words = [word for word in page.words if not word.angle and not _RULE.fullmatch(word.text)]
    upright = [part for word in words for part in _parted(word)]
    for word in sorted(upright, key=lambda word: (word.box.middle, word.box.x0)):
        top = rows[-1][0].box if rows else None
        reach = max(SAME_ROW * min(top.height, word.box.height), 0.5) if top else 0
        if top and word.box.middle - top.middle <= reach:
            rows[-1].append(word)
        else:
            rows.append([word])
    found: list[Row] = []
    for at, row in enumerate(rows, first):
        shown, hidden = _parted_layers(sorted(row, key=lambda word: word.box.x0))
        found.append(Row(tuple(_cells(shown, page.number)), page.number, at, tuple(hidden)))
    return found


def _parted_layers(row: list[Word]) -> tuple[list[Word], list[Word]]:
    """A row's words, and those that lie in the same place as one of them: old text under new."""
    shown: list[Word] = []
    hidden: list[Word] = []
    for word in row:
        over = hidden if shown and _covers(shown[-1], word) else shown
        over.append(word)
    return shown, hidden


def _covers(word: Word, other: Word) -> bool:
    """Whether two numbers stand in one place; words may touch without hiding each other."""
    figures = any(c.isdigit() for c in word.text) and any(c.isdigit() for c in other.text)
    return (figures or word.text == other.text) and _overlap(word.box, other.box)


def _parted(word: Word) -> list[Word]:
    """A word, cut where a number is glued to it (`box1.250,00`)."""
    match = _GLUED.fullmatch(word.text) if len(word.text) > 5 else None
    head = (match[1] or match[3]) if match else ""
    if not head or fold(head) in _MONEY_WORDS:
        return [word]
    at = len(head)
    x = word.box.x0 + word.box.width * at / len(word.text)
    left, right = replace(word.box, x1=x), replace(word.box, x0=x)
    return [
        replace(word, text=word.text[:at], box=left),
        replace(word, text=word.text[at:], box=right),
    ]


def _cells(words: Sequence[Word], page: int) -> list[Cell]:
    cells: list[list[Word]] = []
    for word in words:
        bullet = word.text in BULLETS or (bool(cells) and cells[-1][-1].text in BULLETS)
        reach = (3 if bullet else 1) * CELL_GAP * word.box.height
        if cells and word.box.x0 - cells[-1][-1].box.x1 < reach:
            cells[-1].append(word)
        else:
            cells.append([word])
    return [cell_of(cell, page) for cell in cells]


def sheet_of(pages: Iterable[Page]) -> Sheet:
    """All pages laid one under the other."""
    rows: list[Row] = []
    sizes: list[tuple[float, float]] = []
    for page in pages:
        rows += rows_of(page, len(rows))
        sizes.append((page.width, page.height))
    usual = median(row.height for row in rows) if rows else 0.0
    return Sheet(tuple(rows), tuple(sizes), usual)


def figures(row: Row, mark: Mark) -> list[Figure]:
    """The numbers of a row, from left to right; two in one place are one with two readings."""
    found = [
        Figure(number, cell, cell.place(number.start, number.end), row.index)
        for cell in row.cells
        for number in find(cell.text, mark)
    ]
    return [_with_hidden(figure, row.hidden, mark) for figure in found] if row.hidden else found


def _with_hidden(figure: Figure, hidden: Sequence[Word], mark: Mark) -> Figure:
    under = [word for word in hidden if _overlap(word.box, figure.box)]
    texts = [*(word.text for word in under), _laid_over(figure, under)] if under else []
    others = [
        reading for text in texts for number in find(text, mark) for reading in number.readings
    ]
    readings = tuple(dict.fromkeys((*figure.number.readings, *others)))
    return replace(figure, number=replace(figure.number, readings=readings))


def _laid_over(figure: Figure, words: Sequence[Word]) -> str:
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


def _overlap(one: Box, other: Box) -> bool:
    shared = min(one.x1, other.x1) - max(one.x0, other.x0)
    return shared > COVERED * min(one.width, other.width)


def beneath(sheet: Sheet, row: Row, box: Box, reach: float = BELOW) -> list[tuple[Row, Cell]]:
    """Cells under a box on its page, nearest first, that share some of its width."""
    found: list[tuple[Row, Cell]] = []
    for other in sheet.rows[row.index + 1 : row.index + 16]:
        if other.page != row.page or other.y - box.middle > reach * box.height:
            break
        for cell in other.cells:
            lower = cell.box.middle > box.middle + 0.4 * box.height
            if lower and cell.box.x0 < box.x1 and cell.box.x1 > box.x0:
                found.append((other, cell))
    return found
