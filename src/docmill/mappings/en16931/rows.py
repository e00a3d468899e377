"""Lines as EN 16931 wants them: a price never below zero, an amount of two decimals, a rate."""

from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Final

from docmill.mappings.amounts import CENT, HUNDRED, NOTHING, ONE, cents
from docmill.mappings.en16931 import rates
from docmill.mappings.en16931.totals import Totals, totals
from docmill.mappings.figures import Figures, figures
from docmill.mappings.scope import Scope
from docmill.mappings.texts import at, clean

_FINE: Final = Decimal("0.000001")  # of a price that was computed, not printed


@dataclass(frozen=True, slots=True)
class Row:
    index: int
    number: int
    description: str
    code: str
    unit: str
    quantity: Decimal
    unit_price: Decimal | None
    discount: Decimal
    amount: Decimal | None
    tax_rate: Decimal | None
    category: str

    @property
    def percent(self) -> Decimal | None:
        """The rate as written: what is not subject to VAT has none."""
        return None if self.category == rates.OUTSIDE else self.tax_rate


def rows(scope: Scope) -> list[Row]:
    lines = scope.lines()
    found = [figures(line, index) for index, line in enumerate(lines)]
    told = scope.once(totals)
    one_rate = rates.overall(told.net, told.tax, lines=len(lines))
    made = [
        _row(scope, line, numbers, rate=_rate(scope, line, one_rate, index=numbers.index))
        for line, numbers in zip(lines, found, strict=True)
    ]
    return _net_of_tax(scope, made, told)


def _rate(scope: Scope, line: object, one_rate: Decimal | None, *, index: int) -> Decimal | None:
    rate = rates.printed(line)
    rate = one_rate if rate is None else rate
    if rate is None:
        scope.findings.flag(
            f"lines.{index}.tax_rate", "not printed, and the totals do not prove one"
        )
    return rate


def _row(scope: Scope, line: object, numbers: Figures, *, rate: Decimal | None) -> Row:
    amount = None if numbers.worth is None else cents(numbers.worth)
    quantity, price = numbers.quantity, numbers.price
    quantity = ONE if quantity is None or (quantity == NOTHING and amount) else quantity
    if price is None and amount is not None and quantity:
        price = (amount + numbers.discount) / quantity
        price = price if price == price.quantize(CENT) else price.quantize(_FINE)
    if price is not None and price < NOTHING:
        quantity, price = -quantity, -price
    return Row(
        index=numbers.index,
        number=numbers.index + 1,
        description=clean(at(line, "description")),
        code=clean(at(line, "code")),
        unit=clean(at(line, "unit")),
        quantity=quantity,
        unit_price=price,
        discount=cents(numbers.discount),
        amount=amount,
        tax_rate=rate,
        category=rates.category(scope, rate),
    )


def _net_of_tax(scope: Scope, made: list[Row], told: Totals) -> list[Row]:
    """Prices that hold the tax, as shops print them, become net: the standard knows no others."""
    whole = sum((row.amount or NOTHING for row in made), NOTHING)
    close = CENT * max(1, len(made))
    if not told.tax or told.gross is None or told.net is None:
        return made
    if abs(whole - told.gross) > close or abs(whole - told.net) <= close:
        return made
    scope.findings.flag("lines", "their amounts hold the tax; it was taken out of them")
    net = [_without_tax(row) for row in made]
    rest = told.net - sum((row.amount or NOTHING for row in net), NOTHING)
    largest = max(net, key=lambda row: abs(row.amount or NOTHING))
    if abs(rest) <= close:
        net[net.index(largest)] = replace(largest, amount=(largest.amount or NOTHING) + rest)
    return net


def _without_tax(row: Row) -> Row:
    if row.tax_rate is None or row.amount is None:
        return row
    factor = HUNDRED / (HUNDRED + row.tax_rate)
    price = None if row.unit_price is None else (row.unit_price * factor).quantize(_FINE)
    discount = cents(row.discount * factor)
    return replace(row, unit_price=price, discount=discount, amount=cents(row.amount * factor))
