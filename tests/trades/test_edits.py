"""What people type into the cells of trades, and what there is to doubt about them."""

from datetime import date
from decimal import Decimal
from typing import Any

import pytest

from docmill.jobs.review_shapes import EditError
from docmill.trades.approval import decide_approval
from docmill.trades.checks import find_doubts, find_weakest
from docmill.trades.edits import normalize_value

GOOD: dict[str, Any] = {
    "isin": "DE0007236101", "quantity": Decimal(25), "price": Decimal("172.40"),
    "notional": Decimal("4310.00"), "currency": "EUR", "trade_date": date(2024, 3, 4),
    "settlement_date": date(2024, 3, 6), "direction": "buy",
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("quantity", "1.234,5", Decimal("1234.5")), ("quantity", "1,200", Decimal(1200)),
        ("price", "172.40", Decimal("172.40")), ("price", "0", Decimal(0)),
        ("trade_date", "2024-03-04", date(2024, 3, 4)),
        ("trade_date", "4 March 2024", date(2024, 3, 4)), ("currency", "eur", "EUR"),
        ("isin", "de 000 723610 1", "DE0007236101"), ("cusip", "037833100", "037833100"),
        ("direction", "Verkauf", "sell"), ("direction", "B", "buy"),
        ("name", "  SIEMENS   AG\u200b ", "SIEMENS AG"), ("price", " ", None), ("isin", None, None),
    ],
)  # fmt: skip
def test_values_may_come_as_documents_print_them(name: str, text: str | None, value: Any) -> None:
    assert normalize_value(name, text) == value


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("isin", "DE0007236102", "check digit"), ("isin", "DE00", "is no ISIN"),
        ("cusip", "037833101", "check digit"), ("quantity", "0", "can't be 0"),
        ("quantity", "many", "is no number"), ("price", "-3", "can't be negative"),
        ("trade_date", "2024-02-30", "is no date"), ("trade_date", "soon", "is no date"),
        ("currency", "euro", "is no currency"), ("direction", "hold", "neither buy nor sell"),
        ("direction", "", "buy or sell"), ("quantity", "9" * 30, "is no number"),
    ],
)  # fmt: skip
def test_what_can_not_be_kept_says_why(name: str, text: str, says: str) -> None:
    with pytest.raises(EditError) as caught:
        normalize_value(name, text)
    assert says in caught.value.says


@pytest.mark.parametrize(
    ("given", "doubts"),
    [
        ({}, {}),
        ({"quantity": Decimal(26)}, {"notional": "Quantity times price is 4,482.4"}),
        ({"quantity": None}, {"quantity": "Not found on the page"}),
        ({"isin": None}, {"isin": "Nothing names the security"}),
        ({"isin": None, "name": "SIEMENS AG"}, {}),
        ({"isin": "US0378331005", "cusip": "594918104"}, {"cusip": "The ISIN has 037833100"}),
        ({"settlement_date": date(2024, 3, 1)}, {"settlement_date": "Before the trade date"}),
        ({"notional": Decimal("4310.01")}, {}),
        ({"price": Decimal("172.396"), "notional": Decimal("4309.90")}, {}),
    ],
)
def test_what_does_not_fit_is_doubted(given: dict[str, Any], doubts: dict[str, str]) -> None:
    assert find_doubts({**GOOD, **given}, {}) == doubts


def test_bonds_are_priced_in_percent_and_shares_are_not() -> None:
    bond = {**GOOD, "quantity": Decimal(5000), "price": Decimal("98.5"), "notional": Decimal(4925)}
    assert find_doubts({**bond, "asset_class": "bond"}, {}) == {}
    assert list(find_doubts({**bond, "asset_class": "equity"}, {})) == ["notional"]


def test_unsure_values_are_doubted_unless_another_names_the_security() -> None:
    unsure = {"isin": {"confidence": 0.5}, "quantity": {"confidence": 0.7}}
    assert find_doubts(GOOD, unsure) == {
        "isin": "Read with 50% confidence", "quantity": "Read with 70% confidence",
    }  # fmt: skip
    assert list(find_doubts({**GOOD, "name": "SIEMENS AG"}, unsure)) == ["quantity"]
    assert find_doubts(GOOD, unsure, 0.4) == {}
    assert list(find_weakest(GOOD, {**unsure, "isin": {"confidence": 0.9}})) == ["quantity"]


def test_an_exchange_rate_may_stand_between_price_and_notional() -> None:
    foreign = {**GOOD, "notional": Decimal("3981.20")}
    sure = {"notional": {"confidence": 0.95}, "quantity": {"confidence": 0.95}}
    assert find_doubts(foreign, sure) == {}
    sure["quantity"] = {"confidence": 1.0, "edited": True}
    assert list(find_doubts(foreign, sure)) == ["notional"]


def test_a_figure_that_a_person_set_settles_those_it_multiplies_with() -> None:
    unsure = {"notional": {"confidence": 0.55}, "quantity": {"confidence": 1.0, "edited": True}}
    assert find_doubts(GOOD, unsure) == {}
    assert list(find_doubts({**GOOD, "quantity": Decimal(24)}, unsure)) == ["notional"]
    unsure["currency"] = {"confidence": 0.5}
    assert list(find_doubts(GOOD, unsure)) == ["currency"]


def test_nothing_is_approved_without_a_rule_in_words() -> None:
    assert decide_approval(0.79, 0.8).approved_by is None
    assert decide_approval(0.8, 0.8).approved_by == "rule: every needed value at 0.80 or surer"
