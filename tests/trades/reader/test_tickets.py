"""Papers of more countries, those nobody tuned on; and what they taught by cause."""

import io
import json
from pathlib import Path
from typing import Any

import pytest

from docmill.core.plugins import PDF, Source, Tools
from docmill.trades.confidence import TradeDescriber
from docmill.trades.reader.pipeline import pipeline, read_unfitted
from eval.broker_papers import TICKETS, make
from eval.score_trades import mean_right, read
from notes import note


def read_note(*lines: str) -> dict[str, Any]:
    source = Source(io.BytesIO(note(*lines)), "note.pdf", PDF)
    return dict(pipeline.run(source, Tools(lambda _percent, _stage: None)).data)


def read_keys(*lines: str) -> list[tuple[str, str, str]]:
    trades = read_note(*lines)["trades"]
    return [(one["direction"], one["trade_date"], one["quantity"]) for one in trades]


def test_tickets_that_nobody_tuned_on_are_read_well(tmp_path: Path) -> None:
    make(tmp_path, 69, 31, "held", file=TICKETS)
    records: list[dict[str, Any]] = json.loads((tmp_path / "truth.json").read_text())
    results = dict(read(tmp_path / record["file"]) for record in records)

    assert mean_right(records, results) >= 0.75


def test_the_head_of_a_table_names_the_days_of_its_records_however_far_below() -> None:
    found = read_keys(
        "Order date Valuation date Fund ISIN Type Units NAV Amount",
        *(
            f"{day:02}.03.2024 {day + 3:02}.03.2024 Alpha DE0007164600 Bought {day} 50.25 "
            f"{day * 50.25:.2f} EUR"
            for day in range(11, 20)
        ),
    )
    assert [day for _, day, _ in found] == [f"2024-03-{day + 3:02}" for day in range(11, 20)]


def test_bonds_and_options_of_a_table_multiply_with_a_hundred() -> None:
    bonds = read_keys(
        "Date B/S ISIN Face Price Principal Accrued Total",
        "11.03.2024 S DE0007164600 4,000 90.03 3,601.20 72.62 3,673.82 EUR",
        "12.03.2024 B US6293775085 61,000 96.54 58,889.40 63.01 58,952.41 EUR",
        "13.03.2024 B US8718291078 26,000 85.04 22,110.40 9.59 22,119.99 EUR",
    )
    options = read_keys(
        "Date Action Contract Contracts Premium Amount",
        "11.03.2024 BTO Alpha 45.00 C 2 5.48 1,096.00 USD",
        "12.03.2024 STC Alpha 45.00 C 13 9.85 12,805.00 USD",
        "13.03.2024 BTO Beta 45.00 C 5 5.28 2,640.00 USD",
    )
    assert [(side, count) for side, _, count in bonds] == [
        ("sell", "4000"), ("buy", "61000"), ("buy", "26000"),
    ]  # fmt: skip
    assert [(side, count) for side, _, count in options] == [
        ("buy", "2"), ("sell", "13"), ("buy", "5"),
    ]  # fmt: skip


def test_trades_of_one_day_have_it_from_above_their_table_and_none_from_below() -> None:
    rows = (
        "5041535 14:54:12 Alpha DE0007164600 S 689 159.36 109,799.04",
        "4286735 13:15:52 Beta US6293775085 B 26 241.99 6,291.74",
    )
    found = read_keys(
        "Trade date 11.03.2024",
        "Order Time Security B/S Quantity Price Amount EUR",
        *rows,
        "Settlement date 13.03.2024",
    )
    assert found == [("sell", "2024-03-11", "689"), ("buy", "2024-03-11", "26")]
    held = [row.replace(" S ", " ").replace(" B ", " ") for row in rows]
    assert not read_keys("Positions 11.03.2024", "Security Quantity Price Value EUR", *held)


def test_an_isin_before_the_code_of_an_exchange_is_no_account() -> None:
    found = read_keys(
        "Date Product ISIN Venue Quantity Price Value",
        "11.03.2024 Alpha DE0007164600 XETR 739 EUR 211.10 EUR -156,002.90",
        "12.03.2024 Beta US6293775085 XNYS -162 EUR 356.48 EUR 57,749.76",
    )
    assert found == [("buy", "2024-03-11", "739"), ("sell", "2024-03-12", "162")]


@pytest.mark.parametrize(
    "title",
    [
        "Repurchase agreement",
        "Festgeld",
        "Compte à terme",
        "Pronti contro termine",
        "Stock lending",
    ],
)
def test_deposits_and_loans_are_no_trades(title: str) -> None:
    told = read_note(
        title, "Purchase date 12.03.2024", "ISIN DE0007164600", "Quantity 12", "Price 50.25 EUR",
        "Purchase amount 603.00 EUR",
    )  # fmt: skip
    assert (told["trades"], told["kind"]) == ([], "money")


def test_a_notional_of_unknown_money_is_not_sure() -> None:
    def find_limit(money: str) -> float:
        lines = ("Bought 12.03.2024", "ISIN DE0007164600", "Quantity 12", f"Price 50.25{money}",
                 f"Amount 603.00{money}")  # fmt: skip
        source = Source(io.BytesIO(note(*lines)), "note.pdf", PDF)
        data, _ = read_unfitted(source, Tools(lambda _percent, _stage: None))
        return TradeDescriber.of(data, []).find_limit(0, "notional")

    assert find_limit("") < 0.9 < find_limit(" EUR")
