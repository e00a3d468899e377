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
FIGURES: Final = 0.6  # of a column's cells
PROSE_WORDS: Final = 4
PROSE_FILL: Final = 0.75
MANY_ROWS: Final = 3
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
    if _is_prose(lines, table.columns):
        return Look.BESIDE
    return (
        Look.TABLE
        if _has_figures(table) or _has_head(lines) or _is_ruled(table, rules)
        else Look.BESIDE
    )


def _labels(cell: Run) -> bool:
    return cell.words[-1].text.endswith(":") or (len(cell.words) > 1 and cell.words[0].text == ":")


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


def _has_figures(table: Table) -> bool:
    columns: dict[int, list[Cell]] = {}
    for cell in table.cells:
        columns.setdefault(cell.column, []).append(cell)
    return any(_is_figures(cells) for cells in columns.values())


def _is_figures(cells: Sequence[Cell]) -> bool:
    body = [cell for cell in cells if cell.row > 0] or cells
    return sum(map(is_figure, (cell.text for cell in body))) >= FIGURES * len(body)


def is_figure(text: str) -> bool:
    """Whether text is a number, a date or a short code."""
    return any(map(str.isdigit, text)) and not _WORD.search(text)


def _has_head(lines: Sequence[Sequence[Run]]) -> bool:
    """Whether the first line alone is bold, and there are rows enough under it."""
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
    return len(across) >= MANY_ROWS
