"""Seller and buyer: a VAT number has its country before it, any other number is a registration."""

import re
from dataclasses import dataclass
from typing import Final

from docmill.mappings import countries, npwp
from docmill.mappings.scope import Scope
from docmill.mappings.texts import clean

_LABEL: Final = re.compile(
    r"^[^0-9:]*:\s*|^(?:npwp|vat|tva|ust|uid)\b\D*?(?=[A-Z]{2}|[0-9])", re.IGNORECASE
)
_VAT: Final = re.compile(r"[A-Z]{2}(?=(?:[^0-9]*[0-9]){5})[A-Z0-9+*]{5,18}")


@dataclass(frozen=True, slots=True)
class Party:
    """`vat_id` or `registration` holds the printed number, never both."""

    vat_id: str
    registration: str
    country: str


def _identity(printed: str) -> tuple[str, str]:
    joined = re.sub(r"[\s.\-/]", "", _LABEL.sub("", printed)).upper()
    if _VAT.fullmatch(joined) and countries.prefixing(joined):
        return joined, ""
    return "", printed


def _country(scope: Scope, side: str, *, vat_id: str) -> str:
    found = countries.named(scope.value(f"{side}.country"))
    found = found or countries.ending(scope.value(f"{side}.address")) or countries.prefixing(vat_id)
    if not found and npwp.tin(scope.value(f"{side}.tax_id")):
        return "ID"
    return found


def _party(scope: Scope, side: str, printed: str) -> Party:
    vat_id, registration = _identity(printed)
    return Party(vat_id, registration, _country(scope, side, vat_id=vat_id))


def seller(scope: Scope) -> Party:
    """What the document prints, else what the owner has said; otherwise nothing, and a flag."""
    printed = clean(scope.value("seller.tax_id")) or scope.profile.tin
    found = _party(scope, "seller", printed)
    country = found.country or countries.named(scope.profile.country)
    if not country:
        scope.findings.flag(
            "seller.address", "names no country, and the owner's settings give none"
        )
    if not printed:
        scope.findings.flag("seller.tax_id", "none on the document or in the owner's settings")
    return Party(found.vat_id, found.registration, country)


def buyer(scope: Scope) -> Party:
    """An address without a country is one in the seller's own, by custom: taken, and flagged."""
    found = _party(scope, "buyer", clean(scope.value("buyer.tax_id")))
    if found.country:
        return found
    country = scope.once(seller).country if scope.text("buyer.address") else ""
    taken = "; the seller's was taken" if country else ""
    scope.findings.flag("buyer.address", f"names no country{taken}")
    return Party(found.vat_id, found.registration, country)
