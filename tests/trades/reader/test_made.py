"""Broker notes made with a seed that nobody tuned on: read well, and confidence can be believed."""

from pathlib import Path

from eval.broker_notes import made
from eval.score_trades import judged, mean_right


def test_unseen_notes_are_read_well(tmp_path: Path) -> None:
    records, results = made(40, 11, tmp_path)
    assert {record["kind"] for record in records} == {"single", "multi", "none"}
    assert mean_right(records, results) >= 0.95

    sure = [right for confidence, right in judged(records, results) if confidence >= 0.8]
    assert sum(sure) / len(sure) >= 0.9
