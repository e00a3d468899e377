"""The arithmetic of one line: quantity x price - discount = amount, in any reading.

A price may be that of 10, 100 or 1,000 pieces, or in hundredths of the currency.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from decimal import Decimal
from itertools import product
from typing import Final

from docmill.invoices.checks import line_amount, rounding_slack
from docmill.invoices.reader.headings import PIECES
from docmill.invoices.reader.layout import PrintedNumber
from docmill.invoices.reader.table import Header, PlacedRow
from docmill.reading.numbers import Number

Fit = tuple[Decimal, Decimal, Decimal, Decimal]
Figures = dict[str, PrintedNumber]

PER: Final = "price_base"  # for how many pieces a price is
BASES: Final = frozenset(map(Decimal, (10, 100, 1000)))
_CENTS: Final = re.compile(
    r"(?<![^\W\d_])(?:ct|cts|cents?|centimes?|céntimos?|pence|p(?=/))(?![^\W\d_])", re.IGNORECASE
)


def fit_readings(found: Figures) -> Iterable[Fit]:
    """Readings of quantity, price, discount and amount with which the line's arithmetic holds."""
    if "quantity" not in found or "unit_price" not in found:
        return
    discount = found.get("discount")
    base = found[PER].number.value if PER in found else Decimal(1)
    readings = [found[name].number.readings for name in ("quantity", "unit_price", "amount")]
    for quantity, price, amount in product(*readings):
        count = quantity / base
        for off in _discount_amounts(discount, count * price):
            gap = abs(line_amount(count, price, off) - amount)
            if gap <= rounding_slack(count, price, amount):
                yield quantity, price, off, amount


def _discount_amounts(discount: PrintedNumber | None, full: Decimal) -> list[Decimal]:
    """What a discount may take off: nothing, a share, or an amount."""
    offs = [Decimal(0)]
    for value in discount.number.readings if discount else ():
        share = abs(full * value / 100)
        offs += [share] if discount and discount.number.percent else [share, abs(value), value * -1]
    return offs


def adds_up(figures: Figures) -> bool:
    return any(True for _ in fit_readings(figures))


def is_based(figures: Figures) -> bool:
    """Whether a number of the row, and no heading, says for how many pieces the price is."""
    return PER in figures and figures[PER].number.end > 0


def complete_figures(header: Header, row: PlacedRow, figures: Figures) -> Iterator[Figures]:
    """The numbers of a line as its columns have them, then with what may explain its amount."""
    if "unit_price" not in figures:
        yield figures
        return
    based = _add_base(header, row, figures)
    yield based
    yield from _with_shares(row, based)
    if priced := _price_in_cents(header, based):
        yield priced
    left, right = figures["unit_price"].box.x1, figures["amount"].box.x0
    between = (
        item
        for item in (*row.loose, *row.numbers.values())
        if left <= item.box.x0 and item.box.x1 <= right
    )
    others = [item for item in between if item.number.value in BASES and item.text.isdigit()]
    for figure in others:
        tried = {**figures, PER: figure}
        yield tried
        yield from _with_shares(row, tried)


def _with_shares(row: PlacedRow, figures: Figures) -> Iterator[Figures]:
    """The numbers with a share that stands in no column."""
    if "discount" in figures:
        return
    for figure in (*row.loose, *row.numbers.values()):
        if figure.number.percent:
            yield {**figures, "discount": figure}


def _add_base(header: Header, row: PlacedRow, figures: Figures) -> Figures:
    """The numbers with for how many pieces the price is, where a column or a heading says so."""
    if figure := row.figure_of(header, PER):
        return {**figures, PER: figure} if figure.number.value in BASES else figures
    heading = " ".join([column.text for column in header.columns if column.kind == "unit_price"])
    if not (base := PIECES.search(heading)):
        return figures
    value = Decimal(base[1].replace(".", "").replace(",", ""))
    number = Number((value,), 0, 0)
    return {**figures, PER: replace(figures["unit_price"], number=number)}


def _price_in_cents(header: Header, figures: Figures) -> Figures | None:
    """The numbers with a price in the currency's unit that is printed in hundredths of it."""
    price = figures["unit_price"]
    behind = price.cell.text[price.number.end :][:10]
    headings = [column.text for column in header.columns if column.kind == "unit_price"]
    if not any(map(_CENTS.search, (behind, *headings))):
        return None
    readings = tuple(reading / 100 for reading in price.number.readings)
    number = replace(price.number, readings=readings)
    return {**figures, "unit_price": replace(price, number=number)}
