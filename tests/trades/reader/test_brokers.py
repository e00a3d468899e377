"""Who sent a note: a bank's name, and neither a label nor a customer nor a sentence."""

import io
from typing import Any

import pytest

from docmill.core.plugins import PDF, Source, Tools
from docmill.trades.reader.pipeline import pipeline
from notes import note

DEAL = (
    "Wertpapierabrechnung Kauf",
    "ISIN DE0007164600",
    "Trade date 12.03.2024",
    "Quantity 12",
    "Price 50,25 EUR",
    "Amount 603,00 EUR",
)


def find_sender(*lines: str) -> Any:
    source = Source(io.BytesIO(note(*lines)), "note.pdf", PDF)
    read = pipeline.run(source, Tools(progress=lambda _percent, _stage: None))
    (trade,) = read.data["trades"]
    return trade["counterparty"]


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("Nordbank AG", "Nordbank AG"),
        ("NORDWERT BANK GMBH HAFENSTRASSE 19-21", "NORDWERT BANK GMBH"),
        ("Nordbank Service Telefon: (0 40) 71 47", "Nordbank Service"),
        ("Bank NWB AG 123 123 10 10", "Bank NWB AG"),
        ("Nordwert Securities B.V. Account number:", "Nordwert Securities B.V."),
        ("nordwert bank ag", "nordwert bank ag"),
        ("Nordwert AG, Hafenstrasse 20", "Nordwert AG"),
        ("Banque du Nord et de la Mer", "Banque du Nord et de la Mer"),
    ],
)
def test_a_name_ends_where_something_else_begins(line: str, name: str) -> None:
    assert find_sender(line, *DEAL) == name


@pytest.mark.parametrize(
    "line",
    [
        "Depotinhaber: Nordwert Capital",
        "Depot-Nr.: 292",
        "Depotnummer",
        "Diese Abrechnung wird von der Bank nicht unterschrieben",
        "The following securities have been sold on your behalf",
        "service@nordwert-invest.com",
        "Bank AG",
        "DE123 Sparkasse Nordwert 100,00 EUR",
    ],
)
def test_a_label_a_customer_or_a_sentence_is_no_sender(line: str) -> None:
    assert find_sender(line, *DEAL) is None


def test_a_company_that_is_called_no_bank_sends_only_at_the_head() -> None:
    assert find_sender("Nordwert AG", *DEAL) == "Nordwert AG"
    assert find_sender("Ann Example", "Hafenstrasse 1", "Hamburg", *DEAL, "Nordwert AG") is None


def test_a_bank_at_the_foot_goes_before_a_company_at_the_head() -> None:
    assert find_sender("Nordwert AG", *DEAL, "Nordbank AG") == "Nordbank AG"
