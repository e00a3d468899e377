"""Amounts with what their labels call them: candidates for the totals of an invoice."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from docmill.pipelines.invoice.layout import Cell, Figure, Row, Sheet, figures
from docmill.pipelines.invoice.roles import role
from docmill.reading.pages import Box

EARLIER: Final = 0.35  # what a number is worth behind which another one stands
FROM_ABOVE: Final = 0.7
ROWS_ABOVE: Final = 4
PROSE: Final = 70
LONG: Final = 6
_CONTEXT: Final = re.compile(
    r"(?:\b(?:auf|on|aus|(?<!höhe )von|sur|of|dari|x|de|every|bis|from|over)|(?<!\w)[x×*@])\s*$",
    re.IGNORECASE,
)
_LETTERS: Final = re.compile(r"[^\W\d_]\.?[^\W\d_]")


@dataclass(frozen=True, slots=True)
class Amount:
    """A number that a label or heading gives a role."""

    role: str
    value: Decimal
    weight: float
    figure: Figure
    label: str
    page: int


def amounts_of(sheet: Sheet, skipped: frozenset[int]) -> list[Amount]:
    """Every labelled amount outside the rows that are lines of the invoice."""
    found: list[Amount] = []
    for row in sheet.rows:
        if row.index not in skipped:
            found += _of_row(sheet, row)
    return found


def _of_row(sheet: Sheet, row: Row) -> Iterator[Amount]:
    inside = [figure for figure in figures(row, sheet.mark) if _money(figure)]
    for at, figure in enumerate(inside):
        label = _own_clause(inside[:at], figure) or label_of(row, figure)
        if _CONTEXT.search(label):
            continue
        label = label if len(label) <= PROSE else ""
        follower = inside[at + 1] if at + 1 < len(inside) else None
        last = follower is None or _label_between(row, figure, follower)
        kind, weight = role(label) if label else ("", 0.0)
        if kind:
            worth = weight * (1 if last else EARLIER) * (EARLIER if _id_like(figure) else 1)
            yield from _readings(kind, worth, figure, label)
        elif last and label:
            yield Amount("", figure.number.value, 0.0, figure, label, figure.cell.page)
        if not kind or not last or (at and not _label_between(row, inside[at - 1], figure)):
            yield from _by_heading(sheet, row, figure)


def _own_clause(before: list[Figure], figure: Figure) -> str:
    """In a sentence with several amounts, the words since the last one."""
    if not before or before[-1].cell is not figure.cell or len(figure.cell.text) < PROSE:
        return ""
    clause = figure.cell.text[before[-1].number.end : figure.number.start]
    return clause if _LETTERS.search(_without_numbers(clause)) else ""


def _readings(kind: str, weight: float, figure: Figure, label: str) -> Iterator[Amount]:
    for order, value in enumerate(figure.number.readings):
        page = figure.cell.page
        yield Amount(kind, value, weight * (1 if not order else 0.6), figure, label, page)


def _id_like(figure: Figure) -> bool:
    """Whether a number is rather a telephone's or a tax office's: long, without any mark."""
    return len(figure.text) > LONG and figure.text.isdigit()


def _money(figure: Figure) -> bool:
    return not figure.number.percent and len(figure.text.replace(" ", "")) <= 24


def label_of(row: Row, figure: Figure) -> str:
    """The words a number belongs to: before it in its cell, else the nearest cell to the left."""
    own = figure.cell.text[: figure.number.start]
    if _LETTERS.search(_without_numbers(own)):
        return own
    left = [cell for cell in row.cells if cell.box.x1 <= figure.cell.box.x0 + 1]
    for index in range(len(left) - 1, -1, -1):
        if _LETTERS.search(_without_money(left[index].text)):
            return _joined(left, index) + " " + own
    behind = figure.cell.text[figure.number.end :]
    if _LETTERS.search(behind) and len(behind) < 30:
        return behind
    right = next((cell.text for cell in row.cells if cell.box.x0 >= figure.cell.box.x1), "")
    return right if len(right) < 30 and not left and role(right)[0] else ""


def _joined(left: list[Cell], index: int) -> str:
    """A label cell, with the one before it where the two are one label with a wide gap."""
    text = left[index].text
    if index and not role(text)[0] and left[index].box.x0 - left[index - 1].box.x1 < 40:
        return left[index - 1].text + " " + text
    return text


def _without_money(text: str) -> str:
    return re.sub(r"\b(?:EUR|USD|IDR|GBP|Rp|CHF|INR|Rs|SGD|DEM)\b\.?", "", text)


def _without_numbers(text: str) -> str:
    return re.sub(r"[\d.,%]+", "", _without_money(text))


def _label_between(row: Row, first: Figure, second: Figure) -> bool:
    """Whether words stand between two numbers of a row, so that the second has its own label."""
    if first.cell is second.cell:
        between = first.cell.text[first.number.end : second.number.start]
        return bool(_LETTERS.search(_without_money(between)))
    inner = [
        c for c in row.cells if first.cell.box.x1 <= c.box.x0 and c.box.x1 <= second.cell.box.x0
    ]
    texts = [cell.text for cell in inner]
    texts += [first.cell.text[first.number.end :], second.cell.text[: second.number.start]]
    return any(_LETTERS.search(_without_money(text)) for text in texts)


def _by_heading(sheet: Sheet, row: Row, figure: Figure) -> Iterator[Amount]:
    """The role that the words right above a number give it; a bare figure is no amount there."""
    if not (figure.number.currency or set(figure.text) & set(".,")):
        return
    box = figure.box
    for above in reversed(sheet.rows[max(row.index - ROWS_ABOVE, 0) : row.index]):
        if above.page != row.page or box.y0 - above.y > 5 * box.height:
            return
        if heading := next((cell.text for cell in above.cells if _heads(cell, box)), None):
            kind, weight = role(heading)
            if kind:
                yield from _readings(kind, weight * FROM_ABOVE, figure, heading)
            return


def _heads(cell: Cell, box: Box) -> bool:
    """Whether a cell may be the heading of what stands below it: words, short and above it."""
    over = cell.box.x0 < box.x1 and cell.box.x1 > box.x0
    words = _LETTERS.search(cell.text) and not any(char.isdigit() for char in cell.text)
    return bool(over and words and cell.box.width <= 200)
