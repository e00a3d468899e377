"""Notes of one trade in other forms, those nobody tuned on; and what they taught by cause."""

import io
import json
from pathlib import Path
from typing import Any

import pytest

from docmill.core.plugins import PDF, Source, Tools
from docmill.trades.reader.pipeline import pipeline
from eval.broker_papers import SLIPS, make
from eval.score_trades import mean_right, read
from notes import note


def read_note(*lines: str) -> dict[str, Any]:
    source = Source(io.BytesIO(note(*lines)), "note.pdf", PDF)
    return dict(pipeline.run(source, Tools(lambda _percent, _stage: None)).data)


def read_trades(*lines: str) -> list[dict[str, Any]]:
    return list(read_note(*lines)["trades"])


FACTS = ("ISIN DE0007164600", "Quantity 12", "Price 50.25 EUR", "Amount 603.00 EUR")


def test_slips_that_nobody_tuned_on_are_read_well(tmp_path: Path) -> None:
    make(tmp_path, 66, 31, "held", file=SLIPS)
    records: list[dict[str, Any]] = json.loads((tmp_path / "truth.json").read_text())
    results = dict(read(tmp_path / record["file"]) for record in records)

    assert mean_right(records, results) >= 0.85


@pytest.mark.parametrize(
    "title",
    [
        "STORNO der Abrechnung 4711293",
        "CONTRACT NOTE - CANCELLED",
        "Ordine revocato",
        "Zlecenie anulowane",
        "Ordem cancelada",
    ],
)
def test_a_cancelled_trade_is_none(title: str) -> None:
    told = read_note(title, "Bought 12 Tamsin Robotics", "Trade date 12.03.2024", *FACTS)
    assert (told["trades"], told["kind"]) == ([], "cancellation")


def test_the_day_on_which_an_order_came_in_makes_no_order_of_what_was_executed() -> None:
    received, done = "Order received 11.03.2024 21:40", "Order executed 12.03.2024 09:15"
    (trade,) = read_trades("Execution report", received, done, "Buy order, limit", *FACTS)
    assert trade["trade_date"] == "2024-03-12"
    assert not read_trades("Report", received, "Buy order, limit", *FACTS)


def test_a_code_behind_a_label_inside_a_row_tells_the_direction() -> None:
    for code, side in (("B", "buy"), ("S", "sell")):
        (trade,) = read_trades("Ticket", f"Acct 88-01  B/S {code}  Trade 12.03.2024", *FACTS)
        assert trade["direction"] == side
    assert read_trades("Ticket", "Account type S", *FACTS)[0]["direction"] == "buy"


def test_a_title_is_no_head_over_the_day_of_another_label() -> None:
    days = ("Trade confirmation", "Booked for you on 14.03.2024", "Order executed 12.03.2024")
    (trade,) = read_trades("Execution report", *days, "Bought", *FACTS)
    assert trade["trade_date"] == "2024-03-12"


def test_a_record_tells_its_day_and_not_the_plan_above_it() -> None:
    title = "Ihr Wertpapiersparplan vom 08.03.2024"
    record = "12.03.2024  Tamsin Robotics  12,5 Stk  zu  50,25 EUR  628,13 EUR"
    (trade,) = read_trades("Abrechnung", title, record, "Kennung DE0007164600")
    assert trade["trade_date"] == "2024-03-12"


def test_days_a_few_days_apart_tell_whether_the_month_comes_first() -> None:
    def read_days(money: str) -> tuple[str, str]:
        facts = (
            "Quantity 12",
            f"Price {money}50.25",
            f"Principal {money}603.00",
            "CUSIP 037833100",
        )
        days = ("Trade date 03/04/2024", "Settlement date 03/06/2024")
        (trade,) = read_trades("YOU BOUGHT Tamsin Robotics", *days, *facts)
        return trade["trade_date"], trade["settlement_date"]

    assert read_days("$") == ("2024-03-04", "2024-03-06")
    assert read_days("£") == ("2024-04-03", "2024-06-03")


def test_an_amount_of_money_is_no_number_of_a_security() -> None:
    lines = ("Comprovante de aplicação", "Fundo Bastion Multi", "Data da operação 26/04/2021")
    (trade,) = read_trades(*lines, "Cotas 909,904", "Valor R$ 226,02", "Total R$ 205.656,50")
    assert (trade["quantity"], trade["price"]) == ("909.904", "226.02")


def test_a_fund_called_after_dividends_is_bought_and_sold_like_others() -> None:
    lines = ("Confirmation", "Fund Meridiem Dividend Select R", "Dealing date 12.03.2024", *FACTS)
    assert len(read_trades(*lines)) == 1
    assert not read_trades("Dividend per share", *lines)


def test_the_costs_of_a_year_are_no_trade() -> None:
    lines = ("Annual statement of costs and charges", "Fund  Units  Price  Value")
    assert not read_trades(*lines, "Aurelia DE0007164600  487.388  37.07  18,067.47")


def test_a_code_a_word_for_cash_and_an_amount_are_no_part_of_a_name() -> None:
    rows = (
        "12.03.2024 11:59:29 {0} Tamsin Robotics DE0007164600 12 50,25 603,00",
        "13.03.2024 14:24:25 {1} Pellworm Logistik DE0007236101 7 20,50 143,50",
    )
    for codes in (("S", "K"), ("VENTE COMPTANT", "ACHAT COMPTANT")):
        trades = read_trades("Operacje", *(row.format(*codes) for row in rows))
        assert [trade["name"] for trade in trades] == ["Tamsin Robotics", "Pellworm Logistik"]
    letter = (
        "on 12.03.2024 we bought 12 shares in Tamsin Robotics for you at a price of",
        "£50.25 each, which comes to £603.00 before our fee of £5.00. The sum of £608.00 will",
        "be taken from your account. The shares have the ISIN DE0007164600.",
    )
    (trade,) = read_trades(*letter)
    assert not trade["name"] or trade["name"] == "Tamsin Robotics"


def test_two_costs_below_the_notional_tell_which_way_the_money_went() -> None:
    facts = ("GESCHÄFT", "WKN 840400", "Geschäftstag 12.03.2024", "Nennwert 250 St.", "Kurs 184,16")
    costs = ("Wert 46.040,00", "Xlaufgeld 118,00", "Zusatz 2,63")
    for total, side in (("45.919,37", "sell"), ("46.160,63", "buy")):
        (trade,) = read_trades(*facts, *costs, f"Valuta 14.03.2024 {total}")
        assert trade["direction"] == side
