"""The totals of an invoice as values: what was chosen, and what was withheld, paid and is due."""

import re
from collections.abc import Sequence
from decimal import Decimal
from itertools import product
from typing import Final

from docmill.pipelines.invoice.amounts import Amount
from docmill.pipelines.invoice.model import Item, Tax, Totals, Value, amount, plain
from docmill.pipelines.invoice.totals import RATES, Chosen, Pick

CENT: Final = Decimal("0.02")
ZERO: Final = Decimal(0)
_PERCENT: Final = re.compile(r"(\d{1,2}(?:[.,]\d{1,2})?)\s?%")


def totals_of(chosen: Chosen, amounts: Sequence[Amount]) -> Totals:
    """All totals, the surer the more of them fit each other."""
    sure = confidence(chosen)
    alone = chosen.lines_fit and chosen.tax is None
    net = chosen.net or (chosen.gross if alone else None)
    after = _after(chosen, amounts)
    rate, base = _rate(chosen), _base(chosen, amounts)
    return Totals(
        net=_value(net, sure),
        tax=_value(chosen.tax, sure),
        gross=_value(chosen.gross, sure),
        withholding=after.get("withholding"),
        paid=after.get("paid"),
        due=after.get("due"),
        tax_base=base,
        tax_rate=rate,
        charges=_first(amounts, "charge"),
        discounts=_first(amounts, "discount"),
    )


def taxes_of(chosen: Chosen, lines: Sequence[Item]) -> tuple[Tax, ...]:
    """The taxes of several rates, each with the lines that bear it; none where there is one."""
    found = {item.value: item for item in (chosen.tax.amounts if chosen.tax else ())}
    if len(found) < 2:
        return _by_lines(chosen, lines)
    return tuple(_tax(item, lines, confidence(chosen)) for item in found.values())


def _by_lines(chosen: Chosen, lines: Sequence[Item]) -> tuple[Tax, ...]:
    """What the lines of each rate are taxed with, if that comes to the tax on the page."""
    bases: dict[Decimal, Decimal] = {}
    for line in lines:
        rate = amount(line.tax_rate)
        if rate is not None:
            bases[rate] = bases.get(rate, ZERO) + (amount(line.amount) or ZERO)
    taxes = {rate: (base * rate / 100).quantize(Decimal("0.01")) for rate, base in bases.items()}
    total = sum(taxes.values(), ZERO)
    if len(bases) < 2 or not chosen.tax or abs(total - chosen.tax.value) > CENT:
        return ()
    return tuple(
        Tax(Value(plain(tax), 0.8), Value(plain(rate), 0.9), Value(plain(bases[rate]), 0.8))
        for rate, tax in taxes.items()
    )


def _tax(item: Amount, lines: Sequence[Item], sure: float) -> Tax:
    match = _PERCENT.search(item.label)
    rate = Decimal(match[1].replace(",", ".")) if match else None
    named = (
        Value(plain(rate), 0.9, item.page, item.figure.box, match[0]) if match and rate else None
    )
    own = [line for line in lines if rate is not None and amount(line.tax_rate) == rate]
    total = sum((amount(line.amount) or ZERO for line in own), ZERO)
    return Tax(_of(item, sure), named, Value(plain(total), 0.8) if own else None)


def confidence(chosen: Chosen) -> float:
    """How sure the chosen set is: sums that add up prove it, a lone label does not."""
    if chosen.adds_up and chosen.tax and chosen.tax.value:
        sure = 0.98 if chosen.lines_fit else 0.95
        return sure if chosen.exact else 0.85  # a net from which a discount is still to go
    if chosen.adds_up:
        return 0.93 if chosen.lines_fit else 0.85
    if chosen.lines_fit:
        return 0.8
    found = [pick for pick in (chosen.net, chosen.tax, chosen.gross) if pick]
    return 0.75 if len(found) == 1 and found[0].weight >= 0.95 else 0.55


def _value(pick: Pick | None, sure: float) -> Value | None:
    if pick is None:
        return None
    figure = pick.amounts[0].figure
    several = len({item.value for item in pick.amounts}) > 1
    text = " + ".join(item.figure.text for item in pick.amounts) if several else figure.text
    return Value(plain(pick.value), sure, figure.cell.page, figure.box, text)


def _of(item: Amount, sure: float) -> Value:
    figure = item.figure
    return Value(plain(abs(item.value)), sure, figure.cell.page, figure.box, figure.text)


def _first(amounts: Sequence[Amount], role: str) -> Value | None:
    found = [item for item in amounts if item.role == role and item.weight > 0.5 and item.value]
    return _of(found[0], 0.6) if found else None


def _after(chosen: Chosen, amounts: Sequence[Amount]) -> dict[str, Value]:
    """Withholding, payments and what is due: those that explain each other, else the likeliest."""
    roles = {
        role: sorted((a for a in amounts if a.role == role), key=lambda a: -a.weight)[:5]
        for role in ("withholding", "paid", "due")
    }
    gross = chosen.gross.value if chosen.gross else None
    choices = [[*roles[role], None] for role in ("withholding", "paid", "due")]
    for withheld, paid, due in product(*choices):
        if due and gross is not None and (withheld or paid):
            off = sum((abs(item.value) for item in (withheld, paid) if item), ZERO)
            if abs(gross - off - due.value) <= CENT:
                kept = {"withholding": withheld, "paid": paid, "due": due}
                return {
                    role: _signed(item) if role == "due" else _of(item, 0.95)
                    for role, item in kept.items()
                    if item
                }
    likely = {role: found[0] for role, found in roles.items() if found and found[0].weight > 0.5}
    return {role: _of(item, 0.6) for role, item in likely.items()}


def _signed(item: Amount) -> Value:
    figure = item.figure
    return Value(plain(item.value), 0.95, figure.cell.page, figure.box, figure.text)


def _rate(chosen: Chosen) -> Value | None:
    """The rate that the tax's label names, or the usual one that it amounts to."""
    if chosen.tax is None:
        return None
    item = chosen.tax.amounts[0]
    match = _PERCENT.search(item.label)
    if (match and len(chosen.tax.amounts) == 1) or (
        match and len({a.value for a in chosen.tax.amounts}) == 1
    ):
        rate = Decimal(match[1].replace(",", "."))
        return Value(plain(rate), 0.9, item.page, item.figure.box, match[0])
    if not chosen.net or not chosen.net.value:
        return None
    share = 100 * chosen.tax.value / chosen.net.value
    near = next((rate for rate in RATES if abs(share - rate) < Decimal("0.05")), None)
    return Value(plain(near), 0.7, item.page, item.figure.box, "") if near is not None else None


def _base(chosen: Chosen, amounts: Sequence[Amount]) -> Value | None:
    """What the tax is taken of: the other base where one is printed, else the net."""
    other = [item for item in amounts if item.role == "other_base" and item.weight > 0.5]
    if other:
        return _of(other[0], 0.85)
    return _value(chosen.net, 0.8) if chosen.tax else None
