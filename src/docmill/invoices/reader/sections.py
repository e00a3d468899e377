"""Lines in several tables, or in groups with sums of their own: rows that come to a known sum."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import product
from typing import Final

from docmill.invoices.reader.amounts import find_role
from docmill.invoices.reader.line_fits import fit_readings
from docmill.invoices.reader.lines import LineTable, RawLine, list_amount_rows
from docmill.invoices.reader.table import find_headers
from docmill.invoices.values import NOTHING
from docmill.reading.labels import TextSheet

MOST_ROWS: Final = 400
LETTERS: Final = 2
_SUMS: Final = frozenset({"net", "gross", "carried", "base", "other_base"})
_NOT_SOLD: Final = frozenset({"discount", "rounding", "withholding"})
_OTHERS: Final = frozenset({"tax", "due", "paid", "other", "charge"})
_NO_LINES: Final = (_SUMS | _NOT_SOLD | _OTHERS, _SUMS | _NOT_SOLD)


@dataclass(frozen=True, slots=True)
class SectionRow:
    """A row with an amount, which is a line or what other rows come to."""

    raw: RawLine
    value: Decimal
    role: str
    is_priced: bool
    is_proven: bool


def find_sections(
    sheet: TextSheet, table: LineTable, sums: Iterable[tuple[Decimal, int]]
) -> LineTable | None:
    """The rows under any heading that come to one of some sums, each with the row it stands in.

    Rows that are the sum of those above them, or of those below, are no lines.
    """
    known = {raw.row.index: raw for raw in table.lines}
    rows = list(_list_rows(sheet, known))[:MOST_ROWS]
    proven = {row.raw.row.index for row in rows if row.is_proven}
    for value, end in sums:
        above = [row for row in rows if row.raw.row.index < end]
        for lines in _split_rows(above):
            found = {row.raw.row.index for row in lines}
            whole = len(lines) > 1 and sum((row.value for row in lines), NOTHING) == value
            if whole and {index for index in proven if index < end} <= found:
                return _make_table([row.raw for row in lines], table)
    return None


def _list_rows(sheet: TextSheet, known: dict[int, RawLine]) -> Iterator[SectionRow]:
    headers = find_headers(sheet, loose=True)
    for at, header in enumerate(headers):
        end = headers[at + 1].first if at + 1 < len(headers) else len(sheet.rows)
        for found in list_amount_rows(sheet, header, sheet.rows[header.last + 1 : end]):
            if sum(map(str.isalpha, found.row.text)) < LETTERS:
                continue
            raw = known.get(found.row.index, found)
            fit = next(iter(fit_readings(raw.figures)), None)
            value = fit[3] if fit else raw.figures["amount"].number.value
            priced = "quantity" in raw.figures or "unit_price" in raw.figures
            proven = fit is not None and abs(fit[0]) != 1
            yield SectionRow(raw, value, find_role(found.row.text)[0], priced, proven)


def _split_rows(rows: Sequence[SectionRow]) -> Iterator[Sequence[SectionRow]]:
    """The ways to tell the lines among rows from sums of those above or below."""
    for roles, lone in product(_NO_LINES, (False, True)):
        yield _drop_sums(rows, roles, lone=lone)
        if not _has_foot(rows):
            yield _drop_sums(rows[::-1], roles, lone=lone)[::-1]


def _drop_sums(
    rows: Sequence[SectionRow], roles: frozenset[str], *, lone: bool
) -> Sequence[SectionRow]:
    """Rows without those that are called otherwise, and what the rows since the last sum come to.

    `lone` says whether a single row may have a sum. Where groups have sums, all of them do.
    """
    lines: list[SectionRow] = []
    since = 0
    for row in rows:
        group = lines[since:]
        several = lone or len(group) > 1 or row.role in _SUMS
        bare = not row.is_priced and row.value and several
        if bare and row.value in (_add(group), _add(lines)):
            since = len(lines)
        elif row.is_proven or (row.role not in roles and not _takes(row)):
            lines.append(row)
    return lines if since in {0, len(lines)} else ()


def _takes(row: SectionRow) -> bool:
    """Whether a row that is called no line is what is taken off, or a share of other rows."""
    return bool(row.role) and (row.value <= 0 or "%" in row.raw.row.text)


def _has_foot(rows: Sequence[SectionRow]) -> bool:
    """Whether a row is called the sum that the rows above it come to."""
    return any(
        row.role in _SUMS and not row.is_proven and row.value == _add(rows[:at])
        for at, row in enumerate(rows)
    )


def _add(rows: Iterable[SectionRow]) -> Decimal:
    return sum((row.value for row in rows), NOTHING)


def _make_table(lines: Sequence[RawLine], table: LineTable) -> LineTable:
    """The lines, and the rows of each heading from it to its last line."""
    rows = set(table.rows)
    for raw in lines:
        rows |= set(range(raw.header.first, raw.row.index + 1))
    return LineTable(tuple(lines), frozenset(rows))
