"""The canonical JSON of an invoice: values, evidence, checks, and what a person should look at."""

from typing import Any

from docmill.mappings import checking
from docmill.pipelines.invoice.model import ADJUSTMENTS, ITEM, PARTY, TOTALS, Invoice, Value


def data_of(invoice: Invoice) -> dict[str, Any]:
    """The invoice as JSON."""
    data: dict[str, Any] = {
        "invoice_number": _plain(invoice.invoice_number),
        "issue_date": _plain(invoice.issue_date),
        "due_date": _plain(invoice.due_date),
        "currency": _plain(invoice.currency),
        "seller": _group(invoice.seller, PARTY),
        "buyer": _group(invoice.buyer, PARTY),
        "totals": {**_group(invoice.totals, TOTALS), **_adjustments(invoice)},
        "lines": [_group(line, ITEM) for line in invoice.lines],
        "taxes": _taxes(invoice),
        "evidence": {path: _evidence(value) for path, value in invoice.values() if value},
    }
    checks = checking.checks_of(data)
    return {**data, "checks": checks, "review": checking.doubtful(data, checks)}


def _taxes(invoice: Invoice) -> list[dict[str, str | None]]:
    """The tax with its base and rate."""
    totals = invoice.totals
    if totals.tax is None:
        return []
    parts = {"base": totals.tax_base, "rate": totals.tax_rate, "amount": totals.tax}
    return [{name: _plain(value) for name, value in parts.items()}]


def _adjustments(invoice: Invoice) -> dict[str, str | None]:
    """Charges and discounts of the whole invoice, where its sums have some."""
    found = _group(invoice.totals, ADJUSTMENTS)
    return {name: value for name, value in found.items() if value is not None}


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
