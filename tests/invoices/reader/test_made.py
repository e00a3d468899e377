"""Made-up invoices: read well, and what is written of each passes the tax office's rules."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from docmill.invoices import formats
from docmill.invoices.formats import validators
from docmill.invoices.formats.validators import has_passed
from eval import indonesian, multilingual
from eval.score_invoices import half_of, judged, mean_right, read

COUNT = 12


@pytest.mark.parametrize(
    ("make", "least"),
    [(indonesian.make, 0.97), (multilingual.make, 0.95)],
    ids=["indonesian", "multilingual"],
)
def test_unseen_invoices_are_read_well_and_their_coretax_file_is_valid(
    tmp_path: Path, make: Callable[[Path, int, int], None], least: float
) -> None:
    make(tmp_path, 2 * COUNT, 11)
    records = half_of(json.loads((tmp_path / "truth.json").read_text()), "held")
    found = {digest: data for digest, data, _ in map(read, (tmp_path / r["file"] for r in records))}

    assert mean_right(records, found) >= least
    sure = [item.right for item in judged(records, found) if item.confidence >= 0.9]
    assert sum(sure) / len(sure) >= 0.98

    mapping = formats.load(formats.DEFAULT)
    rupiah = [data for data in found.values() if data["currency"] in {None, "IDR"}]
    assert len(rupiah) >= COUNT // 6
    for data in rupiah:
        made = formats.emit(mapping, {**data, "currency": "IDR"})
        found_wrong = validators.validate(
            mapping, made.xml
        )  # an empty seller's number is a warning
        assert has_passed(found_wrong), [str(each) for each in found_wrong]
