"""The shared invoices as UBL and CII: whole ones are valid, of others what is missing is named."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from docmill.invoices import formats
from docmill.invoices.formats import validators
from docmill.invoices.formats.language import InvoiceMapping
from eval.score_invoices import read
from invoice_samples import EUROPEAN

CORPUS = Path(__file__).parents[4] / "shared" / "corpus" / "invoices"
REQUIRED = (
    *("invoice_number", "issue_date", "currency", "seller.name", "seller.tax_id"),
    *("buyer.name", "totals.gross", "lines"),
)
RETIRED = ("DEM",)  # no currency any more, for EN 16931


def lacking(data: dict[str, Any], written: dict[str, Any]) -> Iterator[str]:
    """Fields of EN 16931 that the page does not give: looked up, never by the rules' verdict."""
    for path in REQUIRED:
        group, _, name = path.rpartition(".")
        if not (data[group] if group else data)[name]:
            yield path
    if data["currency"] in RETIRED:
        yield "currency"
    for party in ("seller", "buyer"):
        known: dict[str, Any] = written.get(party) or {}
        if not known.get("country"):  # an address without a known country
            yield f"{party}.address"
    rates = [line.get("tax_rate") for line in written.get("lines", [])]
    if float(data["totals"]["tax"] or 0) and rates and not any(rates):
        yield "lines.tax_rate"


def check(mapping: InvoiceMapping, data: dict[str, Any]) -> tuple[list[str], list[str]]:
    """What is lacking, and the fields that broken rules name."""
    document = formats.emit(mapping, data).xml
    broken = [each for each in validators.validate(mapping, document) if each.severity == "fatal"]
    return [*lacking(data, formats.read_back(mapping, document))], [each.field for each in broken]


@pytest.mark.skipif(not CORPUS.is_dir(), reason="the shared corpus is not on this machine")
def test_shared_invoices_are_valid_or_every_missing_field_is_named() -> None:
    first: dict[str, Any] = {}
    for record in json.loads((CORPUS / "truth.json").read_text()):
        first.setdefault(record.get("vendor") or record["group"], record)
    valid, bad = 0, list[Any]()
    for record in first.values():
        _, data, _ = read(CORPUS / record["file"])
        for name in sorted(EUROPEAN):
            missing, named = check(formats.load(name), data)
            valid += not named
            if set(missing) - set(named) or (named and not missing):
                bad.append((record["file"], name, missing, named))

    assert not bad, "\n".join(map(str, bad))
    assert valid >= len(first) // 2
