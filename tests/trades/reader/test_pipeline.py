"""Broker notes read: the values, their places, and when there is no trade."""

import io
from typing import Any

import pytest

from docmill.core.faults import DocmillError
from docmill.core.plugins import PDF, Output, Source, Tools
from docmill.trades.reader.pipeline import pipeline
from notes import CANCELLED, DIVIDEND, ENGLISH, GERMAN, ORDER, TABLE, note
from pdfs import make_pdf


def run(*lines: str, tools: Tools | None = None, **options: Any) -> Output:
    source = Source(io.BytesIO(note(*lines)), "note.pdf", PDF, options=options)
    return pipeline.run(source, tools or Tools(lambda _percent, _stage: None))


def the_trade(output: Output) -> dict[str, Any]:
    (trade,) = output.data["trades"]
    return trade


def test_a_german_note_is_read_whole() -> None:
    trade = the_trade(run(*GERMAN))
    assert trade["direction"] == "buy"
    assert (trade["isin"], trade["currency"]) == ("DE0007236101", "EUR")
    assert (trade["quantity"], trade["price"], trade["notional"]) == ("25", "172.40", "4310.00")
    assert (trade["fees"], trade["taxes"], trade["settlement_amount"]) == ("9.90", None, "4319.90")
    assert (trade["trade_date"], trade["settlement_date"]) == ("2024-03-04", "2024-03-06")
    assert trade["counterparty"] == "Nordbank AG"
    assert trade["exchange"] == "XETRA"
    assert "SIEMENS" in trade["name"]
    assert trade["asset_class"] == "equity"
    # The least sure value counts, which is the day: fitted on real notes, no day is much surer.
    assert trade["confidence_score"] >= 0.88


def test_an_english_note_is_read_whole() -> None:
    trade = the_trade(run(*ENGLISH))
    assert trade["direction"] == "sell"
    assert (trade["isin"], trade["cusip"], trade["ticker"]) == ("US0378331005", "037833100", "AAPL")
    assert (trade["quantity"], trade["price"]) == ("1200", "171.13")
    assert (trade["notional"], trade["settlement_amount"]) == ("205356.00", "205331.00")
    assert (trade["trade_date"], trade["settlement_date"]) == ("2024-03-12", "2024-03-14")


def test_a_charge_is_no_security_and_a_row_of_headings_no_exchange() -> None:
    trade = the_trade(
        run(
            "Harbour Securities Ltd",
            "Contract note",
            "Deal date: 12 March 2024",
            "We have bought for you as agent",
            "Venue  Quantity  Price  Consideration",
            "XOFF  1,200  171.13  205,356.00 USD",
            "Fund manager's initial charge 0.00%",
        )
    )
    assert (trade["quantity"], trade["notional"]) == ("1200", "205356.00")
    assert trade["name"] is None
    assert trade["exchange"] != "Quantity Price Consideration"
    assert trade["confidence_score"] < 0.8  # nobody knows yet what was bought


def test_every_value_tells_where_it_stands() -> None:
    data = run(*GERMAN).data
    place = data["evidence"]["trades[0].notional"]
    assert (place["page"], place["text"]) == (1, "4.310,00 EUR")
    x0, y0, x1, y1 = place["box"]
    assert 50 < x0 < x1 < 300
    assert 150 < y0 < y1 < 190


def test_each_row_of_a_table_is_a_trade() -> None:
    trades = run(*TABLE).data["trades"]
    assert [(t["direction"], t["quantity"], t["trade_date"], t["isin"]) for t in trades] == [
        ("buy", "100", "2024-03-12", "US0378331005"),
        ("sell", "40", "2024-03-13", "US5949181045"),
        ("buy", "12.5", "2024-03-14", "IE00B4L5Y983"),
    ]


@pytest.mark.parametrize(
    ("lines", "kind"),
    [(DIVIDEND, "dividend"), (CANCELLED, "cancellation"), (ORDER, "order")],
)
def test_papers_that_confirm_no_trade_give_none_and_say_why(
    lines: tuple[str, ...], kind: str
) -> None:
    output = run(*lines)
    assert output.data["trades"] == []
    assert output.data["kind"] == kind
    assert output.data["reason"].endswith(".")
    assert output.rows["trades"] == []


def test_numbers_that_do_not_multiply_make_a_trade_wait_for_review() -> None:
    wrong = tuple(line.replace("Stück 25", "Stück 26") for line in GERMAN)
    output = run(*wrong)
    assert the_trade(output)["confidence_score"] < 0.8
    assert "trades[0]" in output.data["review"]
    assert output.rows["trades"][0]["needs_review"] is True


def test_the_threshold_decides_which_trades_wait() -> None:
    assert run(*GERMAN, review_threshold=0.5).rows["trades"][0]["needs_review"] is False
    assert run(*GERMAN, review_threshold=1.0).rows["trades"][0]["needs_review"] is True


def test_a_trade_whose_day_is_a_guess_waits_for_a_person() -> None:
    undated = (line for line in GERMAN if "2024" not in line)
    output = run(*undated, "Frankfurt, 05.03.2024")
    assert the_trade(output)["trade_date"] == "2024-03-05"
    assert output.data["promise"]["approved_by"] is None
    assert run(*GERMAN).data["promise"]["approved_by"]


def test_an_isin_whose_check_figure_is_wrong_is_not_believed() -> None:
    wrong = tuple(line.replace("DE0007236101", "DE0007236102") for line in GERMAN)
    output = run(*wrong)
    assert output.data["evidence"]["trades[0].isin"]["confidence"] < 0.8


def test_both_decimal_conventions_give_the_same_trade() -> None:
    english = ("Kurs 172.40 EUR", "Kurswert 4,310.00 EUR", "Provision 9.90 EUR")
    lines = (*GERMAN[:7], *english, "Ausmachender Betrag 4,319.90 EUR", "Valuta 06.03.2024")
    assert the_trade(run(*lines)) == the_trade(run(*GERMAN))


def test_the_notional_is_in_the_currency_of_the_account() -> None:
    lines = (
        *GERMAN[:6], "Stück 10", "Kurs 100,00 USD", "Kurswert 1.000,00 USD",
        "Devisenkurs EUR/USD 1,2500", "Kurswert in EUR 800,00 EUR",
        "Ausmachender Betrag 800,00 EUR", "Valuta 06.03.2024",
    )  # fmt: skip
    trade = the_trade(run(*lines))
    assert (trade["currency"], trade["notional"], trade["price"]) == ("EUR", "800.00", "100.00")


def test_the_same_document_gives_the_same_result() -> None:
    assert run(*GERMAN) == run(*GERMAN)


def test_a_paper_without_text_is_refused() -> None:
    source = Source(io.BytesIO(make_pdf([[]])), "blank.pdf", PDF)
    with pytest.raises(DocmillError) as caught:
        pipeline.run(source, Tools(lambda _percent, _stage: None))
    assert caught.value.fault.code == "BAD_PDF"


def test_rows_carry_what_their_table_wants() -> None:
    (row,) = run(*GERMAN).rows["trades"]
    assert row["position"] == 0
    assert row["raw_extracted_data"]["source"] == "page"
    assert row["raw_extracted_data"]["evidence"]["quantity"]["text"] == "25"
