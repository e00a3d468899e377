"""The shared invoices as UBL and CII: what is ready is valid, and nothing valid is held back."""

import json
from pathlib import Path
from typing import Any

import pytest

from docmill.invoices import formats
from docmill.invoices.formats import validators
from docmill.invoices.formats.completeness import write_checked
from docmill.invoices.profile import Profile
from eval.score_invoices import read
from invoice_samples import EUROPEAN

CORPUS = Path(__file__).parents[4] / "shared" / "corpus" / "invoices"
LEAST_READY = 0.8


def find_broken(mapping: str, document: bytes) -> list[str]:
    found = validators.validate(formats.load(mapping), document)
    return [each.rule for each in found if each.severity == "fatal"]


@pytest.mark.skipif(not CORPUS.is_dir(), reason="the shared corpus is not on this machine")
def test_a_shared_invoice_is_ready_and_valid_or_says_what_it_lacks() -> None:
    first: dict[str, Any] = {}
    for record in json.loads((CORPUS / "truth.json").read_text()):
        first.setdefault(record.get("vendor") or record["group"], record)
    ready, bad = 0, list[Any]()
    for record in first.values():
        _, data, _ = read(CORPUS / record["file"])
        for name in sorted(EUROPEAN):
            made = write_checked(name, data, Profile())
            broken = find_broken(name, made.emitted.xml)
            ready += not made.lacks
            if bool(made.lacks) != bool(broken):
                bad.append((record["file"], name, made.lacks, broken))

    assert not bad, "\n".join(map(str, bad))
    assert ready >= LEAST_READY * len(EUROPEAN) * len(first)
