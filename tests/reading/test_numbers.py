from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docmill.reading import numbers

MONEY = st.decimals(min_value=0, max_value=10**12, places=2)


def value(text: str, mark: numbers.DecimalMark = "") -> Decimal:
    found = numbers.read_number(text, mark)
    assert found is not None, text
    return found.value


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("1.234,56", "1234.56"),
        ("1,234.56", "1234.56"),
        ("1 234,56", "1234.56"),
        ("1'234.50", "1234.50"),
        ("12,34,567.80", "1234567.80"),
        ("1.234.567", "1234567"),
        ("84,95", "84.95"),
        ("0,500", "0.500"),
        ("1234,567", "1234.567"),
        (".5", "0.5"),
        ("Rp1.000.000,-", "1000000"),
        ("Rp. 1.500.000", "1500000"),
        ("IDR 5,000,000.00", "5000000"),
        ("1.000,00IDR", "1000"),
        ("€83.20", "83.20"),
        ("671,15 €", "671.15"),
        ("123,45-", "-123.45"),
        ("-USD 47.90", "-47.90"),
        ("(123.45)", "-123.45"),
        ("−5,00", "-5"),
        ("+5,00", "5"),
        ("19 %", "19"),
    ],
)
def test_a_number_is_read_as_it_is_meant(text: str, wanted: str) -> None:
    assert value(text) == Decimal(wanted)


def test_what_may_be_fifty_or_fifty_thousand_has_both_readings() -> None:
    fifty, thousands = Decimal("50.000"), Decimal(50000)

    assert numbers.interpret_digits("50.000") == (thousands, fifty)
    assert numbers.interpret_digits("50.000", ",") == (thousands, fifty)
    assert numbers.interpret_digits("50.000", ".") == (fifty, thousands)


@pytest.mark.parametrize(
    "text",
    ["INV/2023/03/0008", "31.12.2024", "2014-03", "A4", "250g", "04:59:13", "DE123456789", ""],
)
def test_what_is_no_number_by_itself_is_not_read(text: str) -> None:
    assert numbers.find_numbers(text) == []


def test_numbers_are_found_where_they_stand() -> None:
    text = "3 Piece at 1.250,00 EUR less 5%"
    found = numbers.find_numbers(text)

    assert [text[item.start : item.end] for item in found] == ["3", "1.250,00 EUR", "5%"]
    assert [item.currency for item in found] == ["", "EUR", ""]
    assert [item.percent for item in found] == [False, False, True]


def test_the_decimal_mark_is_what_most_numbers_use() -> None:
    assert numbers.find_decimal_mark(["1.234,56", "50.000", "7,00"]) == ","
    assert numbers.find_decimal_mark(["1,234.56", "50,000"]) == "."
    assert numbers.find_decimal_mark(["50.000", "7"]) == ""


@given(MONEY)
def test_both_conventions_come_back(amount: Decimal) -> None:
    english = f"{amount:,}"
    german = english.translate(str.maketrans(",.", ".,"))

    assert value(english) == value(german) == amount


@given(MONEY, st.sampled_from(["Rp{}", "Rp {}", "{} IDR", "€{}", "USD {}", "{}€"]))
def test_money_may_be_glued_to_its_number(amount: Decimal, shape: str) -> None:
    found = numbers.read_number(shape.format(f"{amount:,}"))

    assert found is not None
    assert found.value == amount
    assert found.currency in {"IDR", "EUR", "USD"}


@given(MONEY.filter(bool), st.sampled_from(["-{}", "{}-", "({})", "−{}"]))
def test_every_minus_counts(amount: Decimal, shape: str) -> None:
    assert value(shape.format(f"{amount:,}")) == -amount


@given(st.text(max_size=60))
def test_any_text_can_be_searched(text: str) -> None:
    for found in numbers.find_numbers(text):
        assert 0 <= found.start < found.end <= len(text)
        assert all(reading.is_finite() for reading in found.readings)


def test_figures_in_groups_that_no_number_has_are_none() -> None:
    assert numbers.find_numbers("01.234.567.8") == []
    assert numbers.find_numbers("12.03.19.4711") == []
