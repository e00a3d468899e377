"""The same page drawn a little otherwise gives the same values.

Moved, smaller, with other margins, in another font of the same metrics.
"""

from pathlib import Path
from types import ModuleType

import pytest

from eval import multilingual, structures
from eval.broker_statements import HELD, TUNED, draw
from eval.steadiness import CORPUS, Steadiness, compare_file

STEADY = 0.99


def share_of_same(found: list[Steadiness]) -> float:
    changed = sum(len(one.changed) for one in found)
    return 1 - changed / sum(one.count for one in found)


def compare_all(files: list[Path], kind: str) -> list[Steadiness]:
    return [one for path in files if (one := compare_file(path, kind))]


@pytest.mark.parametrize("generator", [structures, multilingual], ids=["structures", "languages"])
def test_invoices_drawn_by_a_generator_are_read_steadily(
    generator: ModuleType, tmp_path: Path
) -> None:
    generator.make(tmp_path, 24, 5)
    found = compare_all(sorted(tmp_path.glob("*.pdf")), "invoices")
    assert len(found) > 15
    assert share_of_same(found) >= STEADY, [one.changed[:3] for one in found if one.changed]


def test_notes_drawn_by_a_generator_are_read_steadily(tmp_path: Path) -> None:
    for families, seed in ((TUNED, 31), (HELD, 77)):
        for at in range(2 * len(families)):
            data, record = draw(seed * 100 + at, families)
            (tmp_path / f"{seed}-{record['file']}").write_bytes(data)
    found = compare_all(sorted(tmp_path.glob("*.pdf")), "trades")
    assert len(found) > 30
    assert share_of_same(found) >= STEADY, [one.changed[:3] for one in found if one.changed]


@pytest.mark.skipif(not CORPUS.is_dir(), reason="the shared corpus is not on this machine")
@pytest.mark.parametrize(
    ("folder", "kind", "every"),
    [("invoices", "invoices", 4), ("trades", "trades", 20), ("trades_more", "trades", 12)],
)
def test_documents_of_the_corpus_are_read_steadily(folder: str, kind: str, every: int) -> None:
    found = compare_all(sorted((CORPUS / folder).glob("*.pdf"))[::every], kind)
    assert len(found) > 8
    assert share_of_same(found) >= STEADY, [one.changed[:3] for one in found if one.changed]
