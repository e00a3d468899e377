"""Lines as EN 16931 wants them: a price never below zero, an amount of two decimals, a rate."""

from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Final

from docmill.mappings.amounts import CENT, HUNDRED, NOTHING, ONE, cents
from docmill.mappings.en16931 import mixes, parties, rates
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
    made = [
        _row(scope, line, numbers, rate=rate)
        for line, numbers, rate in zip(lines, found, _rates(scope, found, told), strict=True)
    ]
    return _net_of_tax(scope, made, told)


def _rates(scope: Scope, found: list[Figures], told: Totals) -> list[Decimal | None]:
    """As printed; else the one rate of the whole invoice, or the one mix that makes its tax."""
    printed = [rates.printed(line) for line in scope.lines()]
    one_rate = rates.overall(told.net, told.tax, lines=len(printed))
    given = [one_rate if rate is None else rate for rate in printed]
    if None not in given:
        return given
    mix = _mix(scope, found, told) if {*printed} == {None} else None
    for index, rate in enumerate(given):
        if rate is None:
            why = "taken from the totals" if mix else "and the totals do not prove one"
            scope.findings.flag(f"lines.{index}.tax_rate", f"not printed, {why}")
    return [*mix] if mix else given


def _mix(scope: Scope, found: list[Figures], told: Totals) -> list[Decimal] | None:
    worths = [cents(numbers.worth) for numbers in found if numbers.worth is not None]
    if told.tax is None or len(worths) < len(found) or sum(worths) != told.net:
        return None
    return mixes.shared(worths, told.tax, scope.once(parties.seller).country)


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
    if not made or not told.tax or told.gross is None or told.net is None:
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
