"""Why a person should look at a value, in words."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from docmill.mappings import bracketed, value_at
from docmill.mappings.checking import BROKEN, RULES
from docmill.mappings.texts import at

WORDS: Final = {
    "lines_net": "The lines do not add up to the net amount",
    "net_tax_gross": "Net and tax do not add up to the total",
    "tax_base_rate": "The tax is not its base times its rate",
    "gross_due": "The amount due is not the total less what was paid",
}
LINE: Final = "Quantity times price is not the amount"
NAMES: Final = {
    "invoice_number": "Invoice number",
    "issue_date": "Invoice date",
    "due_date": "Due date",
    "currency": "Currency",
    "exchange_rate": "Exchange rate",
    "trx_code": "Transaction code",
    "tax_id": "Tax number",
    "net": "Net",
    "tax": "Tax",
    "gross": "Total",
    "withholding": "Withheld",
    "paid": "Paid",
    "due": "Amount due",
    "unit_price": "Unit price",
    "tax_rate": "Tax rate",
    "opt": "Goods or services",
}
PARTIES: Final = {"seller": "Seller", "buyer": "Buyer"}


def name_of(path: str) -> str:
    """A field as people call it: `Seller name`, `Line 2: amount`."""
    if path == "lines":
        return "Lines"
    group, _, last = path.rpartition(".")
    name = NAMES.get(last, last.replace("_", " ").capitalize())
    if group.startswith("lines["):
        return f"Line {int(group[6:-1]) + 1}: {name.lower()}"
    party = PARTIES.get(group)
    return f"{party} {name[:1].lower()}{name[1:]}" if party else name


def reasons(
    data: Mapping[str, Any],
    review: Sequence[str],
    checks: Mapping[str, str],
    notes: Sequence[str],
) -> dict[str, str]:
    """A sentence for each path that is to be looked at."""
    broken = _broken(checks)
    told = dict(_note(note) for note in notes)
    return {path: broken.get(path) or _plain(data, path, told) for path in review}


def _broken(checks: Mapping[str, str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for rule, outcome in checks.items():
        if outcome == BROKEN:
            for path in RULES.get(rule, (rule,)):
                found.setdefault(path, WORDS.get(rule, LINE))
    return found


def _note(note: str) -> tuple[str, str]:
    path, _, says = note.partition(": ")
    return bracketed(path), says[:1].upper() + says[1:]


def _plain(data: Mapping[str, Any], path: str, told: Mapping[str, str]) -> str:
    if note := told.get(path):
        return note
    if value_at(data, path) in (None, []):
        return "Not found on the page"
    evidence: Any = data.get("evidence") or {}
    sure: float | None = at(evidence.get(path), "confidence")
    return f"Read with {sure:.0%} confidence" if sure is not None else "Please have a look"
