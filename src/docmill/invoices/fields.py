"""The fields of an invoice: one row each, in the order in which people look at them.

Reader, result, doubts, edits, lessons, review page, mapping files and reference follow from it.
A path names a value (`totals.net`, `lines[2].amount`) or a line (`lines[2]`).
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from docmill.core.fields import ValueKind
from docmill.core.json_values import is_list, is_object

NUMBERS: Final = frozenset({ValueKind.AMOUNT, ValueKind.NUMBER, ValueKind.INTEGER})
_IN_LINE: Final = re.compile(r"lines\[(\d{1,4})\](?:\.(\w+))?")
_DOTTED: Final = re.compile(r"^lines\.(\d+)")


@dataclass(frozen=True, slots=True)
class InvoiceField:
    """One value of an invoice, or of each of its lines.

    needed: a person is asked for it where it is missing.
    doubted: a person is asked to look where it was read without certainty.
    taught: a correction teaches where it stands in documents of the same layout.
    constant: it also teaches what it is, because it is the same in all of them.
    read: the reader looks for it and every result names it; others are there where given.
    """

    path: str
    label: str
    kind: ValueKind = ValueKind.TEXT
    needed: bool = False
    doubted: bool = True
    taught: bool = False
    constant: bool = False
    read: bool = True

    @property
    def group(self) -> str:
        return self.path.rpartition(".")[0]

    @property
    def name(self) -> str:
        return self.path.rpartition(".")[2]

    @property
    def is_number(self) -> bool:
        return self.kind in NUMBERS


_TEXT, _DATE, _CURRENCY = ValueKind.TEXT, ValueKind.DATE, ValueKind.CURRENCY
_AMOUNT, _NUMBER = ValueKind.AMOUNT, ValueKind.NUMBER

FIELDS: Final = (
    InvoiceField("invoice_number", "Invoice number", needed=True, taught=True),
    InvoiceField("issue_date", "Invoice date", _DATE, needed=True, taught=True),
    InvoiceField("due_date", "Due date", _DATE, taught=True),
    InvoiceField("currency", "Currency", _CURRENCY, needed=True, taught=True, constant=True),
    InvoiceField("exchange_rate", "Exchange rate", _NUMBER, read=False),
    InvoiceField("trx_code", "Transaction code", read=False),
    InvoiceField("seller.name", "Seller name", needed=True, taught=True, constant=True),
    InvoiceField("seller.tax_id", "Seller tax number", taught=True, constant=True),
    InvoiceField("seller.address", "Seller address", doubted=False, taught=True, constant=True),
    InvoiceField("seller.country", "Seller country"),
    InvoiceField("seller.email", "Seller email", doubted=False),
    InvoiceField("seller.document", "Seller document", read=False),
    InvoiceField("buyer.name", "Buyer name", needed=True, taught=True),
    InvoiceField("buyer.tax_id", "Buyer tax number", taught=True),
    InvoiceField("buyer.address", "Buyer address", doubted=False),
    InvoiceField("buyer.country", "Buyer country"),
    InvoiceField("buyer.email", "Buyer email", doubted=False),
    InvoiceField("buyer.document", "Buyer document", read=False),
    InvoiceField("totals.net", "Net", _AMOUNT, needed=True, taught=True),
    InvoiceField("totals.tax", "Tax", _AMOUNT, taught=True),
    InvoiceField("totals.gross", "Total", _AMOUNT, needed=True, taught=True),
    InvoiceField("totals.withholding", "Withheld", _AMOUNT, taught=True),
    InvoiceField("totals.paid", "Paid", _AMOUNT, taught=True),
    InvoiceField("totals.due", "Amount due", _AMOUNT, taught=True),
    InvoiceField("totals.charges", "Charges", _AMOUNT, read=False),
    InvoiceField("totals.discounts", "Discounts", _AMOUNT, read=False),
)
LINE_FIELDS: Final = (
    InvoiceField("description", "Description", doubted=False),
    InvoiceField("quantity", "Quantity", _NUMBER),
    InvoiceField("unit", "Unit", doubted=False),
    InvoiceField("unit_price", "Unit price", _AMOUNT),
    InvoiceField("amount", "Amount", _AMOUNT),
    InvoiceField("discount", "Discount", _AMOUNT),
    InvoiceField("code", "Code", doubted=False),
    InvoiceField("tax_rate", "Tax rate", _NUMBER, doubted=False),
    InvoiceField("opt", "Goods or services", read=False),
)
GROUPS: Final = {"": "Document", "seller": "Seller", "buyer": "Buyer", "totals": "Totals"}
OF_INVOICE: Final = {field.path: field for field in FIELDS}
OF_LINE: Final = {field.name: field for field in LINE_FIELDS}


def find_field(path: str) -> InvoiceField | None:
    """The row of a path such as `totals.net` or `lines[2].amount`; None where it names no value."""
    match = _IN_LINE.fullmatch(path)
    return OF_LINE.get(match[2]) if match else OF_INVOICE.get(path)


def title_of(path: str) -> str:
    """A field as people call it: `Seller name`, `Line 2: amount`, `Code column`."""
    match, field = _IN_LINE.fullmatch(path), find_field(path)
    line = f"Line {int(match[1]) + 1}" if match else ""
    if match and not match[2]:
        return line
    if path.startswith("lines.") and (column := OF_LINE.get(path.removeprefix("lines."))):
        return f"{column.label} column"
    label = field.label if field else path.rpartition(".")[2].replace("_", " ").capitalize()
    return f"{line}: {label.lower()}" if line else label


def kind_of(path: str) -> str:
    """`figure`, `date` or `text`: what a value at this path must be."""
    field = find_field(path)
    if field and field.is_number:
        return "figure"
    return "date" if field and field.kind is ValueKind.DATE else "text"


def is_path(path: str) -> bool:
    """Whether something of this name can stand in an invoice."""
    return is_line(path) or find_field(path) is not None


def is_line(path: str) -> bool:
    match = _IN_LINE.fullmatch(path)
    return bool(match and match[2] is None)


@lru_cache(maxsize=4096)
def split_path(path: str) -> tuple[int, str] | None:
    """The index of the line and the name inside it, empty for the line itself; None outside."""
    match = _IN_LINE.fullmatch(path)
    return (int(match[1]), match[2] or "") if match else None


def bracket_path(path: str) -> str:
    """A path as mappings tell it (`lines.2.amount`), written as invoices have it."""
    return _DOTTED.sub(r"lines[\1]", path)


def list_paths(invoice: Mapping[str, Any]) -> Iterator[str]:
    """Every value that this invoice has a place for, in the order in which people look."""
    for field in FIELDS:
        if not field.group and (field.read or field.name in invoice):
            yield field.path
    for group in filter(None, GROUPS):
        inside: Any = invoice.get(group)
        yield from (f"{group}.{name}" for name in (inside if is_object(inside) else ()))
    for index, line in enumerate(lines_of(invoice)):
        yield from (f"lines[{index}].{name}" for name in (line if is_object(line) else ()))


def value_at(invoice: Mapping[str, Any], path: str) -> Any:
    """The value or the line at a path; None where there is none."""
    if inside := split_path(path):
        index, name = inside
        lines = lines_of(invoice)
        found = lines[index] if index < len(lines) else None
        return found.get(name) if name and is_object(found) else found
    group, _, name = path.partition(".")
    found: Any = invoice.get(group)
    return found.get(name) if name and is_object(found) else None if name else found


def lines_of(invoice: Mapping[str, Any]) -> list[Any]:
    lines = invoice.get("lines")
    return lines if is_list(lines) else []
