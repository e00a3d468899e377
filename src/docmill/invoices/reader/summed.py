"""Lines without a heading that says so: amounts under each other that come to a printed sum."""

from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from typing import Final

from docmill.invoices.reader.amounts import LabelledAmount, find_amounts, find_role
from docmill.invoices.reader.layout import PrintedNumber, find_figures
from docmill.invoices.reader.lines import LineTable, RawLine, make_row_header, prove_line
from docmill.reading.labels import TextRow, TextSheet

ALIGNED: Final = 4.0  # points: how far the edges of one column may lie apart
REACH: Final = 60  # rows above a sum
LETTERS: Final = 3
MOST_SUMS: Final = 8
_SUMS: Final = frozenset({"net", "gross", "due"})
_TAXED: Final = frozenset({"net", "tax", "base"})

Placed = tuple[TextRow, PrintedNumber]


def find_summed_lines(sheet: TextSheet) -> LineTable:
    """The rows right above a net or a total whose amounts come to it; the longest such run."""
    amounts = find_amounts(sheet, frozenset())
    # a sum over the first tax is a net, whatever it is called
    taxed = [item.figure.row for item in amounts if item.role in _TAXED and item.weight > 0.5]
    first = min(taxed, default=len(sheet.rows))
    sums = [
        item
        for item in amounts
        if item.role in _SUMS and item.weight > 0.5 and item.value > 0 and item.figure.is_marked
    ]
    runs = [
        run
        for item in sums[:MOST_SUMS]
        for run in _find_runs(sheet, item, taxed=item.figure.row > first)
    ]
    best: Sequence[Placed] = max(runs, key=len, default=())
    if not best:
        return LineTable()
    lines = [_make_line(sheet, row, figure) for row, figure in best]
    return LineTable(tuple(lines), frozenset(raw.row.index for raw in lines))


def _find_runs(
    sheet: TextSheet, total: LabelledAmount, *, taxed: bool
) -> Iterable[Sequence[Placed]]:
    """For each column of amounts above a sum, from the right, the rows that come to it."""
    end, named = total.figure.row, total.role == "net"
    above = [
        (row, figure)
        for row in reversed(sheet.rows[max(end - REACH, 0) : end])
        if row.page == total.page and _may_be_line(row, charges=not taxed or named, levies=named)
        for figure in find_figures(row, sheet.mark)
        if figure.is_marked and not figure.number.percent
    ]
    for side in (_right_edge, _left_edge):
        for column in _split_columns(above, side):
            if run := _take_run(column, total.value):
                yield run


def _right_edge(placed: Placed) -> float:
    return placed[1].box.x1


def _left_edge(placed: Placed) -> float:
    return placed[1].box.x0


def _split_columns(
    above: Sequence[Placed], side: Callable[[Placed], float]
) -> Iterable[Sequence[Placed]]:
    """Amounts under each other by one of their edges, the columns from right to left."""
    edges: list[float] = []
    for placed in above:
        if not any(abs(edge - side(placed)) <= ALIGNED for edge in edges):
            edges.append(side(placed))
    for edge in sorted(edges, reverse=True):
        yield [placed for placed in above if abs(side(placed) - edge) <= ALIGNED]


def _may_be_line(row: TextRow, *, charges: bool, levies: bool) -> bool:
    """Whether a row may be a line.

    What comes to a net may be a charge or, without a rate, a levy, as on bills for power.
    """
    kinds = {"", "charge"} if charges else {""}
    kinds |= {"tax"} if levies and "%" not in row.text else set()
    return sum(map(str.isalpha, row.text)) >= LETTERS and find_role(row.text)[0] in kinds


def _take_run(column: Sequence[Placed], total: Decimal) -> Sequence[Placed]:
    """The rows from the lowest one upwards that come to a total, from top to bottom."""
    left = total
    for count, (_, figure) in enumerate(column, 1):
        left -= figure.number.value
        if left == 0:
            return column[count - 1 :: -1]
        if left < 0:
            break
    return ()


def _make_line(sheet: TextSheet, row: TextRow, amount: PrintedNumber) -> RawLine:
    """A line, with quantity and price where two numbers before its amount come to it."""
    found = [figure for figure in find_figures(row, sheet.mark) if figure.box.x1 <= amount.box.x1]
    plain = [figure for figure in found if not figure.number.percent]
    shares = [figure for figure in found if figure.number.percent]
    proven = next(prove_line(row, plain, shares), None) if len(plain) > 2 else None
    own = {"amount": amount}
    return proven or RawLine(make_row_header(row, own), row, own, (amount,))
