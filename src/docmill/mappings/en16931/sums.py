"""The VAT breakdown, and what stands between the lines and the printed net."""

from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Final

from docmill.mappings.amounts import HUNDRED, NOTHING, ONE, cents
from docmill.mappings.en16931 import rates
from docmill.mappings.en16931.rows import Row, rows
from docmill.mappings.en16931.totals import totals
from docmill.mappings.scope import Scope

REASON_OUTSIDE: Final = "Not subject to VAT"


@dataclass(frozen=True, slots=True)
class Group:
    """One rate of the breakdown."""

    category: str
    percent: Decimal | None
    base: Decimal
    tax: Decimal | None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Difference:
    """An allowance or charge on the whole document. `is_charge` as UBL and CII write it."""

    is_charge: str
    amount: Decimal
    reason: str
    category: str
    percent: Decimal | None


@dataclass(frozen=True, slots=True)
class Sums:
    rows: list[Row]
    lines: Decimal | None
    differences: list[Difference]
    groups: list[Group]


def sums(scope: Scope) -> Sums:
    found, told = scope.once(rows), scope.once(totals)
    amounts = [row.amount for row in found if row.amount is not None]
    lines = sum(amounts, NOTHING) if found else None
    bases = _bases(found)
    differences: list[Difference] = []
    if lines is not None and told.net is not None and lines != told.net:
        rate = _rate_of(scope, told.net - lines, bases)
        differences = [_difference(scope, told.net - lines, rate)]
        bases[rate] = bases.get(rate, NOTHING) + told.net - lines
    groups = [_group(scope, rate, base) for rate, base in bases.items()]
    return Sums(found, lines, differences, _with_printed_tax(groups, told.tax))


def _bases(found: list[Row]) -> dict[Decimal | None, Decimal]:
    bases: dict[Decimal | None, Decimal] = {}
    for row in found:
        bases[row.tax_rate] = bases.get(row.tax_rate, NOTHING) + (row.amount or NOTHING)
    return dict(sorted(bases.items(), key=lambda each: -(each[0] or NOTHING)))


def _rate_of(scope: Scope, amount: Decimal, bases: dict[Decimal | None, Decimal]) -> Decimal | None:
    """The rate of what the lines lack: the one that makes the printed tax."""
    tax = scope.once(totals).tax
    return min(bases, key=lambda rate: _miss(bases, rate, amount, tax=tax))


def _difference(scope: Scope, amount: Decimal, rate: Decimal | None) -> Difference:
    """The printed net is kept: what the lines lack of it becomes an allowance or a charge."""
    scope.findings.flag("totals.net", f"the lines differ from it by {amount}")
    category = rates.category(scope, rate)
    percent = None if category == rates.OUTSIDE else rate
    if amount > NOTHING:
        return Difference("true", amount, "Charge", category, percent)
    return Difference("false", -amount, "Discount", category, percent)


def _miss(
    bases: dict[Decimal | None, Decimal],
    rate: Decimal | None,
    amount: Decimal,
    *,
    tax: Decimal | None,
) -> tuple[Decimal, Decimal]:
    """How far the tax would be off if the difference were taxed at this rate."""
    moved = {**bases, rate: bases[rate] + amount}
    made = sum((cents(base * (each or NOTHING) / HUNDRED) for each, base in moved.items()), NOTHING)
    return abs(made - (made if tax is None else tax)), -abs(bases[rate])


def _group(scope: Scope, rate: Decimal | None, base: Decimal) -> Group:
    category = rates.category(scope, rate)
    if category == rates.OUTSIDE:
        return Group(category, None, base, NOTHING, REASON_OUTSIDE)
    return Group(category, rate, base, None if rate is None else cents(base * rate / HUNDRED))


def _with_printed_tax(groups: list[Group], tax: Decimal | None) -> list[Group]:
    """A group without a rate has the tax that is left; cents lost to rounding go to the largest."""
    if not groups or tax is None:
        return groups
    rest = tax - sum((group.tax or NOTHING for group in groups), NOTHING)
    largest = max(groups, key=lambda group: (group.tax is None, abs(group.tax or NOTHING)))
    if largest.tax is not None and (not largest.tax or abs(rest) >= ONE):
        return groups
    adjusted = replace(largest, tax=(largest.tax or NOTHING) + rest)
    return [adjusted if group is largest else group for group in groups]
