"""The arithmetic an invoice must keep: each rule held, broken, or not applicable."""

from collections.abc import Iterator
from decimal import Decimal
from typing import Final

from docmill.pipelines.invoice.arithmetic import slack
from docmill.pipelines.invoice.model import Invoice, Item, Value, amount

HELD: Final = "held"
BROKEN: Final = "broken"
NOT_APPLICABLE: Final = "not applicable"
CENT: Final = Decimal("0.02")
ZERO: Final = Decimal(0)

RULES: Final = {
    "lines_net": ("totals.net",),
    "net_tax_gross": ("totals.net", "totals.tax", "totals.gross"),
    "tax_base_rate": ("totals.tax",),
    "gross_due": ("totals.due",),
}


def checks_of(invoice: Invoice) -> dict[str, str]:
    """Every rule and whether it holds; one for each line."""
    outcomes = {f"lines[{index}].amount": _line(line) for index, line in enumerate(invoice.lines)}
    return {
        **outcomes,
        "lines_net": _lines_net(invoice),
        "net_tax_gross": _net_tax_gross(invoice),
        "tax_base_rate": _tax_base_rate(invoice),
        "gross_due": _gross_due(invoice),
    }


def broken_paths(checks: dict[str, str]) -> Iterator[str]:
    """The fields that a broken rule makes doubtful."""
    for rule, outcome in checks.items():
        if outcome == BROKEN:
            yield from RULES.get(rule, (rule,))


def _near(one: Decimal, other: Decimal, allowed: Decimal = CENT) -> str:
    return HELD if abs(one - other) <= allowed else BROKEN


def _line(line: Item) -> str:
    quantity, price, total = amount(line.quantity), amount(line.unit_price), amount(line.amount)
    if quantity is None or price is None or total is None:
        return NOT_APPLICABLE
    allowed = max(CENT, slack(quantity, price, total))
    return _near(quantity * price - (amount(line.discount) or ZERO), total, allowed)


def _sum(values: Iterator[Value | None]) -> Decimal:
    return sum((amount(value) or ZERO for value in values), ZERO)


def _lines_net(invoice: Invoice) -> str:
    totals = invoice.totals
    net, gross = amount(totals.net), amount(totals.gross)
    if not invoice.lines or (net is None and gross is None):
        return NOT_APPLICABLE
    lines = _sum(line.amount for line in invoice.lines)
    charges, discounts = amount(totals.charges) or ZERO, amount(totals.discounts) or ZERO
    sums = {lines, lines + charges, lines - discounts, lines + charges - discounts}
    allowed = CENT + Decimal("0.005") * len(invoice.lines)
    targets = [target for target in (net, gross) if target is not None]
    return HELD if any(abs(s - target) <= allowed for s in sums for target in targets) else BROKEN


def _net_tax_gross(invoice: Invoice) -> str:
    totals = invoice.totals
    net, gross = amount(totals.net), amount(totals.gross)
    if net is None or gross is None:
        return NOT_APPLICABLE
    tax, charges = amount(totals.tax) or ZERO, amount(totals.charges) or ZERO
    discounts = amount(totals.discounts) or ZERO
    sums = (net + tax, net + tax + charges, net + tax - discounts, net + tax + charges - discounts)
    return HELD if any(abs(total - gross) <= CENT for total in sums) else BROKEN


def _tax_base_rate(invoice: Invoice) -> str:
    totals = invoice.totals
    tax, rate, base = amount(totals.tax), amount(totals.tax_rate), amount(totals.tax_base)
    if tax is None or rate is None or base is None:
        return NOT_APPLICABLE
    allowed = max(Decimal(1), CENT) if tax == int(tax) else CENT
    full = base * rate / 100
    return HELD if min(abs(full - tax), abs(full * 11 / 12 - tax)) <= allowed else BROKEN


def _gross_due(invoice: Invoice) -> str:
    totals = invoice.totals
    gross, due = amount(totals.gross), amount(totals.due)
    if gross is None or due is None:
        return NOT_APPLICABLE
    withheld, paid = amount(totals.withholding) or ZERO, amount(totals.paid) or ZERO
    return _near(gross - abs(withheld) - abs(paid), due)
