"""The heading of a table of lines: which rows it takes, and which columns it names."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final

from docmill.pipelines.invoice.headings import exact, heading
from docmill.pipelines.invoice.layout import Cell, Row, Sheet, cell_of
from docmill.reading.numbers import find
from docmill.reading.pages import Word, around

WORTH: Final = {"quantity": 2.0, "unit_price": 2.0, "amount": 2.0, "gross": 1.0, "description": 1.5}
LEAST: Final = 3.4
_TWO: Final = re.compile(r"(.*[a-zà-ÿ.]|[A-ZÀ-Þ]{3,})([A-ZÀ-Þ].*)")
MAX_WORDS: Final = 5
ROWS_AROUND: Final = 4
LEADING: Final = 1.5  # of the height: how far the rows of one heading lie apart
LARGE: Final = 10_000  # a number that is no year and no code over a column


@dataclass(frozen=True, slots=True)
class Column:
    """A column by its heading. `kind` is empty where the words are unknown."""

    kind: str
    x0: float
    x1: float
    text: str


@dataclass(frozen=True, slots=True)
class Header:
    """A table's heading, from its first row to its last one."""

    columns: tuple[Column, ...]
    page: int
    first: int
    last: int

    @property
    def worth(self) -> float:
        return sum(WORTH.get(kind, 0.5) for kind in self.kinds)

    @property
    def kinds(self) -> frozenset[str]:
        return frozenset(column.kind for column in self.columns if column.kind)

    def has(self, *kinds: str) -> bool:
        return any(kind in self.kinds for kind in kinds)


def headers_of(sheet: Sheet) -> list[Header]:
    """Every heading that can stand over lines, from top to bottom, none inside another."""
    found: list[Header] = []
    for row in sheet.rows:
        if found and row.index <= found[-1].last and row.page == found[-1].page:
            continue
        header = _header(sheet, row)
        if header and header.worth >= LEAST and _names_lines(header):
            found.append(header)
    return found


def _names_lines(header: Header) -> bool:
    money = header.has("amount", "unit_price", "gross")
    return money and header.has("description", "quantity", "unit_price", "position")


def _header(sheet: Sheet, row: Row) -> Header | None:
    """The heading around a row that names two columns or more."""
    words = [word.text for cell in row.cells for word in cell.words]
    if len(words) > 60 or sum(bool(heading(word)) for word in words) < 2:
        return None
    anchors = list(_named(row))
    if len({column.kind for column, _ in anchors if column.kind}) < 2 or _numeric(row, sheet):
        return None
    first, last = row.index, row.index
    columns = [(column, [(row.index, cell)]) for column, cell in anchors]
    for step in (-1, 1):
        at = row.index + step
        while _joins(sheet, at, at - step, row):
            for piece in (piece for cell in sheet.rows[at].cells for piece in _several(cell)):
                _stack(columns, at, piece)
            first, last = min(first, at), max(last, at)
            at += step
    made = sorted((_column(*pair) for pair in columns), key=lambda column: column.x0)
    return Header(tuple(made), row.page, first, last)


def _numeric(row: Row, sheet: Sheet) -> bool:
    numbers = [number for cell in row.cells for number in find(cell.text, sheet.mark)]
    large = any(number.value >= LARGE for number in numbers if not number.percent)
    return large or sum(not number.percent for number in numbers) > 1


def _named(row: Row) -> Iterator[tuple[Column, Cell]]:
    """The parts of a row that are headings, and what is left between them."""
    for cell in row.cells:
        yield from _parts(cell)


def _parts(cell: Cell) -> list[tuple[Column, Cell]]:
    """A cell cut at wide gaps, then into known headings; the whole where it is one."""
    return [part for piece in _pieces(cell) for part in _headings(piece)]


def _pieces(cell: Cell) -> list[Cell]:
    pieces: list[list[Word]] = [[]]
    for word, at in zip(cell.words, cell.starts, strict=True):
        if cell.text[:at].endswith("  "):
            pieces.append([])
        pieces[-1].append(word)
    return [cell_of(words, cell.page) for words in pieces] if len(pieces) > 1 else [cell]


def _several(cell: Cell) -> list[Cell]:
    """The pieces of a cell, one that names several columns cut into them."""
    found: list[Cell] = []
    for piece in _pieces(cell):
        parts = _headings(piece)
        known = {column.kind for column, _ in parts}
        found += [part for _, part in parts] if len(known) > 1 and "" not in known else [piece]
    return found


def _headings(cell: Cell) -> list[tuple[Column, Cell]]:
    whole = heading(cell.text)
    parts = _cut(cell_of([part for word in cell.words for part in _halves(word)], cell.page))
    kinds = {column.kind for column, _ in parts}
    other = kinds - {"", "position", "unit", whole}
    if whole and (exact(cell.text) or "/" in cell.text or len(kinds - {""}) < 2 or not other):
        return [(Column(whole, cell.box.x0, cell.box.x1, cell.text), cell)]
    return parts


def _cut(cell: Cell) -> list[tuple[Column, Cell]]:
    parts: list[tuple[Column, Cell]] = []
    words, at, unknown = cell.words, 0, list[Word]()
    while at < len(words):
        size, kind = _longest(cell, at)
        if not kind:
            unknown.append(words[at])
            at += 1
            continue
        parts += _unknown(unknown, cell.page)
        unknown = []
        part = cell_of(words[at : at + size], cell.page)
        parts.append((Column(kind, part.box.x0, part.box.x1, part.text), part))
        at += size
    return [*parts, *_unknown(unknown, cell.page)]


def _halves(word: Word) -> list[Word]:
    """Two headings without a space between them (`PriceDiscount`) as two words."""
    match = _TWO.fullmatch(word.text)
    if not match or exact(word.text) or not (heading(match[1]) and heading(match[2])):
        return [word]
    x = word.box.x0 + word.box.width * len(match[1]) / len(word.text)
    return [Word(match[1], replace(word.box, x1=x)), Word(match[2], replace(word.box, x0=x))]


def _longest(cell: Cell, at: int) -> tuple[int, str]:
    for size in range(min(MAX_WORDS, len(cell.words) - at), 0, -1):
        kind = exact(" ".join(word.text for word in cell.words[at : at + size]))
        if kind:
            return size, kind
    return 1, ""


def _unknown(words: list[Word], page: int) -> Iterator[tuple[Column, Cell]]:
    if words:
        cell = cell_of(words, page)
        yield Column("", cell.box.x0, cell.box.x1, cell.text), cell


def _joins(sheet: Sheet, at: int, before: int, anchor: Row) -> bool:
    """Whether a row belongs to the heading: next to it, wordy, and not a label with its value."""
    if not 0 <= at < len(sheet.rows) or abs(at - anchor.index) > ROWS_AROUND:
        return False
    row, last = sheet.rows[at], sheet.rows[before]
    if row.page != anchor.page or abs(row.y - last.y) > LEADING * max(row.height, last.height):
        return False
    words = [word for cell in row.cells for word in cell.words]
    short = all(cell.box.width < 160 for cell in row.cells) and len(words) <= 16
    return short and not any(char.isdigit() or char == ":" for word in words for char in word.text)


Stack = list[tuple[Column, list[tuple[int, Cell]]]]


def _stack(columns: Stack, at: int, cell: Cell) -> None:
    """Put a cell over or under the one column it shares width with; else it is a new column."""
    over = [
        index
        for index, (column, _) in enumerate(columns)
        if cell.box.x0 < column.x1 and cell.box.x1 > column.x0
    ]
    if len(over) == 1:
        column, cells = columns[over[0]]
        box = around([cell.box, *(other.box for _, other in cells)])
        columns[over[0]] = (Column(column.kind, box.x0, box.x1, ""), [*cells, (at, cell)])
    elif not over:
        kind = heading(cell.text)
        columns.append((Column(kind, cell.box.x0, cell.box.x1, ""), [(at, cell)]))


def _column(column: Column, cells: Iterable[tuple[int, Cell]]) -> Column:
    """A column with the kind that its stacked words give it, all of them or some."""
    texts = [cell.text for _, cell in sorted(cells, key=lambda pair: pair[0])]
    joined = " ".join(texts)
    whole = heading(joined) or heading("".join(text.rstrip("-") for text in texts))
    some = next((kind for kind in map(heading, texts) if kind), "")
    parts = [
        heading(" ".join(texts[start:end]))
        for start in range(len(texts))
        for end in range(len(texts), start + 1, -1)
    ]
    kind = whole or next((kind for kind in parts if kind), "") or column.kind or some
    return Column(kind, column.x0, column.x1, joined)
