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
_NAMES: Final = re.compile(
    r"\b(?:(?:tax |sales |commercial |proforma |pro forma )?invoice|faktur(?: pajak| penjualan)?"
    r"|invois|tagihan|nota tagihan|rechnung|gutschrift|facture|avoir|factura|fattura|fatura"
    r"|factuur|creditnota|faktura|faktúra|számla|credit note|bill|receipt|kwitansi|kuitansi"
    r"|quittung|recibo|ricevuta|reçu|kvitto|kvittering|regning)\b",
    re.IGNORECASE,
)
WEIGHTS: Final = {"says": 0.35, "number": 0.15, "total": 0.15, "adds": 0.25, "lines": 0.1}


def recognize_invoice(source: Source, pages: Sequence[Page]) -> Recognition:
    """An e-invoice inside leaves no doubt; else the more an invoice has of what they have."""
    if read_embedded(source.file.read()):
        return Recognition(1.0, "Read as an invoice: it carries an e-invoice as XML.")
    upright = [set_upright(page) for page in pages]
    data = to_json(read_invoice(detect_notation(make_sheet(upright))))
    named = next((match for page in upright if (match := _NAMES.search(page.text))), None)
    signs = _find_signs(data, named is not None)
    score = sum(WEIGHTS[name] for name, seen in signs.items() if seen)
    words = {
        "says": f"it says {named[0].capitalize()}" if named else "",
        "number": "has a number",
        "adds": "its sums add up",
        "total": "has a total",
        "lines": "lists what is charged",
    }
    return Recognition(score, _write_sentence([words[name] for name in words if signs[name]]))


def _find_signs(data: Mapping[str, Any], named: bool) -> dict[str, bool]:
    checks: Mapping[str, str] = data["checks"]
    return {
        "says": named,
        "number": value_at(data, "invoice_number") is not None,
        "total": value_at(data, "totals.gross") is not None,
        "adds": HELD in {checks["net_tax_gross"], checks["lines_net"]},
        "lines": bool(lines_of(data)),
    }


def _write_sentence(reasons: Sequence[str]) -> str:
    if len(reasons) < 2:
        return f"Read as an invoice: {''.join(reasons) or 'nothing else fits better'}."
    return f"Read as an invoice: {', '.join(reasons[:-1])}, and {reasons[-1]}."
