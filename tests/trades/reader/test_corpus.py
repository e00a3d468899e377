"""The shared broker documents, read and scored as `python -m eval.score_trades` does."""

import json
from pathlib import Path

import pytest

from eval.score_trades import half, judged, read, scored

CORPUS = Path(__file__).parents[4] / "shared" / "corpus" / "trades"


@pytest.mark.skipif(not CORPUS.is_dir(), reason="the shared corpus is not on this machine")
def test_real_notes_are_read_well_and_confidence_can_be_believed(tmp_path: Path) -> None:
    records = half(json.loads((CORPUS / "truth.json").read_text()), "held")[::3]
    results = dict(read(CORPUS / record["file"]) for record in records)

    assert scored(records, results, tmp_path, least=0.88) == 0

    sure = [right for confidence, right in judged(records, results) if confidence >= 0.8]
    assert sum(sure) / len(sure) >= 0.9
