"""Which value of an invoice a rule of EN 16931 misses, so that a person knows what to fill in."""

import re
from collections.abc import Mapping
from typing import Final

_BY_RULE: Final[Mapping[str, str]] = {
    "BR-02": "invoice_number",
    "BR-03": "issue_date",
    "BR-05": "currency",
    "BR-06": "seller.name",
    "BR-07": "buyer.name",
    "BR-08": "seller.address",
    "BR-09": "seller.address",
    "BR-10": "buyer.address",
    "BR-11": "buyer.address",
    "BR-12": "lines",
    "BR-13": "totals.net",
    "BR-14": "totals.gross",
    "BR-15": "totals.due",
    "BR-16": "lines",
    "BR-22": "lines.quantity",
    "BR-24": "lines.amount",
    "BR-25": "lines.description",
    "BR-26": "lines.unit_price",
    "BR-45": "totals.net",
    "BR-46": "totals.tax",
    "BR-48": "lines.tax_rate",
    "BR-CL-03": "currency",
    "BR-CL-04": "currency",
    "BR-CO-10": "totals.net",
    "BR-CO-13": "totals.net",
    "BR-CO-14": "totals.tax",
    "BR-CO-15": "totals.gross",
    "BR-CO-16": "totals.due",
    "BR-CO-17": "totals.tax",
    "BR-CO-18": "totals.tax",
    "BR-CO-26": "seller.tax_id",
    "BR-S-02": "seller.tax_id",
    "BR-S-05": "lines.tax_rate",
    "BR-Z-02": "seller.tax_id",
}
_LINE: Final = re.compile(r"(?:InvoiceLine|TradeLineItem)(?:\[(\d+)\])?")
_BY_PLACE: Final = (
    ("CurrencyCode", "currency"),
    ("InvoiceLine", "lines"),
    ("IncludedSupplyChainTradeLineItem", "lines"),
    ("AccountingSupplierParty", "seller"),
    ("SellerTradeParty", "seller"),
    ("AccountingCustomerParty", "buyer"),
    ("BuyerTradeParty", "buyer"),
    ("MonetaryTotal", "totals"),
    ("MonetarySummation", "totals"),
    ("TaxTotal", "totals.tax"),
    ("IssueDate", "issue_date"),
    ("DueDate", "due_date"),
)


def field_of(rule: str, place: str) -> str:
    named = _BY_RULE.get(rule) or next((field for part, field in _BY_PLACE if part in place), "")
    line = _LINE.search(place)
    if line is None or not named.startswith("lines"):
        return named
    return f"lines.{int(line[1] or 1) - 1}{named.removeprefix('lines')}"
