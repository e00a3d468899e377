"""Tables whose rules are drawn: the rules that touch make a grid, and words fall into its cells."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise, product
from typing import Final

import numpy as np
from numpy.typing import NDArray

from docmill.reading.pages import Box, Page, Word
from docmill.reading.tables.grid import Band, find_bands, group_rows, words_by_column
from docmill.reading.tables.model import CellSlot, PageTable, assemble, upright_lines

SNAP: Final = 3.0  # points within which rules count as one, and ends as touching
MAX_RULES: Final = 1200
MAX_SIDE: Final = 400  # cells in one direction
MANY_LINES: Final = 3
GUTTER: Final = 0.6  # of the height

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class RuleLines:
    """Rules of one direction: where each lies across it, and from where to where along it."""

    at: Floats
    start: Floats
    end: Floats

    def only(self, chosen: Flags) -> "RuleLines":
        return RuleLines(self.at[chosen], self.start[chosen], self.end[chosen])

    def parts(self, levels: Floats, middles: Floats) -> Flags:
        """For each level and each middle along it: whether a rule is there."""
        there = (self.start[:, None] <= middles) & (middles <= self.end[:, None])
        return np.array([there[self.at == level].any(0) for level in levels])


def find_ruled_tables(page: Page) -> list[PageTable]:
    """The tables that rules frame on a page, from top to bottom."""
    level, steep = join_rules(page.rules, steep=False), join_rules(page.rules, steep=True)
    if not (2 <= len(level.at) <= MAX_RULES and 2 <= len(steep.at) <= MAX_RULES):
        return []
    words = [word for line in upright_lines(page) for word in line.words]
    found = [_make_table(rows, columns, words) for rows, columns in _group_touching(level, steep)]
    tables = [table for table in found if table and table.rows > 1 and table.is_filled]
    return sorted(tables, key=lambda table: (table.box.y0, table.box.x0))


def join_rules(rules: Sequence[Box], *, steep: bool) -> RuleLines:
    """Rules of one direction, pieces of one rule put together."""
    found = [
        (rule.x0, rule.y0, rule.y1) if steep else (rule.y0, rule.x0, rule.x1)
        for rule in rules
        if (rule.height > rule.width) == steep
    ]
    joined: list[list[float]] = []
    for at, start, end in sorted(_snap_together(found)):
        last = joined[-1] if joined else None
        if last and at == last[0] and start <= last[2] + SNAP:
            last[2] = max(last[2], end)
        else:
            joined.append([at, start, end])
    array = np.array(joined, np.float64).reshape(-1, 3)
    return RuleLines(array[:, 0], array[:, 1], array[:, 2])


def _snap_together(
    found: Sequence[tuple[float, float, float]],
) -> Iterator[tuple[float, float, float]]:
    """With rules that lie close together moved onto the first of them."""
    level = -np.inf
    for at, start, end in sorted(found):
        if at - level > SNAP:
            level = at
        yield level, start, end


def _group_touching(level: RuleLines, steep: RuleLines) -> Iterator[tuple[RuleLines, RuleLines]]:
    """The rules that hang together by touching."""
    across = (level.start[:, None] - SNAP <= steep.at) & (steep.at <= level.end[:, None] + SNAP)
    along = (steep.start[:, None] - SNAP <= level.at) & (level.at <= steep.end[:, None] + SNAP)
    touch = across & along.T
    left = np.ones(len(level.at), np.bool_)
    while left.any():
        rows = np.zeros(len(level.at), np.bool_)
        rows[np.flatnonzero(left)[0]] = True
        columns, count = _any(touch[rows]), 0
        while rows.sum() > count:
            count = rows.sum()
            rows |= _any(touch[:, columns].T)
            columns = _any(touch[rows])
        left &= ~rows
        if rows.sum() > 1 and columns.sum() > 1:
            yield level.only(rows), steep.only(columns)


def _any(flags: Flags) -> Flags:
    return np.asarray(flags.any(0))


def _make_table(level: RuleLines, steep: RuleLines, words: Sequence[Word]) -> PageTable | None:
    ys, xs = np.unique(level.at), np.unique(steep.at)
    if not (1 < len(ys) <= MAX_SIDE and 1 < len(xs) <= MAX_SIDE):
        return None
    frame = Box(float(xs[0]), float(ys[0]), float(xs[-1]), float(ys[-1]))
    inside = _place_words([word for word in words if frame.holds(word.box)], ys, xs)
    above = level.parts(ys, (xs[1:] + xs[:-1]) / 2)
    before = steep.parts(xs, (ys[1:] + ys[:-1]) / 2).T
    places = [place for span in _find_spans(above, before) for place in _find_slots(span, inside)]
    return assemble(_part_rows(places, len(ys) - 1), frame)


Span = tuple[int, int, int, int]


def _find_spans(above: Flags, before: Flags) -> Iterator[Span]:
    """Row, column and spans of each cell: it goes on to the next rule, right and then down."""
    rows, columns = above.shape[0] - 1, above.shape[1]
    taken = np.zeros((rows, columns), np.bool_)
    for row, column in product(range(rows), range(columns)):
        if taken[row, column]:
            continue
        right = column + 1
        while right < columns and not before[row, right] and not taken[row, right]:
            right += 1
        down = row + 1
        while down < rows and not above[down, column:right].any():
            if before[down, column + 1 : right].any():
                break
            down += 1
        taken[row:down, column:right] = True
        yield row, column, down - row, right - column


def _find_slots(span: Span, inside: Mapping[tuple[int, int], list[Word]]) -> Iterator[CellSlot]:
    """The cell, or the cells of its columns where its lines leave them apart without a rule."""
    row, column, down, right = span
    columns: dict[int, list[Word]] = {}
    for r, c in _covered_slots(span):
        columns.setdefault(c, []).extend(inside.get((r, c), ()))
    bands = find_bands(columns)
    if right > 1 and len(bands) > 1 and _are_apart(bands):
        yield from (CellSlot(row, at, down, 1, words) for at, words in columns.items())
        return
    lines = (sorted(chain(*band.cells.values()), key=lambda word: word.box.x0) for band in bands)
    yield CellSlot(row, column, down, right, [*chain(*lines)])


def _are_apart(bands: Sequence[Band]) -> bool:
    """Whether most lines have words in several columns, and none has words that run on."""
    several = [band for band in bands if len(band.cells) > 1]
    if len(several) * 2 < len(bands):
        return False
    return all(
        after[0].box.x0 - before[-1].box.x1 >= GUTTER * band.height
        for band in several
        for before, after in pairwise(band.cells[at] for at in sorted(band.cells))
    )


def _covered_slots(span: Span) -> Iterator[tuple[int, int]]:
    row, column, down, right = span
    return ((r, c) for r in range(row, row + down) for c in range(column, column + right))


def _place_words(
    words: Sequence[Word], ys: Floats, xs: Floats
) -> dict[tuple[int, int], list[Word]]:
    """The words by the place of the grid that their middle is in."""
    found: dict[tuple[int, int], list[Word]] = {}
    for word in words:
        row = int(np.searchsorted(ys, word.box.middle, "right")) - 1
        column = int(np.searchsorted(xs, word.box.centre, "right")) - 1
        found.setdefault((min(row, len(ys) - 2), min(column, len(xs) - 2)), []).append(word)
    return found


def _part_rows(places: Sequence[CellSlot], rows: int) -> Iterator[CellSlot]:
    """Rows between which no rule is drawn, but whose lines stand side by side, are parted."""
    number = 0
    for row in range(rows):
        here = [place for place in places if place.row == row]
        lines = _find_lines_within(here)
        if len(lines) < MANY_LINES or any(place.row_span > 1 for place in places):
            yield from (_move_to_row(place, number) for place in here)
            number += 1
            continue
        spans = {place.column: place.column_span for place in here}
        for line in lines:
            for column, words in line.items():
                yield CellSlot(number, column, 1, spans[column], words)
            number += 1


def _move_to_row(place: CellSlot, row: int) -> CellSlot:
    return CellSlot(row, place.column, place.row_span, place.column_span, place.words)


def _find_lines_within(places: Sequence[CellSlot]) -> list[dict[int, list[Word]]]:
    """The rows of text in one drawn row, where at least two of its columns have many of them."""
    bands = find_bands({place.column: place.words for place in places if place.words})
    counts = sorted(
        (sum(place.column in band.cells for band in bands) for place in places), reverse=True
    )
    if len(counts) < 2 or counts[1] < MANY_LINES or counts[1] * 2 < len(bands):
        return []
    return [words_by_column(row) for row in group_rows(bands)]
