"""Seller and buyer as the European standard EN 16931 wants them: numbers and countries."""

import re
from dataclasses import dataclass
from typing import Final

from docmill.invoices import values as invoices_values
from docmill.invoices.formats import values
from docmill.invoices.formats.scope import MappingScope
from docmill.invoices.values import clean

_LABEL: Final = re.compile(
    r"^[^0-9:]*:\s*|^(?:npwp|vat|tva|ust|uid)\b\D*?(?=[A-Z]{2}|[0-9])", re.IGNORECASE
)
_VAT: Final = re.compile(r"[A-Z]{2}(?=(?:[^0-9]*[0-9]){5})[A-Z0-9+*]{5,18}")


@dataclass(frozen=True, slots=True)
class VatParty:
    """`vat_id` or `registration` holds the printed number, never both."""

    vat_id: str
    registration: str
    country: str


def _split_identity(printed: str) -> tuple[str, str]:
    joined = re.sub(r"[\s.\-/]", "", _LABEL.sub("", printed)).upper()
    if _VAT.fullmatch(joined) and values.country_of_vat_id(joined):
        return joined, ""
    return "", printed


def _find_party_country(scope: MappingScope, side: str, *, vat_id: str) -> str:
    found = values.find_country(scope.value(f"{side}.country"))
    found = (
        found
        or values.find_ending_country(scope.value(f"{side}.address"))
        or values.country_of_vat_id(vat_id)
    )
    if not found and invoices_values.parse_tin(scope.value(f"{side}.tax_id")):
        return "ID"
    return found


def make_party(scope: MappingScope, side: str, printed: str) -> VatParty:
    vat_id, registration = _split_identity(printed)
    return VatParty(vat_id, registration, _find_party_country(scope, side, vat_id=vat_id))


def find_seller(scope: MappingScope) -> VatParty:
    """What the document prints, else what the owner has said; otherwise nothing, and a flag."""
    printed = clean(scope.value("seller.tax_id")) or scope.profile.tin
    found = make_party(scope, "seller", printed)
    country = found.country or values.find_country(scope.profile.country)
    if not country:
        scope.findings.flag(
            "seller.address", "names no country, and the owner's settings give none"
        )
    if not printed:
        scope.findings.flag("seller.tax_id", "none on the document or in the owner's settings")
    return VatParty(found.vat_id, found.registration, country)


UNITED_STATES: Final = "US"


def is_outside_vat(scope: MappingScope) -> bool:
    """Whether the seller's country levies no VAT: a sales tax is a charge to the standard."""
    seller = scope.once(find_seller)
    return seller.country == UNITED_STATES and not seller.vat_id


def identify_seller(scope: MappingScope) -> str:
    """BT-29: the number as printed; where there is none, the address for mail, and a flag."""
    seller = scope.once(find_seller)
    if seller.registration or seller.vat_id:
        return seller.registration
    if email := scope.text("seller.email"):
        scope.findings.flag("seller.tax_id", "none; the seller is identified by the email")
    return email


def name_seller(scope: MappingScope) -> str:
    """As printed; where no name was read, the owner's own, which a person should look at."""
    if printed := scope.text("seller.name"):
        return printed
    if scope.profile.name:
        scope.findings.flag("seller.name", "none was read: the owner's name is written")
    return scope.profile.name
