"""Every value's box: the text under it is the value, on the shared invoices."""

import io
import re
from pathlib import Path
from random import Random

import pytest

from docmill.core.plugins import PDF
from docmill.reading.documents import open_document
from docmill.reading.labels import squeeze
from docmill.reading.pages import Page
from eval.score_invoices import read

CORPUS = Path(__file__).parents[4] / "shared" / "corpus" / "invoices"

ROW = 4  # points: words whose middles lie nearer stand on one row


def under(page: Page, box: list[float]) -> str:
    """The words whose middle lies in a box, row by row from left to right."""
    x0, y0, x1, y1 = box
    inside = [
        word
        for word in page.words
        if y0 <= word.box.middle <= y1 and x0 < word.box.x1 - 1 and word.box.x0 + 1 < x1
    ]
    inside.sort(key=lambda word: (round(word.box.middle / ROW), word.box.x0))
    return " ".join(word.text for word in inside)


def says(text: str, value: str) -> bool:
    """Whether a text on the page says a value: the same letters, or the same figures."""
    if squeeze(value) in squeeze(text):
        return True
    figures, wanted = re.sub(r"\D", "", text), re.sub(r"\D", "", value)
    return bool(wanted) and (wanted.rstrip("0") or "0") in figures


@pytest.mark.skipif(not CORPUS.is_dir(), reason="the shared corpus is not on this machine")
def test_the_text_under_the_box_of_200_random_values_is_the_value() -> None:
    found: list[tuple[str, str, str]] = []
    for path in Random(3).sample(sorted(CORPUS.glob("*.pdf")), 20):
        _, data, _ = read(path)
        with open_document(io.BytesIO(path.read_bytes()), PDF) as document:
            pages = {page.number: page for page in document.pages}
        found += [
            (f"{path.name} {where}", under(pages[item["page"]], item["box"]), item["text"])
            for where, item in data["evidence"].items()
            if item["box"] and " + " not in item["text"] and not where.endswith("address")
        ]
    chosen = Random(5).sample(found, 200)

    wrong = [each for each in chosen if not says(each[1], each[2])]
    assert wrong == []
