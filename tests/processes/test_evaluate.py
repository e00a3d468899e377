"""docmill eval: documents with truth, scored, compared and shown."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from docmill.app import StartError
from docmill.processes import evaluate
from docmill.processes.evaluate import make_evaluation
from docmill.processes.report import write_report
from eval.indonesian import make
from eval.score_invoices import read


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("made")
    make(made, 4, 3)
    return made


@pytest.fixture(scope="module")
def records(folder: Path) -> list[dict[str, Any]]:
    return json.loads((folder / "truth.json").read_text())


@pytest.fixture(scope="module")
def results(folder: Path, records: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {record["file"]: read(folder / record["file"])[1] for record in records}


def test_what_was_read_is_right_by_field_and_supplier(
    records: list[dict[str, Any]], results: dict[str, dict[str, Any]]
) -> None:
    found = make_evaluation("made", "invoice", records, results)
    assert found.documents == 4
    assert found.fields["totals.gross"]["right"] == 1.0
    assert set(found.suppliers) == {record["group"] for record in records}
    assert sum(step["count"] for step in found.reliability) > 40


def test_a_wrong_value_is_counted_and_shown_on_its_page(
    folder: Path, records: list[dict[str, Any]], results: dict[str, dict[str, Any]]
) -> None:
    truth = {**records[0]["truth"], "issue_date": "<other>"}
    wrong = [{**records[0], "truth": truth}, *records[1:]]
    found = make_evaluation("made", "invoice", wrong, results)
    assert found.fields["issue_date"]["right"] == 0.75
    report = write_report(folder, asdict(found)).decode()
    assert "&lt;other&gt;" in report
    assert "data:image/png;base64," in report
    assert "<script" not in report
    assert "http" not in report


def test_a_file_that_failed_is_wrong_in_every_field(
    records: list[dict[str, Any]], results: dict[str, dict[str, Any]]
) -> None:
    failed = {**results, records[0]["file"]: {"error": {"code": "BAD_PDF"}}}
    found = make_evaluation("made", "invoice", records, failed)
    assert found.failed == 1
    assert found.fields["totals.gross"]["right"] == 0.75


def test_trades_are_scored_too() -> None:
    trade = {"isin": "DE0007164600", "direction": "buy", "quantity": "10"}
    record = {"file": "a.pdf", "group": "a", "kind": "single", "trades": [trade]}
    other = {**trade, "quantity": "11"}
    found = make_evaluation("made", "trades", [record], {"a.pdf": {"trades": [other]}})
    assert found.fields["trades.isin"]["right"] == 1.0
    assert found.fields["trades.quantity"]["right"] == 0.0


def test_a_folder_without_truth_is_told_what_it_lacks(tmp_path: Path) -> None:
    with pytest.raises(StartError, match=r"truth\.json"):
        evaluate.evaluate(tmp_path)
