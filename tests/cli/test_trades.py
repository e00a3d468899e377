"""docmill trades and docmill reprocess against a docmill that serves."""

import csv
import io
import re

from notes import ENGLISH, GERMAN, note
from terminal import Terminal

DOUBTFUL = tuple(line.replace("Stück 25", "Stück 26") for line in GERMAN)


def sent(desk: Terminal, name: str, *lines: str) -> None:
    (desk.home / name).write_bytes(note(*lines))
    ran = desk.run("submit", name, "--pipeline", "trades", "--watch")
    assert ran.code == 0, ran.out


def test_trades_are_listed_shown_judged_exported_and_read_again(desk: Terminal) -> None:
    assert desk.run("trades", "list").out.startswith("No trades. ")
    assert desk.run("trades", "list", "--status", "pending").out.startswith("No trades match.")
    sent(desk, "a.pdf", *ENGLISH)
    sent(desk, "b.pdf", *DOUBTFUL)
    (waiting,) = desk.run("trades", "list", "--status", "pending", "--json").json
    assert waiting["original_filename"] == "b.pdf"
    assert "AAPL" in desk.run("trades", "show", _id(desk, "apple")).out

    judged = desk.run("trades", "reject", waiting["id"])
    assert judged.out == f"{waiting['id']} rejected\n"
    assert desk.run("trades", "list", "--status", "pending", "--json").json == []
    assert "rejected" in desk.run("trades", "show", waiting["id"]).out

    table = list(csv.DictReader(io.StringIO(desk.run("trades", "export").out)))
    assert {row["original_filename"] for row in table} == {"a.pdf", "b.pdf"}

    batch = desk.run("reprocess", "--pipeline", "trades", "--wait", "--json").json
    assert (batch["total"], batch["complete"], batch["status"]) == (2, 2, "complete")
    after = desk.run("trades", "list", "--json").json
    assert {trade["id"] for trade in after} & {waiting["id"]}, "reviewed trades stay"
    assert len(after) == 2


def test_a_trade_is_edited_and_added(desk: Terminal) -> None:
    sent(desk, "b.pdf", *DOUBTFUL)
    (waiting,) = desk.run("trades", "list", "--status", "pending", "--json").json
    ran = desk.run("trades", "edit", waiting["id"], "price=100", "counterparty=")
    first, quantity, notional = ran.out.splitlines()
    assert first == f"{waiting['id']} pending"
    assert re.fullmatch(r"  quantity: Read with [1-5]?\d% confidence", quantity)
    assert notional == "  notional: Quantity times price is 2,600"
    ran = desk.run("trades", "edit", waiting["id"], "quantity=25", "price=172,40", "--json")
    assert (ran.json["price"], ran.json["doubts"], ran.json["counterparty"]) == ("172.40", {}, None)
    assert "quantity: 26 -> 25" in desk.run("trades", "show", waiting["id"]).out
    wrong = desk.run("trades", "edit", waiting["id"], "isin=DE0007236102")
    assert wrong.code == 1
    assert "check digit" in wrong.err
    assert desk.run("trades", "edit", waiting["id"], "isin").code == 2
    added = desk.run("trades", "add", waiting["document_id"], "direction=sell", "name=ALPHA")
    assert added.out.splitlines()[0].endswith(" pending")
    assert len(desk.run("trades", "list", "--json").json) == 2


def test_an_unknown_trade_is_told_in_two_lines(desk: Terminal) -> None:
    ran = desk.run("trades", "approve", "6f0a1b2c-4d53-4e0e-9c6d-5b9a1f110b0e")
    assert ran.code == 1
    assert "Trade not found" in ran.err


def _id(desk: Terminal, name: str) -> str:
    (trade,) = desk.run("trades", "list", "--search", name, "--json").json
    return trade["id"]
