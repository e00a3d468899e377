"""Whether pages are an invoice: what they call themselves, and whether the figures behave so."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from docmill.core.plugins import Recognition, Source
from docmill.invoices.checks import HELD
from docmill.invoices.fields import lines_of, value_at
from docmill.invoices.reader import detect_notation, read_invoice
from docmill.invoices.reader.embedded import read_embedded
from docmill.invoices.reader.layout import make_sheet
from docmill.invoices.reader.model import to_json
from docmill.reading.pages import Page
from docmill.reading.turning import set_upright

# What invoices are called, in the languages they are read in.
_NAMES: Final = (
    r"(?:invoice|faktur|invois|tagihan|rechnung|rechnungs\w*|facture|factura|fattura|fatura|factuur"
    r"|creditnota|faktura|faktúra|számla|credit note|bill|receipt|kwitansi|kuitansi|quittung|recibo"
    r"|ricevuta|reçu|kvitto|kvittering|regning|nota (?:fiscal|tagihan|credito)|nota de crédito)\b"
)
_TITLE: Final = re.compile(
    r"^\W*(?:(?:tax|sales|commercial|proforma|pro forma|vat|original|copy|final|your|e) ?){0,2}"
    rf"({_NAMES})",
    re.IGNORECASE,
)
_MENTION: Final = re.compile(
    r"\b(invoice|faktur|invois|rechnung|facture|factura|fattura|fatura|factuur|faktura|faktúra"
    r"|számla|receipt|kwitansi|recibo|ricevuta|kvitto)",
    re.IGNORECASE,
)
# A bank's paper has sums that add up as well.
_BANK: Final = re.compile(
    r"\b(?:konto-?auszug|rechnungsabschluss|account statement|bank statement|statement of account"
    r"|extracto|relevé de compte|estratto conto|rekeningafschrift|rekeninguittreksel|wyciąg"
    r"|kontoutdrag|anteile|depotbank|depot)\b",
    re.IGNORECASE,
)
TITLE_LINES, TITLE_WORDS = 60, 9
WEIGHTS: Final = {
    "title": 0.55, "mention": 0.26, "number": 0.15, "adds": 0.3, "total": 0.15, "lines": 0.1,
    "bank": -0.6,
}  # fmt: skip
MOST: Final = 0.95


def recognize_invoice(source: Source, pages: Sequence[Page]) -> Recognition:
    """An e-invoice inside leaves no doubt; else the more an invoice has of what they have."""
    if read_embedded(source.file.read()):
        return Recognition(1.0, "Read as an invoice: it carries an e-invoice as XML.")
    upright = [set_upright(page) for page in pages]
    data = to_json(read_invoice(detect_notation(make_sheet(upright))))
    text = "\n".join(page.text for page in upright)
    title = _find_title(text)
    named = title or ((match := _MENTION.search(text)) and match[1]) or ""
    signs = _find_signs(data, text)
    signs["title" if title else "mention"] = bool(named)
    score = min(MOST, sum(WEIGHTS[name] for name, seen in signs.items() if seen))
    return Recognition(score, _write_sentence(signs, named))


def _find_title(text: str) -> str:
    """What the document calls itself: the beginning of a short line."""
    for line in text.splitlines()[:TITLE_LINES]:
        if len(line.split()) <= TITLE_WORDS and (match := _TITLE.match(line)):
            return match[1]
    return ""


def _find_signs(data: Mapping[str, Any], text: str) -> dict[str, bool]:
    checks: Mapping[str, str] = data["checks"]
    return {
        "number": value_at(data, "invoice_number") is not None,
        "adds": HELD in {checks["net_tax_gross"], checks["lines_net"]},
        "total": value_at(data, "totals.gross") is not None,
        "lines": bool(lines_of(data)),
        "bank": bool(_BANK.search(text)),
    }


def _write_sentence(signs: Mapping[str, bool], named: str) -> str:
    words = {
        "number": "has a number",
        "adds": "its sums add up",
        "total": "has a total",
        "lines": "lists what is charged",
    }
    reasons = [f"it says {named.capitalize()}"] if named else []
    reasons += [text for name, text in words.items() if signs[name]]
    if len(reasons) < 2:
        return f"Read as an invoice: {''.join(reasons) or 'nothing else fits better'}."
    return f"Read as an invoice: {', '.join(reasons[:-1])}, and {reasons[-1]}."
