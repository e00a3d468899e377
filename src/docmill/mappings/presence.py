"""Whether there is an invoice at all: a document that names no amount is none."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from docmill.core.faults import Faulted
from docmill.mappings.texts import at, clean, is_list

AMOUNTS: Final = ("totals.net", "totals.gross", "totals.due")
NEEDED: Final = (
    "invoice_number", "issue_date", "seller.name", "buyer.name", "totals.net", "totals.gross",
)  # fmt: skip


def check_invoice(data: Mapping[str, Any]) -> None:
    """Raises NO_INVOICE, whose detail names what else was not found."""
    if any(clean(at(data, path)) for path in AMOUNTS) or any(_amounts(data)):
        return
    missing = [path for path in NEEDED if not clean(at(data, path))]
    raise Faulted("NO_INVOICE", f"not found: {', '.join([*missing, 'lines with an amount'])}")


def _amounts(data: Mapping[str, Any]) -> Iterator[str]:
    lines = data.get("lines")
    for line in lines if is_list(lines) else ():
        yield clean(at(line, "amount"))
