"""The arithmetic an invoice must keep, and what of it a person should look at.

All of it from the canonical JSON, so that reading an invoice and correcting one ask the same.
"""

from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any, Final

from docmill.mappings.amounts import NOTHING, number
from docmill.mappings.editing import paths_of, value_at
from docmill.mappings.texts import at, is_list, is_object

HELD: Final = "held"
BROKEN: Final = "broken"
NOT_APPLICABLE: Final = "not applicable"
CENT: Final = Decimal("0.02")
DOUBT: Final = 0.8  # a confidence below this is looked at

RULES: Final = {
    "lines_net": ("totals.net",),
    "net_tax_gross": ("totals.net", "totals.tax", "totals.gross"),
    "tax_base_rate": ("totals.tax",),
    "gross_due": ("totals.due",),
}
NEEDED: Final = (
    "invoice_number",
    "issue_date",
    "currency",
    "seller.name",
    "buyer.name",
    "totals.net",
    "totals.gross",
)

Invoice = Mapping[str, Any]


def checks_of(invoice: Invoice) -> dict[str, str]:
    """Every rule and whether it holds; one for each line."""
    outcomes = {f"lines[{index}].amount": _line(line) for index, line in enumerate(_lines(invoice))}
    return {
        **outcomes,
        "lines_net": _lines_net(invoice),
        "net_tax_gross": _net_tax_gross(invoice),
        "tax_base_rate": _tax_base_rate(invoice),
        "gross_due": _gross_due(invoice),
    }


def broken_paths(checks: Mapping[str, str]) -> Iterator[str]:
    """The fields that a broken rule makes doubtful."""
    for rule, outcome in checks.items():
        if outcome == BROKEN:
            yield from RULES.get(rule, (rule,))


def doubtful(invoice: Invoice, checks: Mapping[str, str]) -> list[str]:
    """Paths a person should look at: missing, unsure, or in a rule that is broken."""
    evidence: Any = invoice.get("evidence") or {}
    found: dict[str, None] = {}
    for path in paths_of(invoice):
        value, sure = value_at(invoice, path), at(evidence.get(path), "confidence")
        unsure = value is not None and sure is not None and sure < DOUBT and _weighty(path)
        if unsure or (value is None and path in NEEDED):
            found[path] = None
    if not _lines(invoice):
        found["lines"] = None
    return list(dict.fromkeys((*found, *broken_paths(checks))))


def _weighty(path: str) -> bool:
    """Whether a wrong value would do harm; a line's words and codes rarely do."""
    return not path.endswith((".description", ".unit", ".code", ".address", "].tax_rate"))


def _lines(invoice: Invoice) -> list[dict[str, Any]]:
    lines = invoice.get("lines")
    return [line for line in lines if is_object(line)] if is_list(lines) else []


def _total(invoice: Invoice, name: str) -> Decimal | None:
    return number(at(invoice.get("totals"), name))


def _near(one: Decimal, other: Decimal, slack: Decimal = CENT) -> str:
    return HELD if abs(one - other) <= slack else BROKEN


def _line(line: Mapping[str, Any]) -> str:
    names = ("quantity", "unit_price", "amount")
    quantity, price, total = (number(line.get(name)) for name in names)
    if quantity is None or price is None or total is None:
        return NOT_APPLICABLE
    exponent = price.as_tuple().exponent
    step = Decimal(1).scaleb(exponent if isinstance(exponent, int) else 0)
    slack = max(CENT, min(abs(quantity) * step / 2, abs(total) / 200))
    return _near(quantity * price - (number(line.get("discount")) or NOTHING), total, slack)


def _lines_net(invoice: Invoice) -> str:
    net, gross, lines = _total(invoice, "net"), _total(invoice, "gross"), _lines(invoice)
    if not lines or (net is None and gross is None):
        return NOT_APPLICABLE
    total = sum((number(line.get("amount")) or NOTHING for line in lines), NOTHING)
    slack = CENT + Decimal("0.005") * len(lines)
    targets = [target for target in (net, gross) if target is not None]
    fits = any(abs(s - target) <= slack for s in _adjusted(invoice, total) for target in targets)
    return HELD if fits else BROKEN


def _adjusted(invoice: Invoice, total: Decimal) -> set[Decimal]:
    """A sum as it is, and with charges and discounts of the whole invoice."""
    charges = _total(invoice, "charges") or NOTHING
    discounts = _total(invoice, "discounts") or NOTHING
    return {total, total + charges, total - discounts, total + charges - discounts}


def _net_tax_gross(invoice: Invoice) -> str:
    net, gross = _total(invoice, "net"), _total(invoice, "gross")
    if net is None or gross is None:
        return NOT_APPLICABLE
    sums = _adjusted(invoice, net + (_total(invoice, "tax") or NOTHING))
    return HELD if any(abs(total - gross) <= CENT for total in sums) else BROKEN


def _tax_base_rate(invoice: Invoice) -> str:
    taxes = invoice.get("taxes")
    first = taxes[0] if is_list(taxes) and taxes else None
    tax, rate, base = _total(invoice, "tax"), number(at(first, "rate")), number(at(first, "base"))
    if tax is None or rate is None or base is None:
        return NOT_APPLICABLE
    slack = max(Decimal(1), CENT) if tax == int(tax) else CENT
    full = base * rate / 100
    return HELD if min(abs(full - tax), abs(full * 11 / 12 - tax)) <= slack else BROKEN


def _gross_due(invoice: Invoice) -> str:
    gross, due = _total(invoice, "gross"), _total(invoice, "due")
    if gross is None or due is None:
        return NOT_APPLICABLE
    names = ("withholding", "paid")
    withheld, paid = (_total(invoice, name) or NOTHING for name in names)
    return _near(gross - abs(withheld) - abs(paid), due)
