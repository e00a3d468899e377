"""One line as Coretax writes it: price, quantity and discount of two decimals, and their base."""

from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Final

from docmill.core.faults import Faulted
from docmill.mappings.amounts import NOTHING, ONE, cents
from docmill.mappings.figures import Figures
from docmill.mappings.scope import Scope

CLOSE: Final = ONE  # a rupiah: what rounding on paper may cost a line


@dataclass(frozen=True, slots=True)
class Priced:
    index: int
    price: Decimal
    quantity: Decimal
    discount: Decimal

    @property
    def base(self) -> Decimal:
        """From the numbers as written, because that is what the importer recomputes."""
        return cents(self.price * self.quantity - self.discount)


def priced(scope: Scope, line: Figures, *, rate: Decimal, proven: bool) -> Priced:
    """Price x quantity when two decimals can hold them, else one lump of the same money."""
    worth = _worth(scope, line, proven=proven, tolerance=CLOSE / rate)
    discount = cents(line.discount * rate)
    quantity, price = _filled(line, worth)
    if quantity is not None and price is not None:
        row = _unsigned(Priced(line.index, cents(price * rate), cents(quantity), discount))
        if abs(row.base - worth * rate) < CLOSE:
            return row
    if line.quantity not in (None, ONE):
        scope.findings.flag(
            f"lines.{line.index}.quantity",
            "written as 1: with two decimals its quantity and price do not make its amount",
        )
    return _unsigned(Priced(line.index, cents((worth + line.discount) * rate), ONE, discount))


def _worth(scope: Scope, line: Figures, *, proven: bool, tolerance: Decimal) -> Decimal:
    """What the line comes to, before rounding. `proven`: the printed amounts add up to the net."""
    path = f"lines.{line.index}.amount"
    if line.disagrees(tolerance):
        scope.findings.flag(path, "is not quantity x price - discount")
        if proven and line.amount is not None:
            return line.amount
    if (worth := line.computed if line.computed is not None else line.amount) is not None:
        return worth
    scope.findings.flag(path, "the line has no amount")
    return NOTHING if line.price is None else line.price - line.discount


def _filled(line: Figures, worth: Decimal) -> tuple[Decimal | None, Decimal | None]:
    """Quantity and price, the one that is missing from the other."""
    quantity, price, whole = line.quantity, line.price, worth + line.discount
    if quantity is None and price is None:
        return ONE, whole
    if price is None and quantity:
        return quantity, whole / quantity
    if quantity is None and price:
        return whole / price, price
    return quantity, price


def _unsigned(row: Priced) -> Priced:
    """Two minus signs make a plus; a line that takes money away keeps its one."""
    if row.base < NOTHING:
        return row
    return replace(row, price=abs(row.price), quantity=abs(row.quantity))


def without_negatives(scope: Scope, rows: list[Priced]) -> list[Priced]:
    """A line below zero has no place in the file: it becomes a discount on the largest others."""
    owed = -sum((row.base for row in rows if row.base < NOTHING), NOTHING)
    if not owed:
        return rows
    kept = {row.index: row for row in rows if row.base >= NOTHING}
    if sum((row.base for row in kept.values()), NOTHING) < owed:
        raise Faulted(
            "GW_4XX",
            "the lines come to less than nothing: Coretax takes returns and credit notes apart from"
            " tax invoices; choose another mapping",
        )
    for row in sorted(kept.values(), key=lambda row: -row.base):
        taken = min(owed, row.base)
        kept[row.index] = replace(row, discount=row.discount + taken)
        owed -= taken
    for row in rows:
        if row.index not in kept:
            scope.findings.flag(f"lines.{row.index}.amount", "below zero: written as a discount")
    return list(kept.values())
