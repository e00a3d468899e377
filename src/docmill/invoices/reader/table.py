"""The heading of a table of lines, its columns, and the numbers in them."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Final

from docmill.invoices.fields import LINE_FIELDS
from docmill.invoices.reader.headings import PIECES, exact_kind, heading_kind
from docmill.invoices.reader.layout import PrintedNumber, find_figures
from docmill.reading.labels import TextCell, TextRow, TextSheet, make_cell
from docmill.reading.numbers import (
    DecimalMark,
    Number,
    find_numbers,
    has_figure,
    interpret_digits,
)
from docmill.reading.pages import Word, bounding_box

WORTH: Final = {"quantity": 2.0, "unit_price": 2.0, "amount": 2.0, "gross": 1.0, "description": 1.5}
LEAST: Final = 3.4
_TWO: Final = re.compile(r"(.*[a-zà-ÿ.]|[A-ZÀ-Þ]{3,})([A-ZÀ-Þ].*)")
MAX_WORDS_JOINED: Final = 5
ROWS_AROUND: Final = 4
LEADING: Final = 1.5  # of the height: how far the rows of one heading lie apart
LARGE: Final = 10_000  # a number that is no year and no code over a column


@dataclass(slots=True, unsafe_hash=True)  # not frozen, as boxes
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


def find_headers(sheet: TextSheet, *, loose: bool = False) -> list[Header]:
    """Every heading that can stand over lines, from top to bottom, none inside another.

    A `loose` one may be nothing but words over amounts.
    """
    found: list[Header] = []
    for row in sheet.rows:
        if found and row.index <= found[-1].last and row.page == found[-1].page:
            continue
        header = _read_header(sheet, row)
        if not (header and header.worth >= LEAST and _names_lines(header)):
            header = _read_loosely(row) if loose else None
        if header:
            found.append(header)
    return found


def _read_loosely(row: TextRow) -> Header | None:
    """A row of words without a figure whose last one heads amounts."""
    if len(row.cells) < 2 or has_figure(row.text) or any(map(_is_sentence, row.cells)):
        return None
    columns = [
        Column(heading_kind(cell.text), cell.box.x0, cell.box.x1, cell.text) for cell in row.cells
    ]
    money = columns[-1].kind in {"amount", "gross"}
    return Header(tuple(columns), row.page, row.index, row.index) if money else None


def _names_lines(header: Header) -> bool:
    money = header.has("amount", "unit_price", "gross")
    return money and header.has("description", "quantity", "unit_price", "position")


SENTENCE: Final = 10  # words
PRICES: Final = 2  # columns: that of one piece, and that of all


def _read_header(sheet: TextSheet, row: TextRow) -> Header | None:
    """The heading around a row that names two columns or more."""
    words = [word.text for cell in row.cells for word in cell.words]
    if len(words) > 60 or sum([bool(heading_kind(word)) for word in words]) < 2:
        return None
    if any(map(_is_sentence, row.cells)):
        return None
    anchors = [part for cell in row.cells for part in _split_cell(cell)]
    if len({column.kind for column, _ in anchors if column.kind}) < 2 or _is_numeric(row, sheet):
        return None
    first, last = row.index, row.index
    columns = [(column, [(row.index, cell)]) for column, cell in anchors]
    for step in (-1, 1):
        at = row.index + step
        while _joins(sheet, at, at - step, row):
            for piece in (piece for cell in sheet.rows[at].cells for piece in _split_columns(cell)):
                _stack(columns, at, piece)
            first, last = min(first, at), max(last, at)
            at += step
    made = sorted((_make_column(*pair) for pair in columns), key=lambda column: column.x0)
    return Header(_settle_kinds(made), row.page, first, last)


def _is_sentence(cell: TextCell) -> bool:
    """Whether a cell is a line of prose that happens to have words of headings in it."""
    words = [word.text for word in cell.words]
    small = sum(word[:1].islower() for word in words)
    return len(words) >= SENTENCE and 4 * small > 3 * len(words)


def _settle_kinds(columns: Sequence[Column]) -> tuple[Column, ...]:
    """Columns, one that is called units the quantity where no other is.

    Of two prices before a gross sum, and no amount, the second is the amount.
    """
    kinds = [column.kind for column in columns]
    if "quantity" not in kinds:
        kinds = ["quantity" if kind == "unit" else kind for kind in kinds]
    if "amount" not in kinds and "gross" in kinds and kinds.count("unit_price") == PRICES:
        last = len(kinds) - 1 - kinds[::-1].index("unit_price")
        kinds[last] = "amount"
    kinds = _settle_taxed(kinds)
    return tuple(
        column if column.kind == kind else replace(column, kind=kind)
        for column, kind in zip(columns, kinds, strict=True)
    )


def _settle_taxed(kinds: list[str]) -> list[str]:
    """Kinds with what stands on both sides of a tax, beside no price: without it, and with it."""
    at = next((at for at, kind in enumerate(kinds) if kind in {"tax_rate", "tax_amount"}), 0)
    if not 0 < at < len(kinds) - 1 or {"quantity", "unit_price"} & set(kinds):
        return kinds
    sides = (kinds[at - 1], kinds[at + 1])
    if sides in {("amount", "amount"), ("", "gross")} and kinds.count("amount") in {0, 2}:
        return [*kinds[: at - 1], "amount", kinds[at], "gross", *kinds[at + 2 :]]
    return kinds


def _is_numeric(row: TextRow, sheet: TextSheet) -> bool:
    numbers = [number for cell in row.cells for number in find_numbers(cell.text, sheet.mark)]
    large = any(number.value >= LARGE for number in numbers if not number.percent)
    return large or sum(not number.percent for number in numbers) > 1


def _split_cell(cell: TextCell) -> list[tuple[Column, TextCell]]:
    """A cell cut at wide gaps, then into known headings; the whole where it is one."""
    return [part for piece in _split_at_gaps(cell) for part in _recognize_headings(piece)]


def _split_at_gaps(cell: TextCell) -> list[TextCell]:
    pieces: list[list[Word]] = [[]]
    for word, at in zip(cell.words, cell.starts, strict=True):
        if cell.text[:at].endswith("  "):
            pieces.append([])
        pieces[-1].append(word)
    return [make_cell(words, cell.page) for words in pieces] if len(pieces) > 1 else [cell]


def _split_columns(cell: TextCell) -> list[TextCell]:
    """The pieces of a cell, one that names several columns cut into them."""
    found: list[TextCell] = []
    for piece in _split_at_gaps(cell):
        parts = _recognize_headings(piece)
        known = {column.kind for column, _ in parts}
        found += [part for _, part in parts] if len(known) > 1 and "" not in known else [piece]
    return found


def _recognize_headings(cell: TextCell) -> list[tuple[Column, TextCell]]:
    whole = heading_kind(cell.text)
    parts = _cut_at_headings(
        make_cell([part for word in cell.words for part in _split_word(word)], cell.page)
    )
    kinds = {column.kind for column, _ in parts}
    other = kinds - {"", "position", "unit", whole}
    if whole and (exact_kind(cell.text) or "/" in cell.text or len(kinds - {""}) < 2 or not other):
        return [(Column(whole, cell.box.x0, cell.box.x1, cell.text), cell)]
    return parts


def _cut_at_headings(cell: TextCell) -> list[tuple[Column, TextCell]]:
    parts: list[tuple[Column, TextCell]] = []
    words, at, unknown = cell.words, 0, list[Word]()
    while at < len(words):
        size, kind = _longest_heading(cell, at)
        if not kind:
            unknown.append(words[at])
            at += 1
            continue
        parts += _unnamed_column(unknown, cell.page)
        unknown = []
        part = make_cell(words[at : at + size], cell.page)
        parts.append((Column(kind, part.box.x0, part.box.x1, part.text), part))
        at += size
    return [*parts, *_unnamed_column(unknown, cell.page)]


def _split_word(word: Word) -> list[Word]:
    """Two headings without a space between them (`PriceDiscount`) as two words."""
    match = _TWO.fullmatch(word.text)
    if (
        not match
        or exact_kind(word.text)
        or not (heading_kind(match[1]) and heading_kind(match[2]))
    ):
        return [word]
    x = word.box.x0 + word.box.width * len(match[1]) / len(word.text)
    return [Word(match[1], replace(word.box, x1=x)), Word(match[2], replace(word.box, x0=x))]


def _longest_heading(cell: TextCell, at: int) -> tuple[int, str]:
    for size in range(min(MAX_WORDS_JOINED, len(cell.words) - at), 0, -1):
        kind = exact_kind(" ".join([word.text for word in cell.words[at : at + size]]))
        if kind:
            return size, kind
    return 1, ""


def _unnamed_column(words: list[Word], page: int) -> Iterator[tuple[Column, TextCell]]:
    if words:
        cell = make_cell(words, page)
        yield Column("", cell.box.x0, cell.box.x1, cell.text), cell


def _joins(sheet: TextSheet, at: int, before: int, anchor: TextRow) -> bool:
    """Whether a row belongs to the heading: next to it, wordy, and not a label with its value."""
    if not 0 <= at < len(sheet.rows) or abs(at - anchor.index) > ROWS_AROUND:
        return False
    row, last = sheet.rows[at], sheet.rows[before]
    if row.page != anchor.page or abs(row.y - last.y) > LEADING * max(row.height, last.height):
        return False
    words = [word for cell in row.cells for word in cell.words]
    short = all(cell.box.width < 160 for cell in row.cells) and len(words) <= 16
    texts = [PIECES.sub("", cell.text) for cell in row.cells]
    return short and not any(char.isdigit() or char == ":" for text in texts for char in text)


Stack = list[tuple[Column, list[tuple[int, TextCell]]]]


def _stack(columns: Stack, at: int, cell: TextCell) -> None:
    """Put a cell over or under the one column it shares width with; else it is a new column."""
    over = [
        index
        for index, (column, _) in enumerate(columns)
        if cell.box.x0 < column.x1 and cell.box.x1 > column.x0
    ]
    if len(over) == 1:
        column, cells = columns[over[0]]
        box = bounding_box([cell.box, *(other.box for _, other in cells)])
        columns[over[0]] = (Column(column.kind, box.x0, box.x1, ""), [*cells, (at, cell)])
    elif not over:
        kind = heading_kind(cell.text)
        columns.append((Column(kind, cell.box.x0, cell.box.x1, ""), [(at, cell)]))


def _make_column(column: Column, cells: Iterable[tuple[int, TextCell]]) -> Column:
    """A column with the kind that its stacked words give it, all of them or some."""
    texts = [cell.text for _, cell in sorted(cells, key=lambda pair: pair[0])]
    joined = " ".join(texts)
    whole = heading_kind(joined) or heading_kind("".join(text.rstrip("-") for text in texts))
    some = next((kind for kind in map(heading_kind, texts) if kind), "")
    parts = [
        heading_kind(" ".join(texts[start:end]))
        for start in range(len(texts))
        for end in range(len(texts), start + 1, -1)
    ]
    kind = whole or next((kind for kind in parts if kind), "") or column.kind or some
    return Column(kind, column.x0, column.x1, joined)


FAR: Final = 45.0
LEFT_OUT: Final = 14.0
FULL: Final = 0.75  # of the most numbers that a row has: so many make one that tells of columns
ALONE: Final = 9.0  # the cost of a number that is between a column's neighbours
WORDY: Final = frozenset(
    {"date", *(field.name for field in LINE_FIELDS if field.read and not field.is_number)}
)
_COUNTED: Final = re.compile(r"\d{1,6}(?:[.,]\d{1,3})?[^\W\d_]{1,6}\.?")  # glued to its unit
_PERCENT: Final = frozenset({"discount", "tax_rate", ""})


@dataclass(frozen=True, slots=True)
class ColumnEdges:
    """Where the numbers of a column start and end, as far as known."""

    x0: float
    x1: float


@dataclass(frozen=True, slots=True)
class PlacedRow:
    """A row of a table: its numbers by the column they stand in, and those in none."""

    row: TextRow
    numbers: dict[int, PrintedNumber]
    loose: tuple[PrintedNumber, ...]

    def figure_of(self, header: Header, kind: str) -> PrintedNumber | None:
        """The number in the last column of a kind."""
        columns, last = header.columns, -1
        for index in self.numbers:
            if index > last and columns[index].kind == kind:
                last = index
        return self.numbers[last] if last >= 0 else None


FittedFigure = tuple[PrintedNumber, list[int]]


def place_numbers(header: Header, rows: Sequence[TextRow], mark: DecimalMark) -> list[PlacedRow]:
    """Every row with its numbers in their columns: by the headings, then by each other's edges."""
    edges: dict[int, ColumnEdges] = {}
    placed: list[PlacedRow] = []
    found = [(row, _fit_columns(header, row, mark)) for row in rows]
    for _ in range(2):
        placed = [_place_row(header, row, figures, edges) for row, figures in found]
        edges = _measure_edges(placed)
    return placed


def _fit_columns(header: Header, row: TextRow, mark: DecimalMark) -> list[FittedFigure]:
    """The numbers of a row, each with the columns whose kind it is of."""
    wordless = [
        (index, column) for index, column in enumerate(header.columns) if column.kind not in WORDY
    ]
    return [
        (figure, [index for index, column in wordless if _kind_fits(column, figure)])
        for figure in _find_counts(row, find_figures(row, mark))
    ]


def _find_counts(row: TextRow, found: list[PrintedNumber]) -> list[PrintedNumber]:
    """The numbers of a row, with cells like `3pcs`."""
    glued = [cell for cell in row.cells if _COUNTED.fullmatch(cell.text)]
    if not glued:
        return found
    counts: list[PrintedNumber] = []
    for cell in glued:
        end = next(at for at, char in enumerate(cell.text) if char.isalpha())
        number = Number(interpret_digits(cell.text[:end].strip()), 0, end)
        if number.readings and not any(figure.cell is cell for figure in found):
            counts.append(PrintedNumber(number, cell, cell.place(0, end), row.index))
    return sorted([*found, *counts], key=lambda figure: figure.box.x0)


def _measure_edges(placed: Sequence[PlacedRow]) -> dict[int, ColumnEdges]:
    """Of each column, by the rows that have most numbers: a foot may stand elsewhere."""
    several = [row for row in placed if len(row.numbers) > 1]
    most = max((len(row.numbers) for row in several), default=0)
    full = [row for row in several if len(row.numbers) >= FULL * most]
    inside = _list_columns(full)
    more = _list_columns(several or placed)
    inside |= {index: found for index, found in more.items() if len(inside.get(index, ())) < 2}
    return {
        index: ColumnEdges(median(f.box.x0 for f in found), median(f.box.x1 for f in found))
        for index, found in inside.items()
        if len(found) > 1
    }


def _list_columns(placed: Sequence[PlacedRow]) -> dict[int, list[PrintedNumber]]:
    """The numbers of each column."""
    inside: dict[int, list[PrintedNumber]] = {}
    for row in placed:
        for index, figure in row.numbers.items():
            inside.setdefault(index, []).append(figure)
    return inside


def _place_row(
    header: Header, row: TextRow, fitted: list[FittedFigure], edges: dict[int, ColumnEdges]
) -> PlacedRow:
    """The cheapest way to put a row's numbers into columns from left to right.

    What costs no less than to leave a number out is no option, and most numbers have one.
    """
    found = [figure for figure, _ in fitted]
    options = [
        {
            index: cost
            for index in fits
            if (cost := _misfit(header, index, figure, edges.get(index))) < LEFT_OUT
        }
        for figure, fits in fitted
    ]
    places = [index for option in options for index in option]
    plain = all(len(option) < 2 for option in options) and places == sorted(set(places))
    if not plain:
        return _choose_places(row, found, options, len(header.columns))
    pairs = list(zip(reversed(found), reversed(options), strict=True))
    numbers = {index: figure for figure, option in pairs for index in option}
    return PlacedRow(row, numbers, tuple(figure for figure, option in pairs if not option))


def _choose_places(
    row: TextRow, found: list[PrintedNumber], options: list[dict[int, float]], width: int
) -> PlacedRow:
    """A row whose numbers have several columns to choose from, or the same one."""
    costs = [[option.get(index, FAR * 4) for index in range(width)] for option in options]
    table = [[0.0] * (width + 1) for _ in range(len(found) + 1)]
    for at in range(1, len(found) + 1):
        above, own, cost = table[at - 1], table[at], costs[at - 1]
        own[0] = at * LEFT_OUT
        for index in range(1, width + 1):
            best, left_out = own[index - 1], above[index] + LEFT_OUT
            placed = above[index - 1] + cost[index - 1]
            best = min(best, left_out)
            own[index] = min(best, placed)
    return _trace_back(row, found, costs, table)


def _trace_back(
    row: TextRow, found: list[PrintedNumber], costs: list[list[float]], table: list[list[float]]
) -> PlacedRow:
    numbers: dict[int, PrintedNumber] = {}
    loose: list[PrintedNumber] = []
    at, index = len(found), len(table[0]) - 1
    while at:
        if index and table[at][index] == table[at][index - 1]:
            index -= 1
        elif index and table[at][index] == table[at - 1][index - 1] + costs[at - 1][index - 1]:
            numbers[index - 1] = found[at - 1]
            at, index = at - 1, index - 1
        else:
            loose.append(found[at - 1])
            at -= 1
    return PlacedRow(row, numbers, tuple(loose))


def _misfit(header: Header, index: int, figure: PrintedNumber, edges: ColumnEdges | None) -> float:
    """How badly a number fits a column of its kind."""
    column = header.columns[index]
    x0, x1, left, right = figure.box.x0, figure.box.x1, column.x0, column.x1
    off = min(abs(x0 - left), abs(x1 - right), abs(x0 + x1 - left - right) / 2)
    if edges:
        off = min(abs(x1 - edges.x1), abs(x0 - edges.x0)) + min(off, 3.0) / 3
        apart = max(edges.x0 - x1, x0 - edges.x1, 0.0)
    else:
        apart = max(left - x1, x0 - right, 0.0)
    cost = off / 3 + apart
    inside = left - 2 <= (x0 + x1) / 2 <= right + 2
    if inside and cost < FAR:
        return min(cost, 6.0)
    if not edges and _is_in_slot(header, index, figure):
        return min(cost, ALONE)
    return cost if cost < FAR else FAR * 4


def _is_in_slot(header: Header, index: int, figure: PrintedNumber) -> bool:
    """Whether a number stands under no other heading between this column's neighbours.

    Beside words only a cell that is nothing but the number does: words have numbers in them.
    """
    columns, box = header.columns, figure.box
    left = columns[index - 1] if index else None
    right = columns[index + 1] if index + 1 < len(columns) else None
    if right and box.x1 > right.x0 + 1:
        return False
    if left and box.x0 < min(left.x1, columns[index].x0) - 2:
        return False
    beside_words = left is None or left.kind in WORDY
    counted = columns[index].kind == "quantity" and left is None
    bare = len(figure.text) == len(figure.cell.text) and (counted or not figure.text.isdigit())
    after = columns[index].x0 if beside_words and not bare else left.x1 if left else box.x0
    return box.x0 >= after - 2


def _kind_fits(column: Column, figure: PrintedNumber) -> bool:
    number = figure.number
    if number.percent:
        return column.kind in _PERCENT
    if figure.cell.text[number.end : number.end + 1].isalpha():
        return column.kind == "quantity"
    if column.kind == "position":
        return (
            number.value == int(number.value) and 0 <= number.value < 10000 and not number.currency
        )
    return not (number.currency and column.kind in {"quantity", "tax_rate"})
