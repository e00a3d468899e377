"""Layouts: what a document looks like, and whether another looks the same.

A layout is a supplier and a geometry: words that stand at the same place in all its documents.
"""

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from docmill.pipelines.invoice.layout import Row, Sheet
from docmill.pipelines.invoice.lexicon import fold

MOST: Final = 60
ALIKE: Final = 0.6
ALIKE_ALONE: Final = 0.75  # where no supplier is known to confirm it
NEAR_X: Final = 8.0
NEAR_Y: Final = 14.0
HEAD: Final = 0.3  # of the page: above, words stand still; below, the lines push them down
_IDENTITY: Final = ("tax_id", "name")

Mark = list[Any]  # [word, x, y]


def marks_of(sheet: Sheet) -> list[Mark]:
    """The first words of page one without figures, those of the table's rows left out."""
    marks = [mark for row in sheet.rows if row.page == 1 for mark in _marks(row)]
    return marks[:MOST]


def _marks(row: Row) -> Iterator[Mark]:
    words = [word for cell in row.cells for word in cell.words]
    if sum(word.text[:1].isdigit() for word in words) >= 2:
        return
    for word in words:
        text = fold(word.text)
        if len(text) >= 2 and not any(char.isdigit() for char in text):
            yield [text, round(word.box.x0, 1), round(word.box.y0, 1)]


def supplier_of(sheet: Sheet, seller: Mapping[str, Any] | None) -> str:
    """The supplier's tax number or name, if these pages print one of them."""
    known = [str(seller[name]) for name in _IDENTITY if seller and seller.get(name)]
    return next((each for each in known if _prints(sheet, each)), "")


def _prints(sheet: Sheet, supplier: str) -> bool:
    return fold(supplier) in fold("".join(row.text for row in sheet.rows))


def matches(sheet: Sheet, marks: Sequence[Mark], supplier: str) -> bool:
    """Whether these pages are of the layout with these marks."""
    if not marks:
        return False
    known = len(fold(supplier)) >= 3
    if known and not _prints(sheet, supplier):
        return False
    places: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for word, x, y in (mark for row in sheet.rows if row.page == 1 for mark in _marks(row)):
        places[word].append((x, y))
    head = HEAD * sheet.height(1)
    hits = sum(
        any(_near((x, y), other, head) for other in places.get(word, ())) for word, x, y in marks
    )
    return hits / len(marks) >= (ALIKE if known else ALIKE_ALONE)


def _near(one: tuple[float, float], other: tuple[float, float], head: float) -> bool:
    level = abs(one[1] - other[1]) <= NEAR_Y or (one[1] > head and other[1] > head)
    return abs(one[0] - other[0]) <= NEAR_X and level


def name_of(marks: Sequence[Mark], supplier: str) -> str:
    """A short name for a layout that was not seen before."""
    told = json.dumps([fold(supplier), marks])
    return hashlib.sha256(told.encode()).hexdigest()[:16]
