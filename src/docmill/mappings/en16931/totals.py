"""Totals, the missing ones from the others: net + tax = gross, gross less paid = due."""

from dataclasses import dataclass
from decimal import Decimal

from docmill.mappings.amounts import HUNDRED, NOTHING, cents
from docmill.mappings.en16931 import rates
from docmill.mappings.figures import figures
from docmill.mappings.scope import Scope


@dataclass(frozen=True, slots=True)
class Totals:
    lines: Decimal | None
    net: Decimal | None
    tax: Decimal | None
    gross: Decimal | None
    paid: Decimal
    due: Decimal | None


def totals(scope: Scope) -> Totals:
    net, tax, gross = (_total(scope, name) for name in ("net", "tax", "gross"))
    lines = _of_lines(scope)
    if net is None and gross is not None and tax is not None:
        net = gross - tax
    if net is None:
        net = _net_of_lines(lines, tax, gross)
    if tax is None:
        tax = _tax_of_lines(scope) if gross is None or net is None else gross - net
        scope.findings.flag("totals.tax", f"not printed; {tax} was taken")
    if gross is None and net is not None:
        gross = net + tax
    paid, due = _payment(scope, gross)
    return Totals(lines, net, tax, gross, paid, due)


def _total(scope: Scope, name: str) -> Decimal | None:
    found = scope.number(f"totals.{name}")
    return None if found is None else cents(found)


def _of_lines(scope: Scope) -> Decimal | None:
    worths = [figures(line, index).worth for index, line in enumerate(scope.lines())]
    return sum((cents(worth) for worth in worths if worth is not None), NOTHING) if worths else None


def _tax_of_lines(scope: Scope) -> Decimal:
    """The tax that the lines' own rates make, each rate on the sum of its lines."""
    bases: dict[Decimal, Decimal] = {}
    for index, line in enumerate(scope.lines()):
        rate, worth = rates.printed(line), figures(line, index).worth
        if rate is not None and worth is not None:
            bases[rate] = bases.get(rate, NOTHING) + cents(worth)
    return sum((cents(base * rate / HUNDRED) for rate, base in bases.items()), NOTHING)


def _net_of_lines(
    lines: Decimal | None, tax: Decimal | None, gross: Decimal | None
) -> Decimal | None:
    """Lines that already come to the gross hold the tax."""
    if lines is not None and tax is not None and lines == gross:
        return lines - tax
    return gross if lines is None else lines


def _payment(scope: Scope, gross: Decimal | None) -> tuple[Decimal, Decimal | None]:
    """What was paid before and what is left. Tax withheld by the buyer has no place of its own."""
    paid, due = _total(scope, "paid"), _total(scope, "due")
    withheld = _total(scope, "withholding") or NOTHING
    if gross is None:
        return paid or NOTHING, due
    if due is not None and due <= gross:
        if due < gross and withheld:
            scope.findings.flag(
                "totals.withholding", "is written as paid before: the norm has no other"
            )
        return gross - due, due
    if due is not None:
        scope.findings.flag("totals.due", "is more than the gross; gross less paid was taken")
    before = abs(paid or NOTHING) + abs(withheld)
    return before, gross - before
