"""An invoice in short, as the queue shows it; of what was read, or of what a person made of it."""

from collections.abc import Mapping
from typing import Any

from docmill.core.summaries import NOTATION, TO_CHECK
from docmill.invoices.fields import lines_of, value_at
from docmill.invoices.values import find_notation


def summarize_invoice(
    invoice: Mapping[str, Any], *, check: int, state: str = TO_CHECK
) -> dict[str, Any]:
    """`check` is how many values a person should look at."""
    lines = len(lines_of(invoice))
    texts = {
        "title": value_at(invoice, "seller.name"),
        "number": value_at(invoice, "invoice_number"),
        "date": value_at(invoice, "issue_date"),
        "amount": value_at(invoice, "totals.gross"),
        "currency": value_at(invoice, "currency"),
        "note": "1 line" if lines == 1 else f"{lines} lines",
    }
    found = {name: text for name, text in texts.items() if isinstance(text, str) and text}
    if "amount" in found:
        found[NOTATION] = find_notation(invoice).sample
    return {**found, "check": check, "state": state}
