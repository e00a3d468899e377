"""The canonical JSON of an invoice: values, evidence, checks, and what a person should look at."""

from collections.abc import Iterator
from typing import Any, Final

from docmill.pipelines.invoice.checks import broken_paths, checks_of
from docmill.pipelines.invoice.model import ITEM, PARTY, TOTALS, Invoice, Value

REVIEW: Final = 0.8
NEEDED: Final = (
    "invoice_number",
    "issue_date",
    "currency",
    "seller.name",
    "buyer.name",
    "totals.net",
    "totals.gross",
)


def data_of(invoice: Invoice) -> dict[str, Any]:
    """The invoice as JSON."""
    checks = checks_of(invoice)
    return {
        "invoice_number": _plain(invoice.invoice_number),
        "issue_date": _plain(invoice.issue_date),
        "due_date": _plain(invoice.due_date),
        "currency": _plain(invoice.currency),
        "seller": _group(invoice.seller, PARTY),
        "buyer": _group(invoice.buyer, PARTY),
        "totals": _group(invoice.totals, TOTALS),
        "lines": [_group(line, ITEM) for line in invoice.lines],
        "taxes": _taxes(invoice),
        "evidence": {path: _evidence(value) for path, value in invoice.values() if value},
        "checks": checks,
        "review": list(dict.fromkeys(_doubtful(invoice, checks))),
    }


def _doubtful(invoice: Invoice, checks: dict[str, str]) -> Iterator[str]:
    """Paths a person should look at: missing, unsure, or in a rule that is broken."""
    for path, value in invoice.values():
        unsure = value is not None and value.confidence < REVIEW and _weighty(path)
        if unsure or (value is None and path in NEEDED):
            yield path
    if not invoice.lines:
        yield "lines"
    yield from broken_paths(checks)


def _weighty(path: str) -> bool:
    """Whether a wrong value would do harm; a line's words and codes rarely do."""
    return not path.endswith((".description", ".unit", ".code", ".address", "].tax_rate"))


def _taxes(invoice: Invoice) -> list[dict[str, str | None]]:
    """Each tax with its base and rate."""
    totals = invoice.totals
    if invoice.taxes:
        names = ("base", "rate", "amount")
        return [{name: _plain(getattr(tax, name)) for name in names} for tax in invoice.taxes]
    if totals.tax is None:
        return []
    parts = {"base": totals.tax_base, "rate": totals.tax_rate, "amount": totals.tax}
    return [{name: _plain(value) for name, value in parts.items()}]


def _plain(value: Value | None) -> str | None:
    return value.value if value else None


def _group(part: Any, names: tuple[str, ...]) -> dict[str, str | None]:
    return {name: _plain(getattr(part, name)) for name in names}


def _evidence(value: Value) -> dict[str, Any]:
    return {
        "confidence": value.confidence,
        "page": value.page or None,
        "box": value.box.rounded() if value.box else None,
        "text": value.text,
    }
