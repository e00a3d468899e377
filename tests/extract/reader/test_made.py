"""Pages in styles that nothing was tuned on: their tables, order and headings are seen."""

import shutil

import pytest

from eval.score_layout import FLOORS, ORDER, made, read_all, total


@pytest.mark.skipif(shutil.which("chromium") is None, reason="there is no chromium to print pages")
def test_tables_and_order_of_unseen_pages_are_seen() -> None:
    cases = made("held", 1)
    scores = [score for score, *_ in read_all(cases)]
    for group, floor in FLOORS.items():
        chosen = [score for case, score in zip(cases, scores, strict=True) if case.group == group]
        assert total(chosen).relations.f1 >= floor, group
    assert total(scores).order.f1 >= ORDER
    assert total(scores).kinds.f1 >= ORDER
