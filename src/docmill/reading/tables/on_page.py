"""A page's lines and tables in the order in which they are read."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from statistics import median
from typing import Final

from docmill.reading.order import find_rows, order_lines
from docmill.reading.pages import Box, Line, Page
from docmill.reading.tables.aligned import (
    AlignedPart,
    DrawnRules,
    LineRun,
    find_aligned_parts,
    find_gaps,
    find_strips,
    keep_clear,
    make_aligned_part,
)
from docmill.reading.tables.model import PageTable, upright_lines
from docmill.reading.tables.ruled import find_ruled_tables, join_rules

PageItem = Line | PageTable


def arrange_page(page: Page) -> list[PageItem]:
    """Every upright line once, on its own or in its table."""
    ruled = find_ruled_tables(page)
    drawn = find_level_rules(page)
    ruled += find_level_ruled_tables(page, drawn, ruled)
    lines = _lines_outside(page, ruled)
    items = list(_merge_parts(lines, find_aligned_parts(lines, drawn)))
    for table in ruled:
        items.insert(_find_place(table.box, items), table)
    return items


def _lines_outside(page: Page, tables: Sequence[PageTable]) -> list[Line]:
    """The lines outside the tables, in an order that no table disturbs."""
    lines = upright_lines(page)
    if not tables:
        return lines
    words = [word for line in lines for word in line.words]
    free = [word for word in words if not any(table.holds(word.box) for table in tables)]
    return list(order_lines(free, (page.width, page.height)))


def _merge_parts(lines: Sequence[Line], parts: Sequence[AlignedPart]) -> Iterator[PageItem]:
    starts = {id(part.lines[0]): part for part in parts}
    inside = {id(line) for part in parts for line in part.lines}
    for line in lines:
        part = starts.get(id(line))
        if part:
            yield from [part.table] if part.table else part.columns
        elif id(line) not in inside:
            yield line


def _find_place(box: Box, items: Sequence[PageItem]) -> int:
    """After the last item above it, and after those to its left where nothing below it comes."""
    place = 0
    for at, item in enumerate(items, 1):
        if item.box.shares_width(box) and item.box.middle < box.middle:
            place = at
    while place < len(items) and items[place].box.x1 <= box.x0:
        place += 1
    return place


SAME_END: Final = 4.0  # points
SHORTEST: Final = 60.0
MIN_RULES: Final = 3
MAX_LEVELS: Final = 200
NAME_WORDS: Final = 8
NEAR: Final = 1.2  # of the height
APART: Final = 2.0  # a wider gap between lines is none between rows
KEPT: Final = 0.6
LONG_WORDS: Final = 14


def find_level_rules(page: Page) -> DrawnRules:
    pieces = [rule for rule in page.rules if rule.width > rule.height]
    level = join_rules(pieces, steep=False)
    sides = zip(level.start.tolist(), level.at.tolist(), level.end.tolist(), strict=True)
    return DrawnRules(pieces, [Box(x0, y, x1, y) for x0, y, x1 in sides])


def find_level_ruled_tables(
    page: Page, drawn: DrawnRules, known: Sequence[PageTable]
) -> list[PageTable]:
    """The tables between rules that start and end together, but for those known already."""
    if not MIN_RULES <= len(drawn.levels) <= MAX_LEVELS:
        return []
    found: list[PageTable] = []
    free = [rule for rule in drawn.levels if not any(_meet(rule, table.box) for table in known)]
    for stack in _stack_rules(free):
        lines = _lines_between(page, stack)
        for start, end in _find_stretches(lines, stack):
            table = _make_table(lines, start, end, drawn)
            if table and not any(_meet(table.box, other.box) for other in [*known, *found]):
                found.append(table)
    return found


def _stack_rules(levels: Sequence[Box]) -> Iterator[list[Box]]:
    """Rules of one place and length, from top to bottom."""
    left = [rule for rule in levels if rule.width >= SHORTEST]
    while left:
        first = left[0]
        same = [rule for rule in left if _have_same_ends(rule, first)]
        left = [rule for rule in left if not _have_same_ends(rule, first)]
        if len(same) >= MIN_RULES:
            yield same


def _have_same_ends(one: Box, other: Box) -> bool:
    return abs(one.x0 - other.x0) <= SAME_END and abs(one.x1 - other.x1) <= SAME_END


def _lines_between(page: Page, stack: Sequence[Box]) -> list[Line]:
    low, high = stack[0].x0 - SAME_END, stack[0].x1 + SAME_END
    words = [
        word
        for line in upright_lines(page)
        for word in line.words
        if low <= word.box.x0 and word.box.x1 <= high
    ]
    return list(find_rows(words, (page.width, page.height)))


def _find_stretches(lines: Sequence[Line], stack: Sequence[Box]) -> Iterator[tuple[int, int]]:
    """From which line to which the rules may hold a table: running text between them ends one."""
    start, count = 0, 0
    for above, below in pairwise(stack):
        inside = [at for at, line in enumerate(lines) if above.y0 < line.box.middle < below.y0]
        if not inside:
            continue
        if _is_running_text([lines[at] for at in inside]):
            if count:
                yield start, inside[0]
            count = 0
            continue
        start, count = (start, count + 1) if count else (inside[0], 1)
        end = inside[-1] + 1
        if below is stack[-1]:
            yield start, end


def _is_running_text(lines: Sequence[Line]) -> bool:
    """Whether what stands between two rules is apart, or in one cell from line to line."""
    if any(
        below.box.y0 - above.box.y1 > APART * below.box.height for above, below in pairwise(lines)
    ):
        return True
    left = min(line.box.x0 for line in lines)
    plain = all(len(line.cells) == 1 and line.box.x0 < left + line.box.height for line in lines)
    return plain and sum(len(line.words) for line in lines) > NAME_WORDS


def _make_table(lines: Sequence[Line], start: int, end: int, drawn: DrawnRules) -> PageTable | None:
    gutters = _find_gutters(lines[start:end])
    if not gutters:
        return None
    start, end = _extend_stretch(lines, start, end, gutters)
    chosen = lines[start:end]
    gutters = _find_gutters(chosen)
    wide = [line for line in chosen if len(line.cells) > 1]
    if not wide or median(len(line.words) / len(line.cells) for line in wide) > LONG_WORDS:
        return None
    over = tuple(line for line in chosen if len(keep_clear(gutters, line)) < len(gutters))
    if 2 * len(over) > len(chosen):
        return None
    part = make_aligned_part(LineRun(tuple(chosen), gutters, over), drawn)
    return part.table if part else None


def _find_gutters(lines: Sequence[Line]) -> list[tuple[float, float]]:
    """What all lines that show the columns leave free of the gaps in the fullest of them."""
    body = _body_lines(lines)
    fullest = max(body, key=lambda line: len(line.cells))
    gutters = find_gaps(fullest)
    for line in body:
        gutters = keep_clear(gutters, line)
    gutters = sorted([*gutters, *find_strips(body, gutters)])
    for line in lines[lines.index(fullest) :]:
        gutters = [(keep_clear([gutter], line) or [gutter])[0] for gutter in gutters]
    return gutters


def _body_lines(lines: Sequence[Line]) -> list[Line]:
    """The lines that show the columns: not those of one cell, or of few, as in a head."""
    most = max(len(line.cells) for line in lines)
    return [line for line in lines if len(line.cells) * 2 > most] if most > 1 else list(lines)


def _extend_stretch(
    lines: Sequence[Line], start: int, end: int, gutters: list[tuple[float, float]]
) -> tuple[int, int]:
    """With the lines of the same columns right above and below, outside the rules."""
    while start and _fits(lines[start - 1], lines[start], gutters):
        start -= 1
    while end < len(lines) and _fits(lines[end], lines[end - 1], gutters):
        end += 1
    return start, end


def _fits(line: Line, beside: Line, gutters: list[tuple[float, float]]) -> bool:
    upper, lower = sorted((line.box, beside.box), key=lambda box: box.y0)
    if lower.y0 - upper.y1 > NEAR * line.box.height:
        return False
    heads = upper is line.box and line.box.x0 >= gutters[0][0]
    return heads or (len(line.cells) > 1 and len(keep_clear(gutters, line)) >= KEPT * len(gutters))


def _meet(one: Box, other: Box) -> bool:
    beside = one.x1 <= other.x0 or other.x1 <= one.x0
    return not beside and one.y0 <= other.y1 and other.y0 <= one.y1
