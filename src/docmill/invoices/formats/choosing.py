"""Which format an invoice is written in: the one asked for, or of `auto` the first that can be."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from docmill.core.faults import DocmillError
from docmill.invoices import formats
from docmill.invoices.formats import Emitted, values
from docmill.invoices.formats.coretax import INDONESIA, RUPIAH
from docmill.invoices.profile import Profile
from docmill.invoices.values import clean, look_up

AUTO: Final = "auto"
CORETAX: Final = "pt_simon_invoice_v1"
UBL: Final = "ubl_invoice_v1"
CII: Final = "cii_invoice_v1"
LABELS: Final = {
    AUTO: "Coretax or UBL, by the invoice",
    CORETAX: "Coretax e-Faktur (Indonesia)",
    UBL: "UBL 2.1",
    CII: "CII (Factur-X)",
}
REFUSED: Final = "GW_4XX"
_NPWP: Final = re.compile(r"\b\d{2}\.\d{3}\.\d{3}\.\d-\d{3}\.\d{3}\b")


def label_of(mapping: str) -> str:
    """What people call a mapping; one of an operator's own is called by its name."""
    return LABELS.get(mapping, mapping)


@dataclass(frozen=True, slots=True)
class WrittenInvoice:
    """`mapping` is the one it was written in."""

    mapping: str
    emitted: Emitted


def check_name(mapping: str) -> None:
    """Raises UNKNOWN_MAPPING."""
    if mapping != AUTO:
        formats.load(mapping)


def write_invoice(
    mapping: str, invoice: Mapping[str, Any], profile: Profile | None = None, *, pretty: bool = True
) -> WrittenInvoice:
    """Raises GW_4XX with the reason of the first format that refused, where all did."""
    refused: DocmillError | None = None
    for name in list_candidates(mapping, invoice):
        try:
            made = formats.emit(formats.load(name), invoice, profile, pretty=pretty)
        except DocmillError as exc:
            if exc.fault.code != REFUSED:
                raise
            refused = refused or exc
        else:
            return WrittenInvoice(name, made)
    assert refused is not None
    raise refused


def list_candidates(mapping: str, invoice: Mapping[str, Any]) -> list[str]:
    """Of `auto`: Coretax for rupiah and for parties in Indonesia, then UBL."""
    if mapping != AUTO:
        return [mapping]
    return [CORETAX, UBL] if is_indonesian(invoice) else [UBL, CORETAX]


def is_indonesian(invoice: Mapping[str, Any]) -> bool:
    currency = clean(invoice.get("currency")).upper().rstrip(".")
    if currency in RUPIAH:
        return True
    return any(_is_in_indonesia(look_up(invoice, side)) for side in ("seller", "buyer"))


def _is_in_indonesia(party: object) -> bool:
    country = values.find_country(look_up(party, "country"))
    country = country or values.find_ending_country(look_up(party, "address"))
    return country == INDONESIA or bool(_NPWP.search(clean(look_up(party, "tax_id"))))


def explain_refusal(exc: DocmillError) -> str:
    """The sentence for the owner."""
    text = exc.reason or exc.detail
    return text[:1].upper() + text[1:] + ("" if text.endswith(".") else ".")
