"""Lines made of what stands on the page: numbers by their arithmetic, words by their columns."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Final

from docmill.invoices import fields
from docmill.invoices.reader.amounts import find_role
from docmill.invoices.reader.layout import PrintedNumber
from docmill.invoices.reader.line_fits import fit_readings
from docmill.invoices.reader.lines import RawLine
from docmill.invoices.reader.model import Values, keep_found, number_value
from docmill.invoices.reader.table import Column, Header
from docmill.reading.labels import TextCell, TextRow, TextSheet
from docmill.reading.pages import Box, Value, Word, bounding_box

MARGIN: Final = 6.0
ROWS_UNDER: Final = 14
ROWS_OVER: Final = 3
LEADING: Final = 1.9
_WORD: Final = re.compile(r"(?<!\w)[^\W\d_]{3,}(?!\w)")
_LABELLED: Final = re.compile(r"[^:\d]+:\s*[\d.,]+\s?\w{0,3}%?")
_COUNT: Final = re.compile(r"(\d{1,4})\s?[x×X*]\s+(?=[^\W\d_])")  # `3 x Coffee`
_UNIT: Final = re.compile(r"[^\W\d_][\w²³.()/]{0,14}")


@dataclass(frozen=True, slots=True)
class ResolvedLine:
    """A line with its numbers decided."""

    raw: RawLine
    quantity: Decimal | None
    price: Decimal | None
    discount: Decimal | None
    amount: Decimal
    is_proven: bool


def resolve(raw: RawLine) -> ResolvedLine:
    """The first readings with which quantity x price - discount = amount; else the likeliest."""
    for quantity, price, off, amount in fit_readings(raw.figures):
        return ResolvedLine(raw, quantity, price, off or None, amount, is_proven=True)
    found = raw.figures

    def likeliest(kind: str) -> Decimal | None:
        figure = found.get(kind)
        return figure.number.value if figure else None

    amount = found["amount"].number.value
    return ResolvedLine(
        raw, likeliest("quantity"), likeliest("unit_price"), None, amount, is_proven=False
    )


def balance(lines: list[ResolvedLine], sums: set[Decimal]) -> list[ResolvedLine]:
    """Lines with the one amount read otherwise that makes them add up to a printed sum."""
    total = sum((line.amount for line in lines), Decimal(0))
    if total in sums:
        return lines
    for index, line in enumerate(lines):
        for other in line.raw.figures["amount"].number.readings[1:] if not line.is_proven else ():
            if total - line.amount + other in sums:
                return [*lines[:index], replace(line, amount=other), *lines[index + 1 :]]
    return lines


def make_lines(
    sheet: TextSheet, lines: Sequence[ResolvedLine], confidence: float
) -> tuple[Values, ...]:
    """The lines as results carry them."""
    starts = {line.raw.row.index for line in lines}
    return tuple(_make_line(sheet, line, starts, confidence) for line in lines)


def _make_line(sheet: TextSheet, line: ResolvedLine, starts: set[int], confidence: float) -> Values:
    """A field that no rule here names is what stands in the column of its name."""
    figures = line.raw.figures
    sure = confidence if not line.is_proven else max(confidence, 0.93)
    priced = min(sure, 0.85) if line.discount else sure
    words = _words_by_column(sheet, line, starts)
    found = {
        "description": _find_description(sheet, line, words, starts, sure - 0.1),
        "quantity": _number_value(figures.get("quantity"), line.quantity, sure),
        "unit": _find_unit(line, words),
        "unit_price": _number_value(figures.get("unit_price"), line.price, priced),
        "discount": _number_value(figures.get("discount"), line.discount, sure),
        "amount": _number_value(figures["amount"], line.amount, sure),
    }
    if not found["quantity"] and (words_of := found["description"]):
        found |= _split_count(words_of, line.amount)
    for name in (field.name for field in fields.LINE_FIELDS if field.name not in found):
        if figure := figures.get(name):
            found[name] = number_value(figure, figure.number.value, sure - 0.05)
        elif not fields.OF_LINE[name].is_number:
            found[name] = _text_value(words.get(name, []), line.raw.row.page, sure - 0.15)
    return keep_found(found)


def _find_description(
    sheet: TextSheet,
    line: ResolvedLine,
    words: dict[str, list[list[Word]]],
    starts: set[int],
    confidence: float,
) -> Value | None:
    """The words of the description's column, else of any other, else of the rows above."""
    page = line.raw.row.page
    if found := _text_value(words.get("description", []), page, confidence):
        return found
    other = [row for kind in ("", "position", "code", "date") for row in words.get(kind, [])]
    if wordy := [row for row in other if _is_wordy(row)]:
        return _text_value(wordy, page, confidence - 0.1)
    above: list[list[Word]] = []
    for row in reversed(sheet.rows[max(line.raw.row.index - ROWS_OVER, 0) : line.raw.row.index]):
        if row.page != page or row.index in starts or row.index <= line.raw.header.last:
            break
        first = next((cell for cell in row.cells if _is_wordy(cell.words)), None)
        above = [list(first.words), *above] if first else above
    return _text_value(above, page, confidence - 0.2)


def _split_count(words: Value, amount: Decimal) -> dict[str, Value]:
    """How many there are, where a line says so first and the amount is so many prices."""
    count = _COUNT.match(words.text)
    if not count or not int(count[1]) or (amount * 100) % int(count[1]):
        return {}
    rest = words.text[count.end() :]
    return {
        "quantity": Value(count[1], words.confidence, words.page, words.box, count[1]),
        "description": replace(words, value=rest, text=rest),
    }


def _is_wordy(words: Sequence[Word]) -> bool:
    """Whether words say something, and are no code, no code in brackets and no labelled number."""
    text = " ".join(word.text for word in words)
    return bool(_WORD.search(text)) and text[0] != "(" and not _LABELLED.fullmatch(text)


def _number_value(
    figure: PrintedNumber | None, number: Decimal | None, confidence: float
) -> Value | None:
    return number_value(figure, number, confidence) if figure and number is not None else None


def _text_value(rows: list[list[Word]], page: int, confidence: float) -> Value | None:
    words = [word for row in rows for word in row]
    if not words:
        return None
    text = " ".join(word.text for word in words)
    box = bounding_box([word.box for word in words])
    return Value(text, round(max(confidence, 0.1), 2), page, box, text)


def _words_by_column(
    sheet: TextSheet, line: ResolvedLine, starts: set[int]
) -> dict[str, list[list[Word]]]:
    """The words of a line's rows by the column they stand in."""
    found: dict[str, list[list[Word]]] = {}
    spans = _column_spans(line.raw.header)
    for row in _line_rows(sheet, line, starts):
        for kind, words in _split_by_column(row, spans, line.raw.taken).items():
            found.setdefault(kind, []).append(words)
    return found


def _line_rows(sheet: TextSheet, line: ResolvedLine, starts: set[int]) -> list[TextRow]:
    """The amount's row and the rows under it, up to the next line or a wider gap."""
    first = line.raw.row
    rows = [first]
    for row in sheet.rows[first.index + 1 : first.index + ROWS_UNDER]:
        last = rows[-1]
        apart = row.y - last.y > LEADING * max(row.height, last.height)
        if row.index in starts or row.page != first.page or apart or find_role(row.text)[0]:
            break
        rows.append(row)
    return rows


Span = tuple[str, float, float]


def _column_spans(header: Header) -> list[Span]:
    """The columns that hold words, each reaching over the free space to its right."""
    spans: list[Span] = []
    columns: list[Column] = sorted(header.columns, key=lambda column: column.x0)
    for at, column in enumerate(columns):
        right = columns[at + 1].x0 if at + 1 < len(columns) else 1e6
        spans.append((column.kind, column.x0 - MARGIN, right - MARGIN / 2))
    return spans


def _split_by_column(
    row: TextRow, spans: list[Span], taken: Sequence[PrintedNumber]
) -> dict[str, list[Word]]:
    found: dict[str, list[Word]] = {}
    boxes = [figure.box for figure in taken if figure.row == row.index]
    for cell in row.cells:
        for kind, words in _cut_cell(cell, spans, boxes):
            found.setdefault(kind, []).extend(words)
    return found


def _cut_cell(cell: TextCell, spans: list[Span], boxes: list[Box]) -> list[tuple[str, list[Word]]]:
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


def _find_unit(line: ResolvedLine, words: dict[str, list[list[Word]]]) -> Value | None:
    """The unit: in its own column, or the word next to the quantity."""
    figure = line.raw.figures.get("quantity")
    page = line.raw.row.page
    own = words.get("unit", [])
    if own and _UNIT.match(own[0][0].text):
        return _text_value(own[:1], page, 0.8)
    if figure is None:
        return None
    rest = figure.cell.text[figure.number.end :].split()
    if rest and _UNIT.fullmatch(rest[0]):
        nearest = [word for word in figure.cell.words if word.text == rest[0]]
        return Value(rest[0], 0.7, page, nearest[0].box if nearest else None, rest[0])
    beside = words.get("quantity", [])
    if beside and beside[0] and _UNIT.fullmatch(beside[0][0].text):
        return _text_value([beside[0][:1]], page, 0.7)
    return None
