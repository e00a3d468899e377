"""Broker papers set by hand, those nobody tuned on; and what they taught, cause by cause."""

import io
import json
from pathlib import Path
from typing import Any

from docmill.core.plugins import PDF, Source, Tools
from docmill.trades.reader.pipeline import pipeline
from eval.broker_papers import draw, load_papers, make
from eval.score_trades import mean_right, read
from notes import GERMAN, note


def read_lines(*lines: str) -> list[dict[str, Any]]:
    source = Source(io.BytesIO(note(*lines)), "note.pdf", PDF)
    return list(pipeline.run(source, Tools(lambda _percent, _stage: None)).data["trades"])


def test_papers_that_nobody_tuned_on_are_read_well(tmp_path: Path) -> None:
    make(tmp_path, 56, 31, "held")
    records: list[dict[str, Any]] = json.loads((tmp_path / "truth.json").read_text())
    results = dict(read(tmp_path / record["file"]) for record in records)

    assert len({record["language"] for record in records}) == 8
    assert mean_right(records, results) >= 0.85


def test_a_paper_is_in_one_half_and_a_seed_draws_it_again() -> None:
    tuned, held = load_papers("tuned"), load_papers("held")
    assert {paper.name for paper in tuned}.isdisjoint(paper.name for paper in held)
    assert len(tuned) + len(held) == len(load_papers("all"))
    assert draw(5, held) == draw(5, held)


def test_a_space_parts_numbers_where_they_multiply() -> None:
    trades = read_lines(
        "Historia transakcji",
        "Data transakcji K/S Walor Liczba Cena Wartosc Prowizja",
        "2021-02-27 11:59:29 S Tamsin 16 362,96 5 807,36 2,79",
        "2021-06-02 14:24:25 K Pellworm 807 19,11 15 421,77 10,09",
        "2021-06-15 16:19:06 K Pellworm 98 177,85 17 429,30 6,13",
    )
    assert [(t["direction"], t["quantity"], t["notional"]) for t in trades] == [
        ("sell", "16", "5807.36"), ("buy", "807", "15421.77"), ("buy", "98", "17429.30"),
    ]  # fmt: skip


def test_the_head_of_a_table_says_which_number_is_the_count() -> None:
    rows = (
        "1 Zakup 10.10.2023 Lumen US7049348169 51,61 73,84 3.810,88",
        "2 Zakup 03.12.2023 Corvid PT7924870689 50,87 109,63 5.576,88",
    )
    for head, counts in (("Ilosc Kurs", ["51.61", "50.87"]), ("Kurs Ilosc", ["73.84", "109.63"])):
        trades = read_lines("Operacje", f"Lp. Operacja Data Instrument {head} Kwota (EUR)", *rows)
        assert [trade["quantity"] for trade in trades] == counts


def test_a_row_of_income_between_trades_is_none_of_them() -> None:
    trades = read_lines(
        "Umsatzübersicht",
        "Datum Vorgang Wertpapier Anteile Kurs Betrag",
        "12.03.2025 Kauf Lumen DE0007236101 14,5000 81,20 EUR 1.177,40 EUR",
        "30.06.2025 Ausschüttung Lumen 12,000000 0,31 EUR 3,72 EUR",
        "14.08.2025 Verkauf Lumen DE0007236101 3,2500 90,40 EUR 293,80 EUR",
        "30.09.2025 Ausschüttung Lumen 12,000000 0,31 EUR 3,72 EUR",
    )
    assert [trade["quantity"] for trade in trades] == ["14.50", "3.25"]


def test_what_is_held_is_no_trade() -> None:
    lines = ("Depotbestand zum 31.12.2024", "Stück Wertpapier ISIN Kurs Kurswert")
    assert not read_lines(*lines, "25 Siemens DE0007236101 172,40 4.310,00")


def test_an_address_sells_nothing() -> None:
    lines = (
        "Code ISIN FR0000120271", "Achat au comptant le 05/03/2024", "Quantité : 25",
        "Cours : 62,40 EUR", "Montant brut : 1 560,00 EUR",
        "44 rue des Lilas - CS 80134 - 92772 Boulogne Cedex 09",
    )  # fmt: skip
    (trade,) = read_lines(*lines)
    assert (trade["direction"], trade["quantity"]) == ("buy", "25")


def test_the_balance_of_the_account_is_not_what_was_settled() -> None:
    balance = "Neuer Saldo zu Ihren Gunsten 4.771,89 EUR"
    (trade,) = read_lines(*GERMAN, balance)
    assert trade["settlement_amount"] != "4771.89"
