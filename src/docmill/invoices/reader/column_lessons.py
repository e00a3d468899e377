"""What a re-assigned column teaches, and an invoice whose lines are read by it."""

from collections import Counter
from collections.abc import Mapping, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any, Final

from docmill.invoices.fields import OF_LINE
from docmill.invoices.reader import find_table, read_invoice
from docmill.invoices.reader.columns import TaughtColumn, find_column_of, teach_column
from docmill.invoices.reader.lessons import (
    Learned,
    LessonData,
    count_broken,
    fits_layout,
    name_lesson,
)
from docmill.invoices.reader.model import Invoice
from docmill.invoices.reader.table import Column, Header
from docmill.reading.labels import TextSheet, squeeze
from docmill.reading.pages import Box

PREFIX: Final = "lines."  # of the field that a lesson about a column names: `lines.code`
PROVEN: Final = 0.8  # of the corrected cells: so many the lesson itself must read right

CorrectedCell = Mapping[str, Any]  # value, page, box


def read_by_columns(sheet: TextSheet, lessons: Sequence[LessonData]) -> tuple[Invoice, Learned]:
    """The invoice with its columns as taught, and which cells that gave.

    As it reads without lessons where with them less adds up.
    """
    plain, known = read_invoice(sheet), _list_lessons(sheet, lessons)
    if not known:
        return plain, {}
    read = read_invoice(sheet, [column for column, _ in known])
    if not read.lines or count_broken(read) > count_broken(plain):
        return plain, {}
    learned = {
        f"lines[{index}].{column.kind}": name_lesson(lesson)
        for column, lesson in known
        for index, line in enumerate(read.lines)
        if column.kind in line and not _is_read_so(plain, index, line, column.kind)
    }
    return (read, learned) if learned else (plain, {})


def _is_read_so(plain: Invoice, index: int, line: Mapping[str, Any], kind: str) -> bool:
    before = plain.lines[index].get(kind) if index < len(plain.lines) else None
    return before is not None and before.value == line[kind].value


def _list_lessons(
    sheet: TextSheet, lessons: Sequence[LessonData]
) -> list[tuple[TaughtColumn, LessonData]]:
    """The columns that lessons of this layout name, the newest first."""
    found: list[tuple[TaughtColumn, LessonData]] = []
    for lesson in lessons:
        place, kind = lesson.get("column"), str(lesson["field"]).removeprefix(PREFIX)
        if place and kind in OF_LINE and fits_layout(sheet, lesson):
            column = TaughtColumn(
                kind, str(place["heading"]), float(place["x0"]), float(place["x1"])
            )
            found.append((column, lesson))
    return found


def teach_columns(
    sheet: TextSheet,
    corrected: Mapping[str, Sequence[CorrectedCell]],
    known: Sequence[LessonData],
) -> list[dict[str, Any]]:
    """What corrected cells, by the name of their field, teach of the columns they stand in.

    Only what reads this very document right is taught.
    """
    before = [column for column, _ in _list_lessons(sheet, known)]
    headers = _find_headers(sheet, before)
    taught = [
        teach_column(kind, column)
        for kind, cells in corrected.items()
        if (column := _find_column(headers, cells)) and column.kind != kind
    ]
    if not taught:
        return []
    read = read_invoice(sheet, [*taught, *before])
    return [
        {"field": PREFIX + each.kind, "column": _describe_column(each)}
        for each in taught
        if _is_proven(read, each.kind, corrected[each.kind])
    ]


def _describe_column(column: TaughtColumn) -> dict[str, Any]:
    return {"heading": column.heading, "x0": round(column.x0, 1), "x1": round(column.x1, 1)}


def _find_headers(sheet: TextSheet, taught: Sequence[TaughtColumn]) -> dict[int, Header]:
    """The heading over the lines of each page."""
    return {raw.row.page: raw.header for raw in find_table(sheet, taught).lines}


def _find_column(headers: Mapping[int, Header], cells: Sequence[CorrectedCell]) -> Column | None:
    """The column in which most of these cells stand."""
    found = [
        (squeeze(column.text), column)
        for cell in cells
        if (header := headers.get(int(cell["page"])))
        and (column := find_column_of(header, Box(*cell["box"])))
    ]
    votes = Counter((text, round(column.x0)) for text, column in found)
    if not votes or 2 * max(votes.values()) <= len(cells):
        return None
    (text, x0), _ = votes.most_common(1)[0]
    return next(column for said, column in found if (said, round(column.x0)) == (text, x0))


def _is_proven(invoice: Invoice, kind: str, cells: Sequence[CorrectedCell]) -> bool:
    read = Counter(_plain(line[kind].value) for line in invoice.lines if kind in line)
    wanted = Counter(_plain(str(cell["value"])) for cell in cells)
    return (read & wanted).total() >= PROVEN * len(cells)


def _plain(value: str) -> str:
    try:
        return f"{Decimal(value).normalize():f}"
    except InvalidOperation:
        return squeeze(value)
