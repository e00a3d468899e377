"""Made-up invoices of varied structure: families that nobody tuned on are read as well."""

import io
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from random import Random
from typing import Any

from docmill.core.plugins import PDF
from docmill.invoices.reader import detect_notation, read_invoice
from docmill.invoices.reader.layout import make_sheet
from docmill.invoices.reader.model import to_json
from docmill.reading.documents import open_document
from docmill.reading.order import order_lines
from docmill.reading.pages import Box, Page, Word
from docmill.reading.pdf import NO_TOOLS
from eval.structures import is_held, list_families, make_one

SUMS = ("net", "tax", "gross")
PARTS = ("quantity", "unit_price", "amount")
NUDGE = 0.3  # points


def read_pages(data: bytes) -> list[Page]:
    with open_document(io.BytesIO(data), PDF, NO_TOOLS) as document:
        return list(document.pages)


def read(pages: list[Page]) -> dict[str, Any]:
    return to_json(read_invoice(detect_notation(make_sheet(pages))))


def values(found: dict[str, Any]) -> dict[str, Decimal]:
    """Sums and the numbers of all lines, by their path; what is not there is left out."""
    sums = found.get("totals", found)
    texts = {name: sums.get(name) for name in SUMS}
    for at, line in enumerate(found["lines"]):
        texts |= {f"{at}.{part}": line[part] for part in PARTS}
    return {path: Decimal(text) for path, text in texts.items() if text is not None}


def held_families() -> Iterator[tuple[str, str, str]]:
    return (family for family in list_families() if is_held("-".join(family)))


def test_families_that_are_held_out_are_read_well() -> None:
    right = wanted = 0
    for family in held_families():
        data, truth = make_one(f"held-{family}", family)
        found = values(read(read_pages(data)))
        for path, value in values(truth).items():
            wanted += 1
            right += found.get(path) == value

    assert wanted > 1000
    assert right / wanted >= 0.98


def test_boxes_that_move_a_little_change_no_value() -> None:
    same = total = 0
    for number, family in enumerate(held_families()):
        pages = read_pages(make_one(f"steady-{family}", family)[0])
        before = values(read(pages))
        after = values(read([nudge(page, Random(number)) for page in pages]))
        total += len(before)
        same += sum(after.get(path) == value for path, value in before.items())

    assert same / total >= 0.99


def nudge(page: Page, random: Random) -> Page:
    """A page on which every word stands a little elsewhere."""
    words = [_nudge_word(word, random) for word in page.words]
    return replace(page, lines=order_lines(words, (page.width, page.height)))


def _nudge_word(word: Word, random: Random) -> Word:
    right, down = random.uniform(-NUDGE, NUDGE), random.uniform(-NUDGE, NUDGE)
    box = word.box
    moved = Box(box.x0 + right, box.y0 + down, box.x1 + right, box.y1 + down)
    return replace(word, box=moved)
