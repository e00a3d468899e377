"""What an invoice lacks for the European standard: without it UBL and CII are not valid.

The rules are EN 16931's; those named here are the ones that a document read from paper breaks.
"""

from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from typing import Final

from docmill.invoices.formats import xml

CENT: Final = Decimal("0.01")
NOTHING: Final = Decimal(0)
# Currencies that ISO 4217 has withdrawn.
GONE: Final = frozenset(
    [
        "DEM",
        "FRF",
        "ITL",
        "ESP",
        "NLG",
        "BEF",
        "ATS",
        "PTE",
        "FIM",
        "IEP",
        "GRD",
        "LUF",
        "SIT",
        "MTL",
        "CYP",
        "SKK",
        "EEK",
        "LVL",
        "LTL",
        "HRK",
    ]
)


def find_gaps(ubl: bytes) -> list[str]:
    """Such as `Seller country`, of the invoice as UBL; both syntaxes need them."""
    root = xml.parse(ubl)
    return [*_find_missing(root), *_find_wrong_sums(root)]


def _find_missing(root: xml.Element) -> Iterator[str]:
    seller, buyer = "AccountingSupplierParty", "AccountingCustomerParty"
    for side, label in ((seller, "Seller"), (buyer, "Buyer")):
        if not _texts(root, side, "Country", "IdentificationCode"):
            yield f"{label} country"
    standard = "S" in {
        *_texts(root, "TaxCategory", "ID"),
        *_texts(root, "ClassifiedTaxCategory", "ID"),
    }
    vat = _texts(root, seller, "PartyTaxScheme", "CompanyID")
    other = _texts(root, seller, "PartyIdentification", "ID")
    if not vat and (standard or not other):
        yield "Seller tax number"
    if not _all(root, "InvoiceLine"):
        yield "Lines"
    if set(_texts(root, "DocumentCurrencyCode")) & GONE:
        yield "Currency that is still in use"
    if any(
        not _texts(one, "Percent") and "O" not in _texts(one, "ID")
        for one in _all(root, "TaxCategory")
    ):
        yield "Tax rate"


def _find_wrong_sums(root: xml.Element) -> Iterator[str]:
    """The totals follow from the lines and the taxes, to the cent."""
    lines = _sum(root, "InvoiceLine", "LineExtensionAmount", own=True)
    net = _sum(root, "LegalMonetaryTotal", "TaxExclusiveAmount")
    tax = _first(root, "TaxTotal", "TaxAmount")
    extra = _sum(root, "LegalMonetaryTotal", "ChargeTotalAmount") - _sum(
        root, "LegalMonetaryTotal", "AllowanceTotalAmount"
    )
    subtotals = _sum(root, "TaxSubtotal", "TaxAmount")
    rules = (
        abs(lines + extra - net) <= CENT,
        abs(net + tax - _sum(root, "LegalMonetaryTotal", "TaxInclusiveAmount")) <= CENT,
        abs(subtotals - tax) < CENT,
    )
    if not all(rules):
        yield "Sums that add up"


def _all(root: xml.Element, *names: str) -> list[xml.Element]:
    path = "".join(f"//*[local-name()='{name}']" for name in names)
    return root.xpath(f".{path}")


def _texts(root: xml.Element, *names: str) -> list[str]:
    return [one.text for one in _all(root, *names) if one.text]


def _sum(root: xml.Element, parent: str, name: str, *, own: bool = False) -> Decimal:
    step = "/" if own else "//"
    found = root.xpath(f".//*[local-name()='{parent}']{step}*[local-name()='{name}']")
    return sum((_number(one.text) for one in found), NOTHING)


def _first(root: xml.Element, parent: str, name: str) -> Decimal:
    found = root.xpath(f".//*[local-name()='{parent}']/*[local-name()='{name}']")
    return _number(found[0].text) if found else NOTHING


def _number(text: str | None) -> Decimal:
    try:
        return Decimal(text or "0")
    except InvalidOperation:
        return NOTHING
