"""The shared invoices as UBL and CII: valid, or what is missing is said."""

import json
from pathlib import Path

import pytest
from bench.invoices import read

from docmill import mappings
from docmill.mappings.checkers import dispatch
from mappings.invoices import EUROPEAN

CORPUS = Path(__file__).parents[3] / "shared" / "corpus" / "invoices"
EVERY = 2  # of the vendors: enough to see each kind, and quick


@pytest.mark.skipif(not CORPUS.is_dir(), reason="the shared corpus is not on this machine")
def test_shared_invoices_are_valid_or_say_which_field_is_missing() -> None:
    vendors = {
        r.get("vendor") or r["group"]: r for r in json.loads((CORPUS / "truth.json").read_text())
    }
    valid = 0
    for record in list(vendors.values())[::EVERY]:
        _, data, _ = read(CORPUS / record["file"])
        for name in sorted(EUROPEAN):
            mapping = mappings.load(name)
            found = dispatch.check(mapping, mappings.emit(mapping, data).xml)
            fatal = [each for each in found if each.severity == "fatal"]
            valid += not fatal
            assert not fatal or any(each.field for each in fatal), (record["file"], fatal)

    assert valid >= 2
