"""Trades told over several rows: the numbers in one, what they are of in those around it."""

import io
from typing import Any

from docmill.core.plugins import PDF, Source, Tools
from docmill.trades.reader.pipeline import pipeline
from notes import note


def read_lines(*lines: str) -> list[dict[str, Any]]:
    source = Source(io.BytesIO(note(*lines)), "note.pdf", PDF)
    return list(pipeline.run(source, Tools(lambda _percent, _stage: None)).data["trades"])


def test_what_a_record_is_of_stands_above_its_numbers() -> None:
    trades = read_lines(
        "Wykaz zawartych transakcji",
        "2020-01-29 09:40:46 Quillfeather Foods DE0007236101",
        "Kupno ilosc 29 cena 63,47 PLN wartosc 1 840,63 PLN",
        "2020-01-30 13:37:48 Castelmar Industrie FR0000120271",
        "Sprzedaz ilosc 733 cena 25,19 PLN wartosc 18 464,27 PLN",
        "2020-02-06 14:50:56 Veldra Chemie US0378331005",
        "Kupno ilosc 574 cena 152,75 PLN wartosc 87 678,50 PLN",
    )
    assert [(t["direction"], t["trade_date"], t["isin"], t["quantity"]) for t in trades] == [
        ("buy", "2020-01-29", "DE0007236101", "29"),
        ("sell", "2020-01-30", "FR0000120271", "733"),
        ("buy", "2020-02-06", "US0378331005", "574"),
    ]


RECORDS = (
    "Umsatzliste", "Vorgang Fonds Betrag Preis Menge",
    "Qvgo Alpha Fonds 20,00 EUR 43,5420 EUR 0,459",
    "980701 / DE0007236101 01.07.2021 34,477",
    "Qvgo Beta Fonds 20,00 EUR 17,4770 EUR 1,144",
    "973270 / FR0000120271 02.07.2021 101,212",
    "Qvgo Gamma Fonds 30,00 EUR 19,5674 EUR 1,533",
    "941034 / US0378331005 05.07.2021 82,330",
)  # fmt: skip


def test_what_a_record_is_of_stands_below_and_no_word_says_what_was_done() -> None:
    trades = read_lines(*RECORDS)
    assert [(t["trade_date"], t["isin"], t["quantity"]) for t in trades] == [
        ("2021-07-01", "DE0007236101", "0.459"),
        ("2021-07-02", "FR0000120271", "1.144"),
        ("2021-07-05", "US0378331005", "1.533"),
    ]
    assert max(trade["confidence_score"] for trade in trades) < 0.5


def test_a_list_with_days_and_no_direction_is_what_is_held() -> None:
    assert not read_lines(
        "Répartition du contrat",
        "Code Date Valeur Parts Montant",
        "SEXTANT FR0000120271 04/06/2020 420,37 8,2321 3 460,53",
        "MAGELLAN DE0007236101 04/06/2020 21,93 195,8640 4 295,30",
        "CENTIFOLIA US0378331005 04/06/2020 284,92 24,1409 6 878,23",
    )


def test_a_sum_less_its_cost_was_sold_though_no_word_says_so() -> None:
    lines = (
        "Fondsafregning", "Fbytg den 21.08.2025", "ISIN DK0060105203", "Nagny Xhef Oryøo",
        "209 115,8500 24.212,65", "Zvavzhz 29,00",
    )  # fmt: skip
    assert read_lines(*lines, "DKK 24.183,65")[0]["direction"] == "sell"
    assert read_lines(*lines, "DKK 24.241,65")[0]["direction"] == "buy"


def test_a_unit_behind_a_number_beats_the_word_for_an_account_before_it() -> None:
    trades = read_lines(
        "Szanowny Kliencie,",
        "w dniu 10.10.2023 sprzedalismy na Pana rachunek 644 akcji Quillfeather (DE0007236101)",
        "po kursie 73,84 PLN za sztuke, na kwote 47 552,96 PLN. Prowizja wyniosla 21,07 PLN.",
        "Kwota 47 531,89 PLN zostala uznana z data 12.10.2023.",
    )
    assert [(t["direction"], t["quantity"], t["notional"]) for t in trades] == [
        ("sell", "644", "47552.96")
    ]


NUMBERS = ("ISIN DE0007236101", "Datum 12.03.2024", "Stück 24", "Kurs 51,20 EUR")


def test_what_a_company_does_with_its_shares_is_no_trade() -> None:
    total = "Gegenwert 1.228,80 EUR"
    assert len(read_lines("Wertpapierabrechnung Kauf", *NUMBERS, total)) == 1
    for title in ("Aktiensplit 3:1", "Einbuchung aus Kapitalmaßnahme", "Depotübertrag"):
        assert not read_lines(title, *NUMBERS, total)


def test_amounts_called_estimated_are_of_no_trade_yet() -> None:
    lines = ("Achat", "ISIN FR0000120271", "Date 05/03/2024", "Quantité : 25")
    assert len(read_lines(*lines, "Cours : 62,40 EUR", "Montant : 1 560,00 EUR")) == 1
    assert not read_lines(*lines, "Cours estimé : 62,40 EUR", "Montant estimé : 1 560,00 EUR")


def test_a_fund_with_dividend_in_its_name_ends_no_trade() -> None:
    trades = read_lines(
        "Avis d'arbitrage", "Date d'effet 07/06/2024", "Désinvestissement",
        "Meridiem Dividend Select Code FR0000120271",
        "Nombre d'unités 741,071 Valeur liquidative 101,09 Montant 74 914,87 €",
        "Investissement", "Sylvan Balanced Code DE0007236101",
        "Nombre d'unités 737,331 Valeur liquidative 27,30 Montant 20 129,14 €",
    )  # fmt: skip
    assert [(t["direction"], t["quantity"]) for t in trades] == [
        ("sell", "741.071"), ("buy", "737.331"),
    ]  # fmt: skip


def test_trades_that_stand_side_by_side_are_read_column_by_column() -> None:
    trades = read_lines(
        "Confirmation of dealing", "Transaction Redemption Subscription",
        "ISIN FR0000120271 DE0007236101", "Dealing date 18/06/2023 09/08/2023",
        "Units 224.465 100.985", "Dealing price 256.53 71.39",
        "Amount in EUR 57,582.01 7,209.32",
    )  # fmt: skip
    names = ("direction", "isin", "trade_date", "quantity", "price", "notional", "currency")
    assert [tuple(trade[name] for name in names) for trade in trades] == [
        ("sell", "FR0000120271", "2023-06-18", "224.465", "256.53", "57582.01", "EUR"),
        ("buy", "DE0007236101", "2023-08-09", "100.985", "71.39", "7209.32", "EUR"),
    ]


def test_two_columns_that_do_not_multiply_stay_as_they_are() -> None:
    (trade,) = read_lines(
        "Purchase", "ISIN DE0007236101", "Trade date 18/06/2023 Settlement 20/06/2023",
        "Units 224.465", "Price 256.53", "Amount in EUR 57,582.01", "Rates 1.20 1.30",
    )  # fmt: skip
    assert trade["quantity"] == "224.465"


def test_a_record_of_a_long_table_has_the_isin_above_it_and_not_that_of_the_next() -> None:
    codes = ("FR0000120271", "DE0007236101", "US0378331005", "NL0010273215") * 6
    done = [
        f"{'Vendita' if at % 2 else 'Acquisto'} {at + 1:02}/03/2024 Qta {at + 11}"
        f" Prz 50,25 Ctv {(at + 11) * 50.25:.2f}".replace(".", ",")
        for at in range(len(codes))
    ]
    named = [f"Ord. Orvane Marine ISIN {code}" for code in codes]
    over = [line for pair in zip(named, done, strict=True) for line in pair]
    under = [line for pair in zip(done, named, strict=True) for line in pair]
    for lines in (over, under):
        trades = read_lines("Conferma ordini eseguiti", *lines)
        assert tuple(trade["isin"] for trade in trades) == codes
