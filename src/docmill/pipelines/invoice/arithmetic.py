"""The arithmetic of one line: quantity x price - discount = amount, in any reading."""

from collections.abc import Iterable
from decimal import Decimal
from itertools import product

from docmill.mappings.checking import slack
from docmill.pipelines.invoice.layout import Figure

Fit = tuple[Decimal, Decimal, Decimal, Decimal]


def fits(found: dict[str, Figure]) -> Iterable[Fit]:
    """Readings of quantity, price, discount and amount with which the line's arithmetic holds."""
    if "quantity" not in found or "unit_price" not in found:
        return
    discount = found.get("discount")
    readings = (found[name].number.readings for name in ("quantity", "unit_price", "amount"))
    for quantity, price, amount in product(*readings):
        for off in _offs(discount, quantity * price):
            if abs(quantity * price - off - amount) <= slack(quantity, price, amount):
                yield quantity, price, off, amount


def _offs(discount: Figure | None, full: Decimal) -> list[Decimal]:
    """What a discount may take off: nothing, a share, or an amount."""
    offs = [Decimal(0)]
    for value in discount.number.readings if discount else ():
        share = abs(full * value / 100)
        offs += [share] if discount and discount.number.percent else [share, abs(value), value * -1]
    return offs
