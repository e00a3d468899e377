"""Whether lines that leave the same gutters free are a table, a form, or texts side by side."""

import re
from collections.abc import Sequence
from enum import Enum
from statistics import median
from typing import Final

from docmill.reading.columns import Run
from docmill.reading.pages import Box
from docmill.reading.tables import Cell, Table

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


class Look(Enum):
    TABLE = "table"
    FORM = "form"
    BESIDE = "beside"


def look_of(lines: Sequence[Sequence[Run]], table: Table, rules: Sequence[Box]) -> Look:
    """What cells on these lines make, given the table they would be."""
    wide = [cells for cells in lines if len(cells) > 1]
    if sum(any(_labels(cell) for cell in cells) for cells in wide) >= LABELLED * len(wide):
        return Look.FORM
    if table.columns >= WIDE:
        return Look.TABLE
    if _is_prose(lines, table.columns) or _names_in_small(lines) or not table.is_filled:
        return Look.BESIDE
    shown = _has_figures(table) or _shows_figures(lines) or _has_head(lines, table)
    return Look.TABLE if shown or _is_ruled(table, rules) else Look.BESIDE


def _labels(cell: Run) -> bool:
    return cell.words[-1].text.endswith(":") or (len(cell.words) > 1 and cell.words[0].text == ":")


def _names_in_small(lines: Sequence[Sequence[Run]]) -> bool:
    """Whether each line of values has its labels above it, in smaller type."""
    heights = [median(word.box.height for cell in cells for word in cell.words) for cells in lines]
    pairs = list(zip(heights[::2], heights[1::2], strict=False))
    return len(pairs) > 1 and all(SMALLER * label < value for label, value in pairs)


def _is_prose(lines: Sequence[Sequence[Run]], count: int) -> bool:
    """Whether all columns hold running text, which fills them line by line."""
    columns: dict[int, list[Run]] = {}
    for cells in lines:
        for cell in cells:
            if cell.first == cell.last:
                columns.setdefault(cell.first, []).append(cell)
    return len(columns) == count and all(map(_runs_on, columns.values()))


def _runs_on(cells: Sequence[Run]) -> bool:
    widths = [cell.box.width for cell in cells]
    full = median(widths) >= PROSE_FILL * max(widths)
    return full and median(len(cell.words) for cell in cells) >= PROSE_WORDS


def _shows_figures(lines: Sequence[Sequence[Run]]) -> bool:
    texts = [" ".join(word.text for word in cell.words) for cells in lines for cell in cells]
    return sum(map(is_figure, texts)) >= SOME * len(texts)


def _has_figures(table: Table) -> bool:
    columns: dict[int, list[Cell]] = {}
    for cell in table.cells:
        columns.setdefault(cell.column, []).append(cell)
    return any(_is_figures(cells, table.rows - 1) for cells in columns.values())


def _is_figures(cells: Sequence[Cell], rows: int) -> bool:
    """Whether a column has a figure in most of its cells, and a cell in most of the rows."""
    body = [cell.text for cell in cells if cell.row > 0]
    return 2 * len(body) >= rows and sum(map(is_figure, body)) >= FIGURES * len(body) > 0


def is_figure(text: str) -> bool:
    """Whether text is a number, a date or a short code."""
    return any(map(str.isdigit, text)) and not _WORD.search(text)


def _has_head(lines: Sequence[Sequence[Run]], table: Table) -> bool:
    """Whether the first line alone is bold, over full rows: blocks of addresses end anywhere."""
    if table.columns < MANY_COLUMNS or len(table.cells) < FILLED * table.rows * table.columns:
        return False
    first, *others = [all(word.bold for cell in cells for word in cell.words) for cells in lines]
    return first and len(others) >= MANY_ROWS - 1 and 2 * sum(others) < len(others)


def _is_ruled(table: Table, rules: Sequence[Box]) -> bool:
    box = table.box
    across = {
        round(rule.y0)
        for rule in rules
        if rule.width >= RULE * box.width
        and box.y0 - box.height / table.rows <= rule.y0 <= box.y1 + box.height / table.rows
        and rule.x0 < box.x1 and rule.x1 > box.x0
    }  # fmt: skip
    least = MANY_ROWS if table.columns >= MANY_COLUMNS else max(MANY_ROWS, table.rows / 2)
    return len(across) >= least
