"""The shared invoices, read and scored as `python -m eval.score_invoices` does."""

import json
from pathlib import Path

import pytest

from eval.score_invoices import judged, read, scored

CORPUS = Path(__file__).parents[4] / "shared" / "corpus" / "invoices"


@pytest.mark.skipif(not CORPUS.is_dir(), reason="the shared corpus is not on this machine")
def test_real_invoices_are_read_well_and_confidence_can_be_believed(tmp_path: Path) -> None:
    records = json.loads((CORPUS / "truth.json").read_text())
    found = {digest: data for digest, data, _ in map(read, (CORPUS / r["file"] for r in records))}
    for digest, data in found.items():
        (tmp_path / f"{digest}.json").write_text(json.dumps(data))

    assert scored(CORPUS / "truth.json", tmp_path, least=0.90) == 0

    sure = [item.right for item in judged(records, found) if item.confidence >= 0.9]
    assert sum(sure) / len(sure) >= 0.98
