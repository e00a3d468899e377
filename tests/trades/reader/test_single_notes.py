"""Single notes: the direction, the quantity and what makes no trade."""

import io
from datetime import date
from typing import Any

import pytest

from docmill.core.plugins import PDF, Source, Tools
from docmill.trades.reader.days import count_working_days
from docmill.trades.reader.pipeline import pipeline
from notes import note


def read_lines(*lines: str) -> list[dict[str, Any]]:
    source = Source(io.BytesIO(note(*lines)), "note.pdf", PDF)
    return list(pipeline.run(source, Tools(progress=lambda _percent, _stage: None)).data["trades"])


FACTS = ("ISIN DE0007164600", "Trade date 12.03.2024", "Quantity 12", "Price 50,25 EUR")


@pytest.mark.parametrize(
    ("title", "direction"),
    [
        ("Piano di accumulo", "buy"),
        ("Plan de inversión", "buy"),
        ("Plan d'investissement", "buy"),
        ("Beleggingsplan", "buy"),
        ("Market-OrderAcquisto il 12.03.2024 alle 10:46 su Lang Exchange Milano", "buy"),
        ("Verkoopborderel", "sell"),
        ("Resgate de unidades", "sell"),
        ("Odkupienie jednostek", "sell"),
        ("Buy/Sell: S", "sell"),
        ("Sens : A", "buy"),
    ],
)
def test_titles_signs_and_codes_name_the_direction(title: str, direction: str) -> None:
    trades = read_lines(title, *FACTS, "Amount 603,00 EUR")
    assert [trade["direction"] for trade in trades] == [direction]


@pytest.mark.parametrize(
    ("settled", "direction"),
    [("Zu Ihren Lasten 605,00 EUR", "buy"), ("Zu Ihren Gunsten 601,00 EUR", "sell")],
)
def test_the_money_tells_the_direction_where_no_word_does(settled: str, direction: str) -> None:
    facts = ("ISIN DE0007164600", "Handelstag 12.03.2024", "Stück 12", "Kurs 50,25 EUR")
    sums = ("Kurswert 603,00 EUR", "Provision 2,00 EUR", settled)
    (trade,) = read_lines("Abrechnung", *facts, *sums)
    assert trade["direction"] == direction
    assert trade["confidence_score"] < 0.8


def test_money_from_a_dividend_is_no_sale() -> None:
    facts = ("ISIN DE0007164600", "Stück 12", "Kurs 50,25 EUR", "Kurswert 603,00 EUR")
    assert not read_lines("Abrechnung", "Dividende je Stück", *facts, "Gutschrift 603,00 EUR")


def test_a_unit_belongs_to_the_number_before_it() -> None:
    (trade,) = read_lines(
        "Market-Order Verkauf am 11.06.2024 um 16:00 Uhr",
        "POSITION ANZAHL PREIS BETRAG",
        "Long @49.99 $ Getränke Open End Turbo 1.000 Stk. 0,15 EUR 150,00 EUR",
        "ISIN: DE0007164600",
        "GESAMT 149,00 EUR",
    )
    assert (trade["quantity"], trade["price"], trade["notional"]) == ("1000", "0.15", "150.00")


def test_a_year_in_the_name_is_no_quantity() -> None:
    (trade,) = read_lines(
        "Market-Order BUY am 15.10.2025 um 17:48",
        "POSITION NOMINALE PREIS BETRAG",
        "Sept. 2064 1.253,51 USD 92,41 % 996,70 EUR",
        "ISIN: US68389XCV55",
    )
    assert (trade["quantity"], trade["notional"]) == ("1253.51", "996.70")


def test_lots_that_a_sale_uses_up_are_no_trades() -> None:
    facts = ("ISIN DE0007164600", "Handelstag 12.03.2024", "Stück 9,333", "Kurs 50,25 EUR")
    trades = read_lines(
        "Wertpapierabrechnung: Verkauf",
        *facts,
        "Kurswert 468,98 EUR",
        "Wertpapierabrechnung: Verkauf",
        "Berücksichtigte Anschaffungsgeschäfte",
        "WP Kauf 32698879 02.03.2021 STK 4,333 23,08 100,01",
        "WP Kauf 35876885 06.04.2021 STK 5,000 20,00 100,00",
    )
    assert [trade["quantity"] for trade in trades] == ["9.333"]


def test_a_head_that_names_the_currency_gives_it() -> None:
    (trade,) = read_lines(
        "Fonds: Muster ISIN: DE0008491051",
        "Umsatzart Betrag/EUR Preis/EUR Anteile",
        "22.12.2020 Verkauf 14,45 157,21 -0,092",
    )
    assert (trade["currency"], trade["quantity"]) == ("EUR", "0.092")


def test_a_direction_that_nothing_tells_is_for_a_person_to_choose() -> None:
    facts = ("ISIN DE0007164600", "Handelstag 12.03.2024", "Stück 12", "Kurs 50,25 EUR")
    (trade,) = read_lines("Abrechnung", *facts, "Kurswert 603,00 EUR")
    assert (trade["quantity"], trade["notional"]) == ("12", "603.00")
    assert trade["confidence_score"] <= 0.3


def test_purchases_listed_below_a_sale_are_no_trades() -> None:
    sale = ("Verkauf", "ISIN DE0007164600", "Handelstag 12.03.2024", "Stück 12", "Kurs 50,25 EUR")
    lots = ("Kauf 02.01.2020 4 40,00 160,00 EUR", "Kauf 03.02.2021 8 41,00 328,00 EUR")
    trades = read_lines(*sale, "Kurswert 603,00 EUR", "Steuerliche Informationen", *lots)
    assert [(trade["direction"], trade["quantity"]) for trade in trades] == [("sell", "12")]


def test_numbers_that_multiply_closely_are_a_trade_though_no_word_is_known() -> None:
    (trade,) = read_lines(
        "Wqzrtl Kvbnth",
        "Zplk Vrmq Tssl",
        "Rtlkan Global Fund DE0007164600 12.03.2024",
        "209 115,8531 24.213,30",
    )
    assert (trade["quantity"], trade["price"]) == ("209", "115.8531")
    assert trade["notional"] == "24213.30"
    assert trade["confidence_score"] < 0.8


def test_small_numbers_that_multiply_by_chance_are_no_trade() -> None:
    assert not read_lines("Wqzrtl Kvbnth", "Rtlkan DE0007164600", "Vrmq 2 3 6")


def test_a_sum_behind_a_rate_is_in_the_currency_of_the_account_without_a_word_for_it() -> None:
    (trade,) = read_lines(
        "Order: Buy",
        "0.270 units Alpine Pacific Index",
        "ISIN: DE0007164600",
        "Trade date 12.03.2024",
        "Price: USD 133.12",
        "Amount USD 35.94",
        "Exchange rate CHF/USD 0.89215 CHF 32.06",
    )
    assert (trade["currency"], trade["notional"]) == ("CHF", "32.06")


def test_a_word_torn_at_a_stroke_in_a_head_says_no_direction() -> None:
    trades = read_lines(
        "Kauf",
        *FACTS,
        "Amount 603,00 EUR",
        "Fondsname Anteil- Rücknahme-/ Wert",
        "Alpen Fonds DE0007164600 40,000 78,70 EUR 3.148,00 EUR",
    )
    assert [trade["direction"] for trade in trades] == ["buy"]


def test_a_note_has_one_trade_though_its_small_print_multiplies() -> None:
    (trade,) = read_lines(
        "Kauf",
        *FACTS,
        "Amount 603,00 EUR",
        "Ansparplan",
        "Menge 31,5 7,25 228,38",
    )
    assert trade["quantity"] == "12"


SECURITY = ("Kauf", "ISIN DE0007164600", "Stück 12 Kurs 104,50 EUR", "Kurswert 1.254,00 EUR")


@pytest.mark.parametrize(
    ("first", "last", "count"),
    [
        ("2024-03-01", "2024-03-05", 2),
        ("2024-03-01", "2024-03-01", 0),
        ("2024-03-02", "2024-03-04", 1),
        ("2024-03-05", "2024-03-01", -2),
        ("2024-03-01", "2024-03-18", 11),
    ],
)
def test_working_days_leave_out_the_weekend(first: str, last: str, count: int) -> None:
    assert count_working_days(date.fromisoformat(first), date.fromisoformat(last)) == count


def test_the_day_two_working_days_before_the_settlement_is_the_trades() -> None:
    (trade,) = read_lines(
        "Musterstadt, 12.03.2024", "Qrst 11.03.2024", *SECURITY, "Valuta 13.03.2024"
    )
    assert trade["trade_date"] == "2024-03-11"


def test_a_day_beside_the_quantity_comes_before_the_letters() -> None:
    (trade,) = read_lines(
        "le 28/02/2024",
        "Achat",
        "ISIN FR0000447039",
        "27/02/2024 12 AXA PEA Cours 104,50 EUR",
        "Montant brut 1.254,00 EUR",
    )
    assert trade["trade_date"] == "2024-02-27"


def test_the_ends_of_a_period_and_a_saturday_are_no_days_of_a_trade() -> None:
    (trade,) = read_lines(
        "Übersicht 01.03.2024 bis 29.03.2024",
        "Wxyz 09.03.2024",
        *SECURITY,
        "Wxyz 11.03.2024",
        "Valuta 13.03.2024",
    )
    assert trade["trade_date"] == "2024-03-11"


def test_a_day_that_no_word_names_is_never_sure() -> None:
    lines = ("Qrst 11.03.2024", *SECURITY, "Valuta 13.03.2024")
    named = ("Handelstag 11.03.2024", *lines[1:])
    assert _read_day_confidence(*lines) < 0.9
    assert _read_day_confidence(*named) >= 0.9


def _read_day_confidence(*lines: str) -> float:
    source = Source(io.BytesIO(note(*lines)), "note.pdf", PDF)
    data = pipeline.run(source, Tools(progress=lambda _percent, _stage: None)).data
    return float(data["evidence"]["trades[0].trade_date"]["confidence"])


def test_a_label_a_sentence_a_number_or_the_broker_is_no_name() -> None:
    deal = ("Kauf am 12.03.2024", "24 Stück zu 51,20 EUR", "Kurswert 1.228,80 EUR")
    for noise in (
        "STOCK", "BezeichnungWertpapierkennnummer", "Abwicklung über", "CQ0U7Z",
        "Inhaber-Aktien o.N.", "Fondsertrag erfolgt aus",
    ):  # fmt: skip
        named = read_lines(*deal, "Orvane Marine Systems", noise, "ISIN DE0007236101")
        assert named[0]["name"] == "Orvane Marine Systems", noise
    (trade,) = read_lines("Nordhaven Bank AG", "ISIN DE0007236101", *deal)
    assert not trade["name"]


def test_a_name_behind_a_label_is_the_one_next_to_the_numbers_and_is_whole() -> None:
    (trade,) = read_lines(
        "Tausch/Kauf am 12.03.2024", "zu Lasten", "Bezeichnung: Arbor Emerging UCITS ETF",
        "ISIN: FR0000120271", "zu Gunsten", "Bezeichnung: Corvid Deutsche Börse Money Market ETF",
        "ISIN: DE0007236101", "Anteile 24,5000 Kurs 51,20 EUR Betrag 1.254,40 EUR",
    )  # fmt: skip
    assert trade["name"] == "Corvid Deutsche Börse Money Market ETF"


def test_numbers_with_a_unit_prove_a_trade_though_no_code_names_its_security() -> None:
    (trade,) = read_lines(
        "Geschäftsabrechnung vom 02.03.2018", "Fhzzr fgnaq 02.03.2018", "Allianz SE 840400",
        "Summe St. 250 EUR 184,1584 EUR 46.039,60",
    )  # fmt: skip
    assert (trade["quantity"], trade["notional"]) == ("250", "46039.60")
    assert trade["confidence_score"] < 0.5  # nothing says whether it was bought or sold


def test_small_print_about_statements_makes_no_statement() -> None:
    lines = (
        "ORMHT AM 06.06.2016", "ISIN DE0007236101", "ST 66,00000", "Kurs 6,250000 EUR",
        "Kurswert EUR 412,50", "zulasten Konto 123",
    )  # fmt: skip
    assert len(read_lines(*lines, "Hinweis für Kontoauszüge und Anzeigen:")) == 1
    assert not read_lines("Kontoauszug", *lines)
