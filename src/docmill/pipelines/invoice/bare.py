"""Lines of a table without a heading: rows in which quantity x price is the last number."""

from collections.abc import Iterator
from itertools import combinations

from docmill.pipelines.invoice.headers import Column, Header
from docmill.pipelines.invoice.layout import Figure, Row, Sheet, figures
from docmill.pipelines.invoice.lines import Raw, Table, fits
from docmill.pipelines.invoice.roles import role

LETTERS = 3


def bare_lines(sheet: Sheet) -> Table:
    """Rows that add up by themselves; none where only a quantity of one would prove it."""
    lines = [raw for row in sheet.rows if (raw := _line(sheet, row))]
    telling = [raw for raw in lines if abs(raw.figures["quantity"].number.value) != 1]
    if not telling:
        return Table()
    first, last = lines[0].row.index, lines[-1].row.index
    return Table(tuple(lines), frozenset(range(first, last + 1)))


def _line(sheet: Sheet, row: Row) -> Raw | None:
    found = [figure for figure in figures(row, sheet.mark) if not figure.number.percent]
    words = sum(char.isalpha() for char in row.text)
    if not 3 <= len(found) <= 6 or words < LETTERS or role(row.text)[0] in {"gross", "due", "paid"}:
        return None
    return next(_proven(row, found), None)


def _proven(row: Row, found: list[Figure]) -> Iterator[Raw]:
    for one, other in combinations(found[:-1], 2):
        for quantity, price in ((one, other), (other, one)):
            known = {"quantity": quantity, "unit_price": price, "amount": found[-1]}
            if any(amount for *_, amount in fits(known)):
                yield Raw(_header(row, known), row, known, tuple(known.values()))


def _header(row: Row, known: dict[str, Figure]) -> Header:
    """Columns as this one row shows them."""
    first = next((cell for cell in row.cells if any(c.isalpha() for c in cell.text)), row.cells[0])
    columns = [Column("description", first.box.x0, first.box.x1, "")]
    columns += [Column(kind, fig.box.x0, fig.box.x1, "") for kind, fig in known.items()]
    made = sorted(columns, key=lambda column: column.x0)
    return Header(tuple(made), row.page, row.index, row.index)
