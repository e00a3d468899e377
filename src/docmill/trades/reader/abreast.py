"""Trades that stand side by side, a column each: the same rows with one trade below the other.

Three rows tell such a table: in every column the numbers of two of them multiply to the third.
"""

from collections.abc import Iterator, Sequence
from decimal import Decimal
from itertools import combinations, pairwise, permutations
from typing import Final

from docmill.reading.labels import TextCell, make_cell
from docmill.reading.pages import Word
from docmill.trades.reader import facts, lexicon
from docmill.trades.reader.deals import is_trivial
from docmill.trades.reader.figures import list_whole_numbers
from docmill.trades.reader.rows import NoteRow, NoteSheet, read_cells

LONGEST: Final = 400  # rows: longer documents are no such notes
MOST: Final = 6  # trades abreast
REACH: Final = 8  # rows above and below the numbers that belong to the table
CLOSELY: Final = Decimal("0.0006")
LEVEL: Final = 4.0  # points: columns start at the same place

Span = tuple[int, int]


def unfold_columns(sheet: NoteSheet) -> NoteSheet:
    """The sheet with trades that stand side by side set below each other."""
    rows = sheet.rows
    table = _find_table(rows) if len(rows) <= LONGEST else None
    if table is None:
        return sheet
    first, last, count = table
    own = [(row, spans) for row in rows[first : last + 1] if (spans := _cut_row(row, count))]
    starts = [row.place(*spans[0]).x0 for row, spans in own]
    columns = [own[0][0].place(*span).x0 for span in own[0][1]]
    level = max(starts) - min(starts) <= LEVEL
    cells = [
        cell
        for at in range(count)
        for row in rows[first : last + 1]
        if (cell := _take_column(row, at, _cut_row(row, count), columns if level else []))
    ]
    whole = [row.cell for row in rows]
    return read_cells([*whole[:first], *cells, *whole[last + 1 :]])


def _find_table(rows: Sequence[NoteRow]) -> tuple[int, int, int] | None:
    """The first row, the last row and the number of columns of such a table."""
    able = [(row, list_whole_numbers(row)) for row in rows if row.text[:1].isalpha()]
    able = [(row, values) for row, values in able if 2 <= len(values) <= MOST]
    for at, (row, values) in enumerate(able):
        near = [one for one in able[at : at + REACH] if len(one[1]) == len(values)]
        near = [one for one in near if one[0].index - row.index <= REACH]
        for three in combinations(near, 3):
            columns = list(zip(*([abs(n.value) for n in one[1]] for one in three), strict=True))
            if any(_multiplies(columns, order) for order in permutations(range(3))):
                indexes = [one[0].index for one in three]
                return *_find_bounds(rows, min(indexes), max(indexes), len(values)), len(values)
    return None


def _multiplies(columns: Sequence[Sequence[Decimal]], order: Sequence[int]) -> bool:
    count, each, total = order
    return count < each and all(
        column[total]
        and not is_trivial(column[count], column[each])
        and abs(column[count] * column[each] - column[total]) <= column[total] * CLOSELY
        for column in columns
    )


def _find_bounds(rows: Sequence[NoteRow], first: int, last: int, count: int) -> Span:
    """From the first to the last row around the numbers that has a value for every column."""
    window = range(max(first - REACH, 0), min(last + REACH, len(rows) - 1) + 1)
    cut = [at for at in window if _cut_row(rows[at], count)]
    return min([first, *cut]), max([last, *cut])


def _cut_row(row: NoteRow, count: int) -> list[Span]:
    """Where the values of a row start and end, if it has one for every column."""
    codes = [match.span() for match in facts.ISIN.finditer(row.text)]
    days = [(day.start, day.end) for day in row.days]
    values = [(_find_figure(row, n.start), n.end) for n in list_whole_numbers(row)]
    for spans in (codes, days, values, _find_directions(row)):
        if len(spans) == count:
            return spans
    return []


def _find_figure(row: NoteRow, start: int) -> int:
    """Where a number starts behind its currency, which may be that of all columns."""
    return next(
        at
        for at in range(start, len(row.text))
        if not row.text[at].isalpha() and row.text[at] != " "
    )


def _find_directions(row: NoteRow) -> list[Span]:
    """Where the words for buying and selling stand."""
    if row.numbers or len(row.plain.split()) != len(row.words):
        return []
    spans: list[Span] = []
    for pattern in (lexicon.BUY, lexicon.SELL):
        for match in pattern.finditer(row.plain):
            at = row.plain[: match.start()].count(" ")
            start = row.cell.starts[at]
            spans.append((start, start + len(row.words[at].text)))
    return sorted(set(spans))


def _take_column(
    row: NoteRow, at: int, spans: Sequence[Span], columns: Sequence[float]
) -> TextCell | None:
    """The label of a row and its value in one column."""
    if spans:
        ends = [start for start, _ in spans[1:]] + [len(row.text)]
        kept = range(spans[at][0], ends[at])
        label = spans[0][0]
        words = [
            word
            for word, start in zip(row.words, row.cell.starts, strict=True)
            if start < label or start in kept
        ]
    else:
        words = list(_take_words(row, at, columns))
    return make_cell(words, row.page, wide=" ") if words else None


def _take_words(row: NoteRow, at: int, columns: Sequence[float]) -> Iterator[Word]:
    """By their place the words of the label and of one column, where columns are level."""
    edges = [*columns, float("inf")]
    for low, high in list(pairwise(edges))[at : at + 1]:
        for word in row.words:
            left = word.box.x0 + LEVEL
            if left < columns[0] or low <= left < high:
                yield word
