"""Made-up invoices: read well, and what is written of each passes the tax office's rules."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from bench import indonesian, wild
from bench.invoices import macro, read

from docmill import mappings
from docmill.mappings.checkers import dispatch
from docmill.mappings.checkers.problems import passed

COUNT = 12


@pytest.mark.parametrize(
    ("make", "least"), [(indonesian.make, 0.95), (wild.make, 0.92)], ids=["indonesian", "wild"]
)
def test_unseen_invoices_are_read_well_and_their_coretax_file_is_valid(
    tmp_path: Path, make: Callable[[Path, int, int], None], least: float
) -> None:
    make(tmp_path, COUNT, 11)
    records = json.loads((tmp_path / "truth.json").read_text())
    found = {digest: data for digest, data, _ in map(read, (tmp_path / r["file"] for r in records))}

    if (Path(__file__).parents[4] / "shared" / "corpus" / "score_invoices.py").is_file():
        assert macro(records, found) >= least

    mapping = mappings.load(mappings.DEFAULT)
    rupiah = [data for data in found.values() if data["currency"] in {None, "IDR"}]
    assert len(rupiah) > COUNT // 4
    for data in rupiah:
        made = mappings.emit(mapping, {**data, "currency": "IDR"})
        found_wrong = dispatch.check(mapping, made.xml)  # an empty seller's number is a warning
        assert passed(found_wrong), [str(each) for each in found_wrong]
