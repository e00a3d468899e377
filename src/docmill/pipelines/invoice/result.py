"""The canonical JSON of an invoice: values, evidence, checks, and what a person should look at."""

from typing import Any, Final

from docmill.pipelines.invoice.model import Invoice, Item, Party, Value

REVIEW: Final = 0.8
_TOTALS: Final = ("net", "tax", "gross", "withholding", "paid", "due")


def data_of(invoice: Invoice) -> dict[str, Any]:
    """The invoice as JSON."""
    return {
        "invoice_number": _plain(invoice.invoice_number),
        "issue_date": _plain(invoice.issue_date),
        "due_date": _plain(invoice.due_date),
        "currency": _plain(invoice.currency),
        "seller": _party(invoice.seller),
        "buyer": _party(invoice.buyer),
        "totals": {name: _plain(getattr(invoice.totals, name)) for name in _TOTALS},
        "lines": [_line(line) for line in invoice.lines],
        "evidence": {path: _evidence(value) for path, value in invoice.values() if value},
    }


def _plain(value: Value | None) -> str | None:
    return value.value if value else None


def _party(party: Party) -> dict[str, str | None]:
    return {name: _plain(getattr(party, name)) for name in ("name", "tax_id", "address")}


def _line(line: Item) -> dict[str, str | None]:
    return {name: _plain(getattr(line, name)) for name in line.__slots__}


def _evidence(value: Value) -> dict[str, Any]:
    return {
        "confidence": value.confidence,
        "page": value.page or None,
        "box": value.box.rounded() if value.box else None,
        "text": value.text,
    }
