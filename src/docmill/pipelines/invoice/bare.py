"""Lines without a heading that helps: rows in which quantity x price is the last number."""

from collections.abc import Iterator, Sequence
from itertools import combinations, product
from statistics import median
from typing import Final

from docmill.pipelines.invoice.arithmetic import fits
from docmill.pipelines.invoice.headers import Column, Header
from docmill.pipelines.invoice.layout import Figure, Row, Sheet, figures
from docmill.pipelines.invoice.lines import Raw, Table, body
from docmill.pipelines.invoice.roles import role

LETTERS: Final = 3
ALIGNED: Final = 6.0


def bare_lines(sheet: Sheet) -> Table:
    """Rows that add up by themselves, and those in the same columns.

    None where only a quantity of one would prove it.
    """
    lines = [raw for row in sheet.rows if (raw := _line(sheet, row))]
    telling = [raw for raw in lines if abs(raw.figures["quantity"].number.value) != 1]
    if not telling:
        return Table()
    first, last = lines[0].row.index, lines[-1].row.index
    if header := _common(lines):
        found = body(sheet, header, sheet.rows[first:])
        lines = found if len(found) >= len(lines) else lines
        last = lines[-1].row.index
    return Table(tuple(lines), frozenset(range(first, last + 1)))


def _line(sheet: Sheet, row: Row) -> Raw | None:
    found = figures(row, sheet.mark)
    plain = [figure for figure in found if not figure.number.percent]
    words = sum(char.isalpha() for char in row.text)
    if not 3 <= len(plain) <= 6 or words < LETTERS or role(row.text)[0] in {"gross", "due", "paid"}:
        return None
    shares = [figure for figure in found if figure.number.percent]
    return next(_proven(row, plain, shares), None)


def _proven(row: Row, found: list[Figure], shares: list[Figure]) -> Iterator[Raw]:
    pairs = [both for one in combinations(found[:-1], 2) for both in (one, one[::-1])]
    for (quantity, price), share in product(pairs, (None, *shares)):
        tried = {"quantity": quantity, "unit_price": price, "amount": found[-1]}
        tried |= {"discount": share} if share else {}
        if any(amount for *_, amount in fits(tried)):
            yield Raw(_header(row, tried), row, tried, tuple(tried.values()))


def _header(row: Row, known: dict[str, Figure]) -> Header:
    """Columns as this one row shows them."""
    columns = [Column("description", _words_at(row), _words_at(row) + 1, "")]
    columns += [Column(kind, fig.box.x0, fig.box.x1, "") for kind, fig in known.items()]
    made = sorted(columns, key=lambda column: column.x0)
    return Header(tuple(made), row.page, row.index, row.index)


def _words_at(row: Row) -> float:
    first = next((cell for cell in row.cells if any(c.isalpha() for c in cell.text)), row.cells[0])
    return first.box.x0


def _common(lines: Sequence[Raw]) -> Header | None:
    """The columns that most rows share, by where their numbers end; none where they differ."""
    first = lines[0].row
    ends = [raw.figures["amount"].box.x1 for raw in lines]
    if sum(abs(end - median(ends)) < ALIGNED for end in ends) * 2 <= len(lines):
        return None
    left = min(_words_at(raw.row) for raw in lines)
    columns = [Column("description", left, left + 1, "")]
    for kind in ("quantity", "unit_price", "discount", "amount"):
        boxes = [raw.figures[kind].box for raw in lines if kind in raw.figures]
        if boxes:
            x0, x1 = median(box.x0 for box in boxes), median(box.x1 for box in boxes)
            columns.append(Column(kind, x0, x1, ""))
    made = tuple(sorted(columns, key=lambda column: column.x0))
    return Header(made, first.page, first.index - 1, first.index - 1)
