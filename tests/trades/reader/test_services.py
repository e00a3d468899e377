"""Trades told by a service: believed where the page shows them."""

from typing import Any

from docmill.core.faults import DocmillError
from docmill.core.plugins import Tools
from notes import GERMAN
from trades.reader.test_pipeline import run, the_trade

TOLD = {
    "isin": "DE0007236101", "direction": "buy", "quantity": "25", "price": "172.4",
    "notional": 4310, "currency": "EUR", "trade_date": "2024-03-04", "name": "SIEMENS AG",
}  # fmt: skip


def tools(service: str, answer: Any) -> Tools:
    def ask(name: str, _request: Any) -> Any:
        assert name == service
        if isinstance(answer, DocmillError):
            raise answer
        return answer

    return Tools(lambda _percent, _stage: None, frozenset({service}), ask)


def test_what_the_parser_tells_is_believed_where_the_page_shows_it() -> None:
    output = run(*GERMAN, tools=tools("parse_trades", {"trades": [TOLD]}))
    trade = the_trade(output)
    assert (trade["quantity"], trade["notional"]) == ("25", "4310")
    assert trade["confidence_score"] == 0.9
    assert output.data["source"] == "parser"
    assert output.data["evidence"]["trades[0].quantity"]["page"] == 1


def test_a_value_that_is_not_on_the_page_is_flagged() -> None:
    wrong = {**TOLD, "quantity": "9999"}
    output = run(*GERMAN, tools=tools("parse_trades", {"trades": [wrong]}))
    assert the_trade(output)["confidence_score"] == 0.3
    assert output.data["review"] == ["trades[0]", "trades[0].quantity"]
    assert output.rows["trades"][0]["needs_review"] is True


def test_nonsense_of_the_parser_makes_no_trade() -> None:
    answers: list[Any] = [{"trades": [{"direction": "hold"}]}, {"trades": "x"}, [], {"trades": [3]}]
    for answer in answers:
        assert run(*GERMAN, tools=tools("parse_trades", answer)).data["trades"] == []


def test_the_model_is_asked_only_where_the_page_leaves_doubts() -> None:
    def never(_name: str, _request: Any) -> Any:
        raise AssertionError("asked without need")

    quiet = Tools(lambda _percent, _stage: None, frozenset({"complete"}), never)
    assert run(*GERMAN, tools=quiet).data["source"] == "page"
    doubtful = tuple(line.replace("Stück 25", "Stück 26") for line in GERMAN)
    asked = run(*doubtful, tools=tools("complete", {"value": {"trades": [TOLD]}, "model": "m"}))
    assert asked.data["source"] == "model"
    assert the_trade(asked)["confidence_score"] == 0.3, "25 is not on that page"


def test_a_model_that_fails_leaves_what_we_read_ourselves() -> None:
    doubtful = tuple(line.replace("Stück 25", "Stück 26") for line in GERMAN)
    output = run(*doubtful, tools=tools("complete", DocmillError("SERVICE_FAILED")))
    assert output.data["source"] == "page"
    assert output.data["warnings"] == ["the language model was asked in vain (SERVICE_FAILED)"]
