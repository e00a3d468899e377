"""Lines made of what stands on the page: numbers by their arithmetic, words by their columns."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Final

from docmill.pipelines.invoice.arithmetic import fits
from docmill.pipelines.invoice.headers import Column, Header
from docmill.pipelines.invoice.layout import Cell, Figure, Row, Sheet
from docmill.pipelines.invoice.lines import Raw
from docmill.pipelines.invoice.model import Item, Value, plain
from docmill.pipelines.invoice.roles import role
from docmill.reading.pages import Box, Word, around

MARGIN: Final = 6.0
ROWS_UNDER: Final = 14
ROWS_OVER: Final = 3
LEADING: Final = 1.9
_WORD: Final = re.compile(r"(?<!\w)[^\W\d_]{3,}(?!\w)")
_LABELLED: Final = re.compile(r"[^:\d]+:\s*[\d.,]+\s?\w{0,3}%?")
_UNIT: Final = re.compile(r"[^\W\d_][\w²³.()/]{0,14}")


@dataclass(frozen=True, slots=True)
class Resolved:
    """A line with its numbers decided."""

    raw: Raw
    quantity: Decimal | None
    price: Decimal | None
    discount: Decimal | None
    amount: Decimal
    proven: bool


def resolve(raw: Raw) -> Resolved:
    """The first readings with which quantity x price - discount = amount; else the likeliest."""
    for quantity, price, off, amount in fits(raw.figures):
        return Resolved(raw, quantity, price, off or None, amount, proven=True)
    found = raw.figures

    def likeliest(kind: str) -> Decimal | None:
        figure = found.get(kind)
        return figure.number.value if figure else None

    amount = found["amount"].number.value
    return Resolved(raw, likeliest("quantity"), likeliest("unit_price"), None, amount, proven=False)


def balanced(lines: list[Resolved], sums: set[Decimal]) -> list[Resolved]:
    """Lines with the one amount read otherwise that makes them add up to a printed sum."""
    total = sum((line.amount for line in lines), Decimal(0))
    if total in sums:
        return lines
    for index, line in enumerate(lines):
        for other in line.raw.figures["amount"].number.readings[1:] if not line.proven else ():
            if total - line.amount + other in sums:
                return [*lines[:index], replace(line, amount=other), *lines[index + 1 :]]
    return lines


def items_of(sheet: Sheet, lines: Sequence[Resolved], confidence: float) -> tuple[Item, ...]:
    """The lines as results carry them."""
    starts = {line.raw.row.index for line in lines}
    return tuple(_item(sheet, line, starts, confidence) for line in lines)


def _item(sheet: Sheet, line: Resolved, starts: set[int], confidence: float) -> Item:
    figures = line.raw.figures
    sure = confidence if not line.proven else max(confidence, 0.93)
    words = _words(sheet, line, starts)
    rate = figures.get("tax_rate")
    return Item(
        description=_described(sheet, line, words, starts, sure - 0.1),
        quantity=_value(figures.get("quantity"), line.quantity, sure),
        unit=_unit(line, words),
        unit_price=_value(
            figures.get("unit_price"), line.price, min(sure, 0.85) if line.discount else sure
        ),
        discount=_value(figures.get("discount"), line.discount, sure),
        amount=_value(figures["amount"], line.amount, sure),
        code=_text(words.get("code", []), line.raw.row.page, sure - 0.15),
        tax_rate=_value(rate, rate.number.value if rate else None, sure - 0.05),
    )


def _described(
    sheet: Sheet,
    line: Resolved,
    words: dict[str, list[list[Word]]],
    starts: set[int],
    confidence: float,
) -> Value | None:
    """The words of the description's column, else of any other, else of the rows above."""
    page = line.raw.row.page
    if found := _text(words.get("description", []), page, confidence):
        return found
    other = [row for kind in ("", "position", "code", "date") for row in words.get(kind, [])]
    if wordy := [row for row in other if _is_wordy(row)]:
        return _text(wordy, page, confidence - 0.1)
    above: list[list[Word]] = []
    for row in reversed(sheet.rows[max(line.raw.row.index - ROWS_OVER, 0) : line.raw.row.index]):
        if row.page != page or row.index in starts or row.index <= line.raw.header.last:
            break
        first = next((cell for cell in row.cells if _is_wordy(cell.words)), None)
        above = [list(first.words), *above] if first else above
    return _text(above, page, confidence - 0.2)


def _is_wordy(words: Sequence[Word]) -> bool:
    """Whether words say something, and are no code, no code in brackets and no labelled number."""
    text = " ".join(word.text for word in words)
    return bool(_WORD.search(text)) and text[0] != "(" and not _LABELLED.fullmatch(text)


def _value(figure: Figure | None, number: Decimal | None, confidence: float) -> Value | None:
    if figure is None or number is None:
        return None
    page = figure.cell.page
    return Value(plain(number), round(confidence, 2), page, figure.box, figure.text)


def _text(rows: list[list[Word]], page: int, confidence: float) -> Value | None:
    words = [word for row in rows for word in row]
    if not words:
        return None
    text = " ".join(word.text for word in words)
    box = around([word.box for word in words])
    return Value(text, round(max(confidence, 0.1), 2), page, box, text)


def _words(sheet: Sheet, line: Resolved, starts: set[int]) -> dict[str, list[list[Word]]]:
    """The words of a line's rows by the column they stand in."""
    found: dict[str, list[list[Word]]] = {}
    spans = _spans(line.raw.header)
    for row in _rows(sheet, line, starts):
        for kind, words in _by_column(row, spans, line.raw.taken).items():
            found.setdefault(kind, []).append(words)
    return found


def _rows(sheet: Sheet, line: Resolved, starts: set[int]) -> list[Row]:
    """The amount's row and the rows under it, up to the next line or a wider gap."""
    first = line.raw.row
    rows = [first]
    for row in sheet.rows[first.index + 1 : first.index + ROWS_UNDER]:
        last = rows[-1]
        apart = row.y - last.y > LEADING * max(row.height, last.height)
        if row.index in starts or row.page != first.page or apart or role(row.text)[0]:
            break
        rows.append(row)
    return rows


Span = tuple[str, float, float]


def _spans(header: Header) -> list[Span]:
    """The columns that hold words, each reaching over the free space to its right."""
    spans: list[Span] = []
    columns: list[Column] = sorted(header.columns, key=lambda column: column.x0)
    for at, column in enumerate(columns):
        right = columns[at + 1].x0 if at + 1 < len(columns) else 1e6
        spans.append((column.kind, column.x0 - MARGIN, right - MARGIN / 2))
    return spans


def _by_column(row: Row, spans: list[Span], taken: Sequence[Figure]) -> dict[str, list[Word]]:
    found: dict[str, list[Word]] = {}
    boxes = [figure.box for figure in taken if figure.row == row.index]
    for cell in row.cells:
        for kind, words in _cut(cell, spans, boxes):
            found.setdefault(kind, []).extend(words)
    return found


def _cut(cell: Cell, spans: list[Span], boxes: list[Box]) -> list[tuple[str, list[Word]]]:
    """The words of a cell that are no number of a column, with the kind of their column."""
    free = [
        word
        for word in cell.words
        if not any(box.x0 - 1 <= word.box.x0 and word.box.x1 <= box.x1 + 1 for box in boxes)
    ]
    parts: list[tuple[str, list[Word]]] = []
    kind = ""
    for word in free:
        inside = [name for name, left, right in spans if left <= word.box.x0 < right]
        here = inside[-1] if inside else "description" if not spans else ""
        if parts and kind == "description" and here != "quantity" and word is not free[0]:
            here = kind  # words run on over the edge of their column
        kind = here or kind
        parts.append((kind, [word]))
    return parts


def _unit(line: Resolved, words: dict[str, list[list[Word]]]) -> Value | None:
    """The unit: in its own column, or the word next to the quantity."""
    figure = line.raw.figures.get("quantity")
    page = line.raw.row.page
    own = words.get("unit", [])
    if own and _UNIT.match(own[0][0].text):
        return _text(own[:1], page, 0.8)
    if figure is None:
        return None
    rest = figure.cell.text[figure.number.end :].split()
    if rest and _UNIT.fullmatch(rest[0]):
        nearest = [word for word in figure.cell.words if word.text == rest[0]]
        return Value(rest[0], 0.7, page, nearest[0].box if nearest else None, rest[0])
    beside = words.get("quantity", [])
    if beside and beside[0] and _UNIT.fullmatch(beside[0][0].text):
        return _text([beside[0][:1]], page, 0.7)
    return None
