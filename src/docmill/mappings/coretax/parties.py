"""Seller and buyer as Coretax names them. Nothing is made up: what is unknown stays empty."""

import re
from dataclasses import dataclass
from typing import Final

from docmill.mappings import countries, npwp
from docmill.mappings.scope import Scope
from docmill.mappings.texts import clean

NO_TIN: Final = "0" * npwp.TIN_LENGTH
INDONESIA: Final = "ID"
OTHER: Final = "Other ID"
_DOCUMENTS: Final = (
    ("National ID", re.compile(r"^(?:nik|ktp|national id)\b[\s.:#-]*", re.IGNORECASE)),
    ("Passport", re.compile(r"^(?:paspor|passport)(?:\s+no)?\b[\s.:#-]*", re.IGNORECASE)),
)


@dataclass(frozen=True, slots=True)
class Seller:
    tin: str
    idtku: str


@dataclass(frozen=True, slots=True)
class Buyer:
    tin: str
    document: str
    country: str
    document_number: str
    idtku: str


def seller(scope: Scope) -> Seller:
    """The document's numbers when it prints them, else the owner's."""
    printed, own = scope.value("seller.tax_id"), scope.profile
    tin = npwp.tin(printed)
    owned = npwp.tin(own.tin) or npwp.tin(own.idtku)
    if not tin and clean(printed):
        scope.findings.flag("seller.tax_id", "is no NPWP of 15 or 16 digits, or NITKU of 22")
    if tin and owned and tin != owned:
        scope.findings.flag("seller.tax_id", "is another NPWP than the owner's")
    if not tin and not owned:
        scope.findings.flag("seller.tax_id", "no NPWP on the document or in the owner's settings")
    return Seller(tin or owned, _seller_idtku(scope, tin or owned))


def _seller_idtku(scope: Scope, tin: str) -> str:
    printed, owned = npwp.idtku(scope.value("seller.tax_id")), npwp.idtku(scope.profile.idtku)
    if printed and not printed.endswith(npwp.HEAD_OFFICE):
        return printed
    if owned and owned.startswith(tin):
        return owned
    return tin + npwp.HEAD_OFFICE if tin else ""


def buyer(scope: Scope) -> Buyer:
    document, number = _document(
        scope.text("buyer.document"), scope.text("buyer.tax_id").strip("- ")
    )
    tin = npwp.tin(number)
    if not document and tin:
        return Buyer(tin, "TIN", countries.ALPHA3[INDONESIA], "-", npwp.idtku(number))
    if not number:
        scope.findings.flag("buyer.tax_id", "the buyer has no NPWP or other document's number")
    return Buyer(NO_TIN, document or OTHER, _country(scope), number, npwp.HEAD_OFFICE)


def _document(said: str, printed: str) -> tuple[str, str]:
    """Which document besides a TIN a number is of, if it says so, and the number itself."""
    for document, label in _DOCUMENTS:
        if found := label.match(printed):
            return document, printed[found.end() :].strip("- ")
        if said == document:
            return document, printed
    return "", printed


def _country(scope: Scope) -> str:
    """The buyer's country as printed; where none is, it is the seller's own."""
    found = countries.named(scope.value("buyer.country"))
    found = found or countries.ending(scope.value("buyer.address"))
    return countries.ALPHA3[found or INDONESIA]
