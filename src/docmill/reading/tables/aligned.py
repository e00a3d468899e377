"""Tables without rules: lines whose cells leave the same gutters free, one below the other."""

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from statistics import median
from typing import Final

from docmill.reading.pages import Box, Line, Word, make_line
from docmill.reading.tables.grid import (
    Band,
    Gutter,
    cut_into_cells,
    drop_sign_gutters,
    find_sides,
    group_rows,
    make_band,
    widen_heads,
    words_by_column,
)
from docmill.reading.tables.grid import CellRun as Cell
from docmill.reading.tables.model import CellSlot, PageTable, TableCell, assemble

GUTTER: Final = 0.6  # of the height: the least that must stay free between columns
STRIP: Final = 0.45
APART: Final = 2.2  # of the height: a wider gap between lines ends a table
KEPT: Final = 0.6  # of the gutters so far must outlive another line
MIN_ROWS: Final = 3
LONG_WORDS: Final = 12
NAME_WORDS: Final = 6
HEAD_LINES: Final = 3  # above the first line that shows all columns
FULL: Final = 0.75  # of the columns
ACROSS: Final = 0.5  # of a table's width: a shorter rule parts no rows

Free = list[Gutter]


@dataclass(frozen=True, slots=True)
class LineRun:
    """Lines that may be a table, and the gutters they leave free, from left to right.

    Lines in `over` do not: they name several columns at once, or the rows that follow.
    """

    lines: tuple[Line, ...]
    gutters: Free
    over: tuple[Line, ...] = ()

    @property
    def body(self) -> list[Line]:
        return [line for line in self.lines if line not in self.over]

    @property
    def wide(self) -> list[Line]:
        return [line for line in self.lines if len(line.cells) > 1]


@dataclass(frozen=True, slots=True)
class DrawnRules:
    """The level rules of a page: as they are drawn, and with pieces that touch put together."""

    pieces: Sequence[Box]
    levels: Sequence[Box]


@dataclass(frozen=True, slots=True)
class AlignedPart:
    """Lines that are a table, or else texts beside each other: the lines of one after another."""

    lines: tuple[Line, ...]
    table: PageTable | None
    columns: tuple[Line, ...] = ()


def find_aligned_parts(lines: Sequence[Line], drawn: DrawnRules) -> list[AlignedPart]:
    """The tables among these lines of a page, and the texts beside each other, in order."""
    found = (make_aligned_part(run, drawn) for run in _find_runs(lines))
    return [part for part in found if part]


def _find_runs(lines: Sequence[Line]) -> Iterator[LineRun]:
    start = end = 0
    while start < len(lines):
        if len(lines[start].cells) < 2:
            start += 1
            continue
        run = _find_run_with_head(lines, start)
        if _is_table(run):
            yield _add_lines_above(lines[max(end, start - HEAD_LINES) : start], run)
            start = end = start + len(run.lines)
        else:
            start += 1


def _find_run_with_head(lines: Sequence[Line], start: int) -> LineRun:
    """The run from here, or one from below with more columns, under these lines as its head."""
    best = _grow_run(lines, start)
    for below in range(start + 1, min(start + 1 + HEAD_LINES, len(lines))):
        if not _is_near(lines[below - 1], lines[below]):
            break
        run = _grow_run(lines, below) if len(lines[below].cells) > 1 else best
        longer = below + len(run.lines) >= start + len(best.lines)
        if longer and len(run.gutters) > len(best.gutters) and _is_table(run):
            head = tuple(lines[start:below])
            best = LineRun((*head, *run.lines), run.gutters, (*head, *run.over))
    return best


def _add_lines_above(lines: Sequence[Line], run: LineRun) -> LineRun:
    """The run with the lines right above it that stand over all columns but the first."""
    for line in reversed(lines):
        first = run.lines[0]
        near = line.box.y0 < first.box.y0 and first.box.y0 - line.box.y1 < line.box.height
        if (
            not near
            or line.box.x0 < run.gutters[0][0]
            or line.box.x1 > _right_edge(run) + line.box.height
        ):
            break
        run = LineRun((line, *run.lines), run.gutters, (line, *run.over))
    return run


def _right_edge(run: LineRun) -> float:
    return max(line.box.x1 for line in run.lines)


def _is_near(above: Line, line: Line) -> bool:
    height = max(above.box.height, line.box.height)
    return -0.5 * height < line.box.y0 - above.box.y1 < APART * height


def _grow_run(lines: Sequence[Line], start: int) -> LineRun:
    """As many lines from here on as keep the gutters free; one that names the next may not."""
    run = LineRun((lines[start],), find_gaps(lines[start]))
    for at in range(start + 1, len(lines)):
        line = lines[at]
        grown = _extend_run(run, line)
        if grown is None and at + 1 < len(lines) and _is_row_heading(line, run):
            named = LineRun((*run.lines, line), run.gutters, (*run.over, line))
            after = _extend_run(named, lines[at + 1])
            grown = named if after and len(after.gutters) == len(run.gutters) else None
        if grown is None:
            break
        run = grown
    kept = list(run.lines)
    while kept and not _last_line_belongs(kept):
        kept.pop()
    return LineRun(tuple(kept), run.gutters, tuple(line for line in run.over if line in kept))


def _is_row_heading(line: Line, run: LineRun) -> bool:
    """Whether a line is a heading among rows: short, and begins where they begin."""
    left = min(each.box.x0 for each in run.lines)
    return (
        len(line.cells) == 1
        and len(line.words) <= NAME_WORDS
        and abs(line.box.x0 - left) < line.box.height
        and _is_near(run.lines[-1], line)
    )


def _last_line_belongs(lines: Sequence[Line]) -> bool:
    """Whether the last line is part of the table: several cells, or close under such a line."""
    last = lines[-1]
    if len(last.cells) > 1 or len(lines) == 1:
        return True
    above = lines[-2]
    near = last.box.y0 - above.box.y1 < GUTTER * last.box.height
    return near and len(above.cells) > 1 and len(last.words) <= LONG_WORDS


def find_gaps(line: Line) -> Free:
    boxes = [cell.box for cell in line.cells]
    return [(left.x1, right.x0) for left, right in itertools.pairwise(boxes)]


def _extend_run(run: LineRun, line: Line) -> LineRun | None:
    """The run and one more line; None where that would not be one table."""
    if not _is_near(run.lines[-1], line):
        return None
    known = keep_clear(run.gutters, line)
    if len(known) < max(1, KEPT * len(run.gutters)):
        return None
    new = [] if len(run.wide) > 1 else find_gaps(line)
    for above in run.lines if new else ():
        new = keep_clear(new, above)
    more = [gutter for gutter in new if not any(_overlap(gutter, each) for each in known)]
    return LineRun((*run.lines, line), sorted([*known, *more]), run.over)


def _overlap(one: Gutter, other: Gutter) -> bool:
    return one[0] < other[1] and other[0] < one[1]


def keep_clear(gutters: Free, line: Line) -> Free:
    """What a line leaves of the gutters: of each the widest part without a word in it."""
    left: Free = []
    least = GUTTER * line.box.height
    for low, high in gutters:
        cells = [cell.box for cell in line.cells if cell.box.x1 > low and cell.box.x0 < high]
        edges = [low, *(side for box in cells for side in (box.x0, box.x1)), high]
        parts = [(edges[at], edges[at + 1]) for at in range(0, len(edges), 2)]
        widest = max(parts, key=lambda part: part[1] - part[0])
        if widest[1] - widest[0] >= least:
            left.append(widest)
    return left


def _is_table(run: LineRun) -> bool:
    wide = run.wide
    enough = len(wide) >= MIN_ROWS or (len(wide) == 2 and len(run.gutters) >= 2)
    if not enough or not run.gutters or len(wide) * 2 < len(run.lines):
        return False
    return median(len(line.words) / len(line.cells) for line in wide) <= LONG_WORDS


def find_strips(lines: Sequence[Line], known: Free) -> Free:
    """Strips narrower than the gutters that no word of any line stands in."""
    words = sorted((word.box for line in lines for word in line.words), key=lambda box: box.x0)
    least = STRIP * median(box.height for box in words)
    found: Free = []
    reach = words[0].x1
    for box in words[1:]:
        if box.x0 - reach >= least and not any(_overlap((reach, box.x0), old) for old in known):
            found.append((reach, box.x0))
        reach = max(reach, box.x1)
    return [strip for strip in found if _has_both_sides(lines, strip)]


def _has_both_sides(lines: Sequence[Line], strip: Gutter) -> bool:
    both = sum(line.box.x0 < strip[0] and line.box.x1 > strip[1] for line in lines)
    return both >= MIN_ROWS and both * 2 >= len(lines)


def make_aligned_part(run: LineRun, drawn: DrawnRules) -> AlignedPart | None:
    """What the lines of a run are; nothing where they are a form."""
    body = run.body
    gutters = drop_sign_gutters(body, sorted([*run.gutters, *find_strips(body, run.gutters)]))
    cells = [cut_into_cells(line, gutters) for line in run.lines]
    low, high = min(line.box.x0 for line in body), max(line.box.x1 for line in body)
    across = [rule for rule in drawn.levels if rule.x0 < high and rule.x1 > low]
    lines = _spread_heads(cells, len(gutters) + 1, drawn.pieces)
    table = _make_table(lines, [rule.y0 for rule in across if rule.width >= ACROSS * (high - low)])
    look = (
        judge_arrangement(lines, table, across) if table and table.columns > 1 else Arrangement.FORM
    )
    if look is Arrangement.FORM:
        return None
    if look is Arrangement.TABLE and table:
        return AlignedPart(run.lines, add_row_spans(table))
    return AlignedPart(run.lines, None, tuple(_lines_by_column(lines)))


def _make_table(lines: Sequence[Sequence[Cell]], levels: Sequence[float]) -> PageTable | None:
    rows = group_rows([_make_band(cells) for cells in lines], levels)
    return assemble(
        CellSlot(number, column, 1, 1 + max(band.last(column) for band in row) - column, words)
        for number, row in enumerate(rows)
        for column, words in words_by_column(row).items()
    )


def _lines_by_column(lines: Sequence[Sequence[Cell]]) -> Iterator[Line]:
    """The cells as lines of their own, column by column."""
    cells = sorted((cell for line in lines for cell in line), key=lambda cell: cell.first)
    return (make_line(cell.words) for cell in cells)


def _spread_heads(
    lines: Sequence[Sequence[Cell]], count: int, rules: Sequence[Box]
) -> list[Sequence[Cell]]:
    """The lines, those of a head above the first full line spread over the columns they name."""
    full = next((at for at, cells in enumerate(lines) if len(cells) >= FULL * count), 0)
    sides = find_sides(lines, count)
    return [
        widen_heads(cells, sides, rules) if at < full else cells for at, cells in enumerate(lines)
    ]


def _make_band(cells: Sequence[Cell]) -> Band:
    words: dict[int, list[Word]] = {}
    reach: dict[int, int] = {}
    for cell in cells:
        words.setdefault(cell.first, []).extend(cell.words)
        reach[cell.first] = max(reach.get(cell.first, 0), cell.last)
    return make_band(words, reach)


LABELLED: Final = 0.6  # of the lines: more with a label and a colon are a form
FIGURES: Final = 0.7  # of a column's cells
SMALLER: Final = 1.15
SOME: Final = 0.3  # of all cells
PROSE_WORDS: Final = 4
PROSE_FILL: Final = 0.75
MANY_ROWS: Final = 3
MANY_COLUMNS: Final = 3
WIDE: Final = 5  # columns: no page sets so many texts side by side
FILLED: Final = 0.8  # of the places
RULE: Final = 0.5  # of the table's width

_WORD: Final = re.compile(r"[^\W\d_]{4}")


class Arrangement(Enum):
    TABLE = "table"
    FORM = "form"
    BESIDE = "beside"


def judge_arrangement(
    lines: Sequence[Sequence[Cell]], table: PageTable, rules: Sequence[Box]
) -> Arrangement:
    """What cells on these lines make, given the table they would be."""
    wide = [cells for cells in lines if len(cells) > 1]
    if sum(any(_is_label(cell) for cell in cells) for cells in wide) >= LABELLED * len(wide):
        return Arrangement.FORM
    if table.columns >= WIDE:
        return Arrangement.TABLE
    if _is_prose(lines, table.columns) or _has_small_labels(lines) or not table.is_filled:
        return Arrangement.BESIDE
    shown = _has_figures(table) or _shows_figures(lines) or _has_head(lines, table)
    return Arrangement.TABLE if shown or _has_rules(table, rules) else Arrangement.BESIDE


def _is_label(cell: Cell) -> bool:
    return cell.words[-1].text.endswith(":") or (len(cell.words) > 1 and cell.words[0].text == ":")


def _has_small_labels(lines: Sequence[Sequence[Cell]]) -> bool:
    """Whether each line of values has its labels above it, in smaller type."""
    heights = [median(word.box.height for cell in cells for word in cell.words) for cells in lines]
    pairs = list(zip(heights[::2], heights[1::2], strict=False))
    return len(pairs) > 1 and all(SMALLER * label < value for label, value in pairs)


def _is_prose(lines: Sequence[Sequence[Cell]], count: int) -> bool:
    """Whether all columns hold running text, which fills them line by line."""
    columns: dict[int, list[Cell]] = {}
    for cells in lines:
        for cell in cells:
            if cell.first == cell.last:
                columns.setdefault(cell.first, []).append(cell)
    return len(columns) == count and all(map(_runs_on, columns.values()))


def _runs_on(cells: Sequence[Cell]) -> bool:
    widths = [cell.box.width for cell in cells]
    full = median(widths) >= PROSE_FILL * max(widths)
    return full and median(len(cell.words) for cell in cells) >= PROSE_WORDS


def _shows_figures(lines: Sequence[Sequence[Cell]]) -> bool:
    texts = [" ".join(word.text for word in cell.words) for cells in lines for cell in cells]
    return sum(map(is_figure, texts)) >= SOME * len(texts)


def _has_figures(table: PageTable) -> bool:
    columns: dict[int, list[TableCell]] = {}
    for cell in table.cells:
        columns.setdefault(cell.column, []).append(cell)
    return any(_is_figures(cells, table.rows - 1) for cells in columns.values())


def _is_figures(cells: Sequence[TableCell], rows: int) -> bool:
    """Whether a column has a figure in most of its cells, and a cell in most of the rows."""
    body = [cell.text for cell in cells if cell.row > 0]
    return 2 * len(body) >= rows and sum(map(is_figure, body)) >= FIGURES * len(body) > 0


def is_figure(text: str) -> bool:
    """Whether text is a number, a date or a short code."""
    return any(map(str.isdigit, text)) and not _WORD.search(text)


def _has_head(lines: Sequence[Sequence[Cell]], table: PageTable) -> bool:
    """Whether the first line alone is bold, over full rows: blocks of addresses end anywhere."""
    if table.columns < MANY_COLUMNS or len(table.cells) < FILLED * table.rows * table.columns:
        return False
    first, *others = [all(word.bold for cell in cells for word in cell.words) for cells in lines]
    return first and len(others) >= MANY_ROWS - 1 and 2 * sum(others) < len(others)


def _has_rules(table: PageTable, rules: Sequence[Box]) -> bool:
    box = table.box
    across = {
        round(rule.y0)
        for rule in rules
        if rule.width >= RULE * box.width
        and box.y0 - box.height / table.rows <= rule.y0 <= box.y1 + box.height / table.rows
        and rule.shares_width(box)
    }  # fmt: skip
    least = MANY_ROWS if table.columns >= MANY_COLUMNS else max(MANY_ROWS, table.rows / 2)
    return len(across) >= least


CellsByPlace = Mapping[tuple[int, int], TableCell]


def add_row_spans(table: PageTable) -> PageTable:
    """The table, with cells that go on through the empty places below them."""
    places = {
        (cell.row, column): cell
        for cell in table.cells
        for column in range(cell.column, cell.column + cell.column_span)
    }
    spans = _find_corner_spans(table, places) | _find_group_spans(table, places)
    cells = (replace(cell, row_span=spans.get(id(cell), 1)) for cell in table.cells)
    return replace(table, cells=tuple(cells))


def _find_corner_spans(table: PageTable, places: CellsByPlace) -> dict[int, int]:
    """Beside a cell over columns that are named under it, cells with nothing under them."""
    first = [cell for cell in table.cells if cell.row == 0]
    heads = [cell for cell in first if cell.column_span > 1]
    named = heads and all(
        (1, column) in places
        for cell in heads
        for column in range(cell.column, cell.column + cell.column_span)
    )
    if not named:
        return {}
    return {
        id(cell): 2 for cell in first if cell.column_span == 1 and (1, cell.column) not in places
    }


def _find_group_spans(table: PageTable, places: CellsByPlace) -> dict[int, int]:
    """Names in the first column, each of several rows whose own names stand in the second."""
    rows = range(1, table.rows)
    firsts = [places[row, 0] for row in rows if (row, 0) in places]
    seconds = [places[row, 1] for row in rows if (row, 1) in places]
    words = sum(not is_figure(cell.text) for cell in seconds)
    if len(seconds) < len(rows) or len(firsts) < 2 or 2 * words < len(seconds):
        return {}
    if any(cell.column_span > 1 for cell in firsts):
        return {}
    ends = [*(cell.row for cell in firsts[1:]), table.rows]
    return {id(cell): end - cell.row for cell, end in zip(firsts, ends, strict=True)}
