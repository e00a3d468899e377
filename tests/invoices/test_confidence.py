"""How sure values are as fitted."""

import io

import pytest

from docmill.core.plugins import PDF, Source
from docmill.invoices.confidence import fit_confidence, list_texts, load_fitted
from docmill.invoices.pipeline import read_unfitted
from docmill.reading.pdf import NO_TOOLS
from docmill.reading.sample import make_sample
from eval.calibrating import bound_share

SURE = 0.9
PAGE = (
    "Mill Works Ltd",
    "1 Mill Street, 12345 Town | VAT ID: DE123456789",
    "Bill to: | Invoice No: | INV-2024-001",
    "Example Trading GmbH | Invoice date: | 14 March 2024",
    "10115 Berlin | Due date: | 13.04.2024",
    "Description | Quantity | Unit price | Amount",
    "Grinding of wheat | 2 | 50.00 | 100.00",
    "Subtotal | | | EUR 100.00",
    "VAT 19% | | | EUR 19.00",
    "Total | | | EUR 119.00",
)


@pytest.mark.parametrize("path", ["issue_date", "invoice_number", "totals.gross"])
def test_what_the_reader_itself_doubts_is_not_sure(path: str) -> None:
    data, pages = read_unfitted(Source(io.BytesIO(make_sample(PAGE)), "a.pdf", PDF), NO_TOOLS)
    texts, fitted = list_texts(pages), load_fitted()
    plain = fit_confidence(data, texts, fitted)
    assert plain["evidence"][path]["confidence"] >= SURE

    seen = {**data["evidence"][path], "confidence": 0.84}
    doubted = {**data, "evidence": {**data["evidence"], path: seen}}
    assert fit_confidence(doubted, texts, fitted)["evidence"][path]["confidence"] < SURE


def test_few_witnesses_prove_less_than_many() -> None:
    assert bound_share(5, 5) < 0.97 < bound_share(20, 20)
    assert bound_share(98, 100) < 0.98 < bound_share(99.5, 100)
