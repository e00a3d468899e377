"""Printed lines of a table whose columns are known, put together into the rows they belong to."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import median
from typing import Final

from docmill.reading.pages import Box, Line, Word, bounding_box

CLOSE: Final = 0.65  # of the height: a smaller gap may lie between lines of one cell
SAME_LINE: Final = 0.5
JUMP: Final = 0.2  # of the height: gaps that differ by more are of two kinds
SPACE: Final = 0.35


@dataclass(frozen=True, slots=True)
class Band:
    """One printed line: its words by the column they start in, and the last one they reach."""

    cells: Mapping[int, Sequence[Word]]
    top: float
    bottom: float
    reach: Mapping[int, int] = field(default_factory=dict[int, int])

    @property
    def height(self) -> float:
        return self.bottom - self.top

    @property
    def middle(self) -> float:
        return (self.top + self.bottom) / 2

    def last(self, column: int) -> int:
        return self.reach.get(column, column)

    def wide(self, column: int) -> bool:
        return self.last(column) > column


WordsByColumn = dict[int, list[Word]]


@dataclass(frozen=True, slots=True)
class GridFacts:
    """What all lines of a table tell: how wide its columns are, and which gap parts its rows.

    `parting` is None where the gaps are all of one kind.
    """

    widths: Mapping[int, float]
    usual: float
    parting: float | None


def make_band(cells: Mapping[int, Sequence[Word]], reach: Mapping[int, int] | None = None) -> Band:
    box = bounding_box([word.box for words in cells.values() for word in words])
    return Band(cells, box.y0, box.y1, reach or {})


def find_bands(columns: Mapping[int, Sequence[Word]]) -> list[Band]:
    """The printed lines in columns of words, from top to bottom."""
    placed = [(word, column) for column, words in columns.items() for word in words]
    placed.sort(key=lambda item: (item[0].box.middle, item[0].box.x0))
    lines: list[list[tuple[Word, int]]] = []
    for word, column in placed:
        first = lines[-1][0][0].box if lines else None
        reach = SAME_LINE * min(first.height, word.box.height) if first else 0
        if first and word.box.middle - first.middle <= reach:
            lines[-1].append((word, column))
        else:
            lines.append([(word, column)])
    return [_band_of_line(line) for line in lines]


def _band_of_line(line: Sequence[tuple[Word, int]]) -> Band:
    cells: dict[int, list[Word]] = {}
    for word, column in sorted(line, key=lambda item: item[0].box.x0):
        cells.setdefault(column, []).append(word)
    return make_band(cells)


def group_rows(bands: Sequence[Band], levels: Sequence[float] = ()) -> list[list[Band]]:
    """The lines of each row; a rule at a level parts rows."""
    rows: list[list[Band]] = []
    grid = _measure_grid(bands)
    for zone in _cut_at_rules(bands, levels):
        if len(zone) < len(bands) and _is_row(zone, grid):
            rows.append(zone)
            continue
        start = len(rows)
        for band in zone:
            if len(rows) > start and _continues_row(band, rows[-1], grid):
                rows[-1].append(band)
            else:
                rows.append([band])
    return rows


def _cut_at_rules(bands: Sequence[Band], levels: Sequence[float]) -> list[list[Band]]:
    """The lines between one rule and the next."""
    zones: list[list[Band]] = []
    for band in bands:
        above = zones[-1][-1] if zones else None
        if above and not any(above.middle <= level <= band.middle for level in levels):
            zones[-1].append(band)
        else:
            zones.append([band])
    return zones


def _is_row(zone: Sequence[Band], grid: GridFacts) -> bool:
    """Whether each column of a zone holds one text, and no cell has cells of its own under it."""
    if any(_has_cells_under(above, band) for above, band in itertools.pairwise(zone)):
        return False
    for column in {column for band in zone for column in band.cells}:
        lines = [band for band in zone if column in band.cells]
        if not all(
            _wraps(below, above, column, grid) for above, below in itertools.pairwise(lines)
        ):
            return False
    return True


def words_by_column(row: Sequence[Band]) -> WordsByColumn:
    """The words of a row's lines by column."""
    found: WordsByColumn = {}
    for band in row:
        for column, words in band.cells.items():
            found.setdefault(column, []).extend(words)
    return found


def _measure_grid(bands: Sequence[Band]) -> GridFacts:
    widths: dict[int, float] = {}
    for band in bands:
        for column, words in band.cells.items():
            if not band.wide(column):
                widths[column] = max(widths.get(column, 0.0), _width(words))
    gaps = sorted(below.top - above.bottom for above, below in itertools.pairwise(bands))
    usual = median(gaps) if gaps else 0.0
    height = median(band.height for band in bands) if bands else 0.0
    return GridFacts(widths, usual, _find_parting(gaps, height))


def _find_parting(gaps: Sequence[float], height: float) -> float | None:
    """The gap from which on rows are parted, where small gaps and large ones stand out."""
    jumps = [(above - below, below) for below, above in itertools.pairwise(gaps)]
    widest, below = max(jumps, default=(0.0, 0.0))
    if widest < JUMP * height or below > CLOSE * height:
        return None
    return below + widest / 2


def _continues_row(band: Band, row: Sequence[Band], grid: GridFacts) -> bool:
    """Whether a line is the rest of the row above: near it, and its words would not have fitted."""
    above = row[-1]
    gap = band.top - above.bottom
    if gap > CLOSE * min(band.height, above.height):
        return False
    if _has_cells_under(above, band) or not all(
        _wraps(band, above, column, grid) for column in band.cells
    ):
        return False
    known = {column for each in row for column in each.cells}
    if grid.parting is not None:
        return gap <= grid.parting
    fewer = len(band.cells) * 2 <= len(known) or (0 in known and 0 not in band.cells)
    return gap <= grid.usual + 1 and fewer and band.cells.keys() < known


def _has_cells_under(above: Band, band: Band) -> bool:
    """Whether a cell over several columns has cells of its own under it."""
    return any(
        sum(column <= at <= last for at in band.cells) > (band.reach.get(column) == last)
        for column, last in above.reach.items()
        if last > column
    )


def _wraps(band: Band, above: Band, column: int, grid: GridFacts) -> bool:
    """Whether what stands in a column goes on from the line above, where its word had no room."""
    before, words = above.cells.get(column), band.cells[column]
    if not before or band.wide(column) or above.wide(column):
        return True
    if all(map(_is_figure_word, words)) and not before[-1].text.isupper():
        return False
    space = SPACE * band.height
    return _width(before) + space + words[0].box.width > grid.widths[column]


def _is_figure_word(word: Word) -> bool:
    return any(map(str.isdigit, word.text)) and not any(map(str.isalpha, word.text))


def _width(words: Sequence[Word]) -> float:
    return max(word.box.x1 for word in words) - min(word.box.x0 for word in words)


SLACK: Final = 1.0  # points
SIGNS_BEFORE: Final = frozenset(
    ["$", "€", "£", "¥", "US$", "EUR", "USD", "GBP", "CHF", "Rp", "Rp.", "("]
)
SIGNS_BEHIND: Final = frozenset(["%", ")", ")%", "*", "**", "***", "†", "‡", "€", "EUR"])
HEAD_LINES: Final = 2
UNDERLINE_REACH: Final = 1.2  # of the height below its middle: a rule that underlines a cell
BETTER: Final = 3.0  # points nearer to the middle of more columns

Gutter = tuple[float, float]
Gutters = Sequence[Gutter]
Sides = list[tuple[float, float] | None]


@dataclass(frozen=True, slots=True)
class CellRun:
    """Words of one line that make a cell, and the columns they stand in, both ends included."""

    words: tuple[Word, ...]
    first: int
    last: int

    @property
    def box(self) -> Box:
        return bounding_box([word.box for word in self.words])


def cut_into_cells(line: Line, gutters: Gutters) -> list[CellRun]:
    """The cells of a line: cut at wide gaps and at each gutter that it leaves free."""
    runs: list[list[Word]] = []
    for cell in line.cells:
        runs.append([cell.words[0]])
        for one, other in pairwise(cell.words):
            if _are_parted(one.box, other.box, gutters):
                runs.append([])
            runs[-1].append(other)
    return [_make_cell_run(words, gutters) for words in runs]


def _are_parted(one: Box, other: Box, gutters: Gutters) -> bool:
    return any(one.x1 <= low + SLACK and other.x0 >= high - SLACK for low, high in gutters)


def _make_cell_run(words: Sequence[Word], gutters: Gutters) -> CellRun:
    box = bounding_box([word.box for word in words])
    first = sum((low + high) / 2 < (words[0].box.x0 + words[0].box.x1) / 2 for low, high in gutters)
    last = sum(low + SLACK < box.x1 and (low + high) / 2 < box.x1 for low, high in gutters)
    return CellRun(tuple(words), first, max(first, last))


def drop_sign_gutters(lines: Sequence[Line], gutters: Gutters) -> list[Gutter]:
    """The gutters but for those between a sign of money and its amount, or before a per cent."""
    body = [run for line in lines[HEAD_LINES:] for run in cut_into_cells(line, gutters)]
    texts: dict[int, set[str]] = {}
    for run in body:
        texts.setdefault(run.first, set()).update(word.text for word in run.words)
    return [
        gutter
        for at, gutter in enumerate(gutters)
        if not _has_only(texts.get(at), SIGNS_BEFORE)
        and not _has_only(texts.get(at + 1), SIGNS_BEHIND)
    ]


def _has_only(found: set[str] | None, signs: frozenset[str]) -> bool:
    return bool(found) and found <= signs


def find_sides(lines: Sequence[Sequence[CellRun]], count: int) -> Sides:
    """From where to where each column has words, those of cells over several left out."""
    sides: Sides = [None] * count
    for run in (run for runs in lines for run in runs if run.first == run.last):
        known = sides[run.first] or (run.box.x0, run.box.x1)
        sides[run.first] = (min(known[0], run.box.x0), max(known[1], run.box.x1))
    return sides


def widen_heads(runs: Sequence[CellRun], sides: Sides, rules: Sequence[Box]) -> list[CellRun]:
    """Cells of a head's upper line, each over the columns it is ruled off from or centred on."""
    found: list[CellRun] = []
    for at, run in enumerate(runs):
        low = found[-1].last + 1 if found else 0
        high = runs[at + 1].first - 1 if at + 1 < len(runs) else len(sides) - 1
        below = next((rule for rule in rules if _underlines(rule, run.box)), None)
        under = _columns_under(below, sides) if below else []
        if under:
            found.append(CellRun(run.words, max(under[0], low), max(under[-1], low)))
            continue
        found.append(_best_width(run, range(low, run.first + 1), range(run.last, high + 1), sides))
    return found


def _underlines(rule: Box, box: Box) -> bool:
    near = 0 <= rule.y0 - box.middle <= UNDERLINE_REACH * box.height
    return near and rule.x0 <= box.x0 + SLACK and rule.x1 >= box.x1 - SLACK


def _columns_under(rule: Box, sides: Sides) -> list[int]:
    return [
        at
        for at, side in enumerate(sides)
        if side and rule.x0 <= (side[0] + side[1]) / 2 <= rule.x1
    ]


def _best_width(run: CellRun, firsts: range, lasts: range, sides: Sides) -> CellRun:
    middle = (run.box.x0 + run.box.x1) / 2
    best, least = run, _distance_to_middle(middle, run.first, run.last, sides) - BETTER
    for first in reversed(firsts):
        for last in lasts:
            off = _distance_to_middle(middle, first, last, sides)
            if off < least:
                best, least = CellRun(run.words, first, last), off
    return best


def _distance_to_middle(middle: float, first: int, last: int, sides: Sides) -> float:
    """How far from the middle of these columns, whichever way their words are set in them."""
    start, end = sides[first], sides[last]
    if not start or not end:
        return float("inf")
    before = sides[first - 1] if first else None
    after = sides[last + 1] if last + 1 < len(sides) else None
    middles = [(start[0] + end[1]) / 2]
    if before:
        middles.append((before[1] + end[1]) / 2)
    if after:
        middles.append((start[0] + after[0]) / 2)
    return min(abs(middle - each) for each in middles)
