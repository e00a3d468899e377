"""The arithmetic an invoice must keep, and what of it a person should look at.

All of it from the canonical JSON, so that reading an invoice and correcting one ask the same.
"""

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any, Final

from docmill.core.faults import DocmillError
from docmill.core.json_values import is_list, is_object
from docmill.invoices.fields import FIELDS, bracket_path, find_field, list_paths, value_at
from docmill.invoices.values import NOTHING, clean, look_up, parse_number

HELD: Final = "held"
BROKEN: Final = "broken"
NOT_APPLICABLE: Final = "not applicable"
TOLERANCE: Final = Decimal("0.02")
DOUBT: Final = 0.8  # a confidence below this is looked at

RULES: Final = {
    "lines_net": ("totals.net",),
    "net_tax_gross": ("totals.net", "totals.tax", "totals.gross"),
    "tax_base_rate": ("totals.tax",),
    "gross_due": ("totals.due",),
}
NEEDED: Final = tuple(field.path for field in FIELDS if field.needed)

InvoiceData = Mapping[str, Any]


def run_checks(invoice: InvoiceData) -> dict[str, str]:
    """Every rule and whether it holds; one for each line."""
    outcomes = {
        f"lines[{index}].amount": _check_line(line) for index, line in enumerate(_lines_of(invoice))
    }
    return {
        **outcomes,
        "lines_net": _check_lines_net(invoice),
        "net_tax_gross": _check_net_tax_gross(invoice),
        "tax_base_rate": _check_tax_base_rate(invoice),
        "gross_due": _check_gross_due(invoice),
    }


def broken_paths(checks: Mapping[str, str]) -> Iterator[str]:
    """The fields that a broken rule makes doubtful."""
    for rule, outcome in checks.items():
        if outcome == BROKEN:
            yield from RULES.get(rule, (rule,))


def find_certain(invoice: InvoiceData, checks: Mapping[str, str]) -> list[str]:
    """Paths a person looks at however sure the rest is: missing, or in sums that stay open.

    A rule inside of sums that add up around it leaves them proven: one line of lines that come to
    the net, a rate of a tax that leads from net to gross. How sure such values are is fitted.
    """
    missing = [path for path in NEEDED if value_at(invoice, path) is None]
    lines = [] if _lines_of(invoice) else ["lines"]
    unproven = {name: outcome for name, outcome in checks.items() if not _is_inside(name, checks)}
    return list(dict.fromkeys((*missing, *lines, *broken_paths(unproven))))


def _is_inside(rule: str, checks: Mapping[str, str]) -> bool:
    """Whether other rules prove what this one is about."""
    lines_fit = checks["lines_net"] == HELD
    if rule == "tax_base_rate":
        return lines_fit and checks["net_tax_gross"] == HELD
    return rule not in RULES and lines_fit


def find_doubts(invoice: InvoiceData, checks: Mapping[str, str]) -> list[str]:
    """Paths a person should look at: missing, unsure, or in a rule that is broken.

    The owner may have said how sure is sure enough: `review_threshold`.
    """
    threshold = parse_number(invoice.get("review_threshold"))
    least = DOUBT if threshold is None else float(threshold)
    evidence: Any = invoice.get("evidence") or {}
    found: dict[str, None] = {}
    for path in list_paths(invoice):
        field, value = find_field(path), value_at(invoice, path)
        sure = look_up(evidence.get(path), "confidence")
        doubted = field is None or field.doubted
        unsure = value is not None and sure is not None and sure < least and doubted
        if unsure or (value is None and field and field.needed):
            found[path] = None
    if not _lines_of(invoice):
        found["lines"] = None
    open_paths = (one["path"] for one in list_open(invoice))
    return list(dict.fromkeys((*found, *broken_paths(checks), *open_paths)))


def list_open(invoice: InvoiceData) -> Iterator[Mapping[str, Any]]:
    """Values that two readers tell differently, as long as nobody has decided."""
    evidence: Any = invoice.get("evidence") or {}
    edited = {path for path, seen in evidence.items() if look_up(seen, "edited")}
    differences = invoice.get("differences")
    for one in differences if is_list(differences) else ():
        path = clean(look_up(one, "path"))
        decided = path in edited or (path == "lines" and any("[" in each for each in edited))
        if path and not decided:
            yield one


def _lines_of(invoice: InvoiceData) -> list[dict[str, Any]]:
    lines = invoice.get("lines")
    return [line for line in lines if is_object(line)] if is_list(lines) else []


def _total_of(invoice: InvoiceData, name: str) -> Decimal | None:
    return parse_number(look_up(invoice.get("totals"), name))


def _compare(one: Decimal, other: Decimal, allowed: Decimal = TOLERANCE) -> str:
    return HELD if abs(one - other) <= allowed else BROKEN


def _check_line(line: Mapping[str, Any]) -> str:
    names = ("quantity", "unit_price", "amount")
    quantity, price, total = (parse_number(line.get(name)) for name in names)
    if quantity is None or price is None or total is None:
        return NOT_APPLICABLE
    computed = line_amount(quantity, price, parse_number(line.get("discount")) or NOTHING)
    return _compare(computed, total, max(TOLERANCE, rounding_slack(quantity, price, total)))


def line_amount(quantity: Decimal, price: Decimal, discount: Decimal) -> Decimal:
    """What a line comes to by its numbers, here, in the reader and in every format."""
    return quantity * price - discount


def rounding_slack(quantity: Decimal, price: Decimal, amount: Decimal) -> Decimal:
    """What rounding explains: half a step of the price for each piece, and a cent."""
    exponent = price.as_tuple().exponent
    step = Decimal(1).scaleb(exponent if isinstance(exponent, int) else 0)
    return max(Decimal("0.011"), min(abs(quantity) * step / 2, abs(amount) / 200))


def _check_lines_net(invoice: InvoiceData) -> str:
    net, gross, lines = _total_of(invoice, "net"), _total_of(invoice, "gross"), _lines_of(invoice)
    if not lines or (net is None and gross is None):
        return NOT_APPLICABLE
    total = sum((parse_number(line.get("amount")) or NOTHING for line in lines), NOTHING)
    allowed = TOLERANCE + Decimal("0.005") * len(lines)
    targets = [target for target in (net, gross) if target is not None]
    fits = any(
        abs(s - target) <= allowed for s in _adjusted_sums(invoice, total) for target in targets
    )
    return HELD if fits else BROKEN


def _adjusted_sums(invoice: InvoiceData, total: Decimal) -> set[Decimal]:
    """A sum as it is, and with charges and discounts of the whole invoice."""
    charges = _total_of(invoice, "charges") or NOTHING
    discounts = _total_of(invoice, "discounts") or NOTHING
    return {total, total + charges, total - discounts, total + charges - discounts}


def _check_net_tax_gross(invoice: InvoiceData) -> str:
    net, gross = _total_of(invoice, "net"), _total_of(invoice, "gross")
    if net is None or gross is None:
        return NOT_APPLICABLE
    taxed = net + (_total_of(invoice, "tax") or NOTHING)
    withheld = abs(_total_of(invoice, "withholding") or NOTHING)
    sums = _adjusted_sums(invoice, taxed) | _adjusted_sums(invoice, taxed - withheld)
    return HELD if any(abs(total - gross) <= TOLERANCE for total in sums) else BROKEN


def _check_tax_base_rate(invoice: InvoiceData) -> str:
    """Of every rate; with one rate alone the total is its tax, whatever became of the parts."""
    taxes = invoice.get("taxes")
    parts = [part for part in taxes if is_object(part)] if is_list(taxes) else []
    whole = _total_of(invoice, "tax") if len(parts) == 1 else None
    outcomes = {_check_tax(part, whole) for part in parts} or {NOT_APPLICABLE}
    return next(outcome for outcome in (BROKEN, HELD, NOT_APPLICABLE) if outcome in outcomes)


def _check_tax(part: Mapping[str, Any], whole: Decimal | None) -> str:
    """Twelve percent may also be taken of 11/12 of the base."""
    rate, base = parse_number(part.get("rate")), parse_number(part.get("base"))
    tax = parse_number(part.get("amount")) if whole is None else whole
    if tax is None or rate is None or base is None:
        return NOT_APPLICABLE
    allowed = max(Decimal(1), TOLERANCE) if tax == int(tax) else TOLERANCE
    full = base * rate / 100
    return HELD if min(abs(full - tax), abs(full * 11 / 12 - tax)) <= allowed else BROKEN


def _check_gross_due(invoice: InvoiceData) -> str:
    gross, due = _total_of(invoice, "gross"), _total_of(invoice, "due")
    if gross is None or due is None:
        return NOT_APPLICABLE
    names = ("withholding", "paid")
    withheld, paid = (_total_of(invoice, name) or NOTHING for name in names)
    return _compare(gross - abs(withheld) - abs(paid), due)


AMOUNTS: Final = ("totals.net", "totals.gross", "totals.due")


def check_invoice(data: Mapping[str, Any]) -> None:
    """Raises NO_INVOICE, whose detail names what else was not found."""
    if any(clean(look_up(data, path)) for path in AMOUNTS) or any(_line_amounts(data)):
        return
    missing = [path for path in NEEDED if not clean(look_up(data, path))]
    raise DocmillError(
        "NO_INVOICE",
        f"not found: {', '.join([*missing, 'lines with an amount'])}",
        reason="It is not an invoice: there are no amounts in it, neither totals nor lines.",
    )


def _line_amounts(data: Mapping[str, Any]) -> Iterator[str]:
    lines = data.get("lines")
    for line in lines if is_list(lines) else ():
        yield clean(look_up(line, "amount"))


RULE_REASONS: Final = {
    "lines_net": "The lines do not add up to the net amount",
    "net_tax_gross": "Net and tax do not add up to the total",
    "tax_base_rate": "The tax is not its base times its rate",
    "gross_due": "The amount due is not the total less what was paid",
}
LINE_REASON: Final = "Quantity times price is not the amount"


def explain_doubts(
    data: Mapping[str, Any],
    review: Sequence[str],
    checks: Mapping[str, str],
    notes: Sequence[str],
) -> dict[str, str]:
    """A sentence for each path that is to be looked at."""
    broken = _broken_reasons(checks)
    broken |= {one["path"]: says for one in list_open(data) if (says := clean(one.get("reason")))}
    noted = dict(_parse_note(note) for note in notes)
    return {path: broken.get(path) or _plain_reason(data, path, noted) for path in review}


def _broken_reasons(checks: Mapping[str, str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for rule, outcome in checks.items():
        if outcome == BROKEN:
            for path in RULES.get(rule, (rule,)):
                found.setdefault(path, RULE_REASONS.get(rule, LINE_REASON))
    return found


def _parse_note(note: str) -> tuple[str, str]:
    path, _, says = note.partition(": ")
    return bracket_path(path), says[:1].upper() + says[1:]


def _plain_reason(data: Mapping[str, Any], path: str, noted: Mapping[str, str]) -> str:
    if note := noted.get(path):
        return note
    if value_at(data, path) in (None, []):
        return "Not found on the page"
    evidence: Any = data.get("evidence") or {}
    sure: float | None = look_up(evidence.get(path), "confidence")
    return f"Read with {sure:.0%} confidence" if sure is not None else "Please have a look"
