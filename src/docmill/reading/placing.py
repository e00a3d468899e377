"""A page's lines and tables in the order in which they are read."""

from collections.abc import Iterator, Sequence

from docmill.reading.aligned import Part, aligned_parts
from docmill.reading.leveled import drawn_level, leveled_tables
from docmill.reading.order import lines_of
from docmill.reading.pages import Box, Line, Page
from docmill.reading.ruled import ruled_tables
from docmill.reading.tables import Table, upright

Item = Line | Table


def placed(page: Page) -> list[Item]:
    """Every upright line once, on its own or in its table."""
    ruled = ruled_tables(page)
    drawn = drawn_level(page)
    ruled += leveled_tables(page, drawn, ruled)
    lines = _free(page, ruled)
    items = list(_items(lines, aligned_parts(lines, drawn)))
    for table in ruled:
        items.insert(_place(table.box, items), table)
    return items


def _free(page: Page, tables: Sequence[Table]) -> list[Line]:
    """The lines outside the tables, in an order that no table disturbs."""
    lines = upright(page)
    if not tables:
        return lines
    words = [word for line in lines for word in line.words]
    free = [word for word in words if not any(table.holds(word.box) for table in tables)]
    return list(lines_of(free, (page.width, page.height)))


def _items(lines: Sequence[Line], parts: Sequence[Part]) -> Iterator[Item]:
    starts = {id(part.lines[0]): part for part in parts}
    inside = {id(line) for part in parts for line in part.lines}
    for line in lines:
        part = starts.get(id(line))
        if part:
            yield from [part.table] if part.table else part.columns
        elif id(line) not in inside:
            yield line


def _place(box: Box, items: Sequence[Item]) -> int:
    """After the last item above it, and after those to its left where nothing below it comes."""
    place = 0
    for at, item in enumerate(items, 1):
        if _over(item.box, box) and item.box.middle < box.middle:
            place = at
    while place < len(items) and items[place].box.x1 <= box.x0:
        place += 1
    return place


def _over(one: Box, other: Box) -> bool:
    return one.x0 < other.x1 and other.x0 < one.x1
