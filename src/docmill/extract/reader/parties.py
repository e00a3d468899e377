"""Who wrote a document and to whom, by its addresses: most letters and invoices label neither.

The writer's address is in one line, or has a telephone or tax number beside it; the reader's has
not. It is a guess, and its confidence says so.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from docmill.extract.reader import labels
from docmill.extract.reader.likeness import find_meanings, is_label_like
from docmill.reading.labels import COMPANY, fold_accents
from docmill.reading.pages import Line, Page, Word, make_line

SURE: Final = 0.45
WHY: Final = "no label says so: it is from the addresses on page 1"
LINES_ABOVE: Final = 6  # lines of an address above its town
LINES_BELOW: Final = 6  # lines below it that may tell whose it is
GAP: Final = 1.3  # of a line's height, inside an address

_TOWN: Final = re.compile(
    r"(?:\b[A-Z]{1,3}[- ])?\b\d{4,5}\s+[^\W\d_]{3}|[^\W\d_]{3,},?\s+(?:[A-Z]{2}\s+)?\d{5}\b"
    r"|\b[A-Z]{1,2}\d[A-Z\d]?\s?\d[A-Z]{2}\b"
)
_OWN: Final = re.compile(
    r"\b(?:tel|fon|phone|telefon|telepon|fax|iban|bic|swift|www|http|ust|vat|tva|nif|npwp|siret|siren"
    r"|steuer|hrb|email|e-mail|website)\b|@|☎|\+\d\d",
    re.IGNORECASE,
)
_BETWEEN: Final = re.compile(r"\s+[-–·•●|*]\s+|\s*[·•●|]\s*|,\s+")


@dataclass(frozen=True, slots=True)
class AddressedParty:
    name: Line
    one_line: bool
    own: bool


def find_parties(page: Page) -> dict[str, Line]:
    """The names of `seller` and `buyer`, as far as the page says."""
    rows = [line.cells for line in page.lines if not line.words[0].angle]
    found = [one for one in _find_addresses(rows) if _is_name(one.name.text)]
    seller = next((one for one in found if one.one_line), None)
    seller = seller or next((one for one in found if one.own), None)
    names = {"seller": seller.name} if seller else {}
    others = [one for one in found if not one.one_line and not (seller and _is_same(one, seller))]
    buyer = next((one for one in others if not one.own), next(iter(others), None))
    if buyer:
        names["buyer"] = buyer.name
    if not seller:
        names |= _find_company(rows, buyer)
    return names


def _is_name(text: str) -> bool:
    """Streets and towns have numbers."""
    return not any(char.isdigit() for char in text) or COMPANY.search(text) is not None


def _find_company(rows: Sequence[Sequence[Line]], buyer: AddressedParty | None) -> dict[str, Line]:
    """The first company that is named at all, and is not the buyer."""
    cells = (cell for row in rows for cell in row if len(cell.words) < labels.MAX_WORDS)
    named = (cell for cell in cells if COMPANY.search(cell.text))
    first = next((one for one in named if not buyer or one.text != buyer.name.text), None)
    return {"seller": first} if first else {}


def _is_same(one: AddressedParty, other: AddressedParty) -> bool:
    mine, its = fold_accents(one.name.text), fold_accents(other.name.text)
    return mine in its or its in mine


def _find_addresses(rows: Sequence[Sequence[Line]]) -> Iterator[AddressedParty]:
    for index, row in enumerate(rows):
        for cell in row:
            if not _TOWN.search(cell.text) or labels.find_inline_pairs(cell):
                continue
            block = _address_block(rows, index, cell)
            if len(block) > 1:
                yield AddressedParty(block[0], one_line=False, own=_is_own(rows, index, cell))
            elif name := _name_before_street(row, cell):
                yield AddressedParty(name, one_line=True, own=True)


def _address_block(rows: Sequence[Sequence[Line]], index: int, town: Line) -> list[Line]:
    """The lines of an address from its first to its town: those that stand on one another."""
    block = [town]
    for row in reversed(rows[max(0, index - LINES_ABOVE) : index]):
        above = next((cell for cell in row if _stands_on(cell, block[0])), None)
        if above:
            block.insert(0, above)
        elif row and block[0].box.y0 - row[0].box.y1 > GAP * block[0].box.height:
            break
    while len(block) > 1 and _is_heading(block[0]):
        del block[0]
    return block


def _stands_on(cell: Line, below: Line) -> bool:
    height = below.box.height
    left = abs(cell.box.x0 - below.box.x0) < height
    return left and 0 <= below.box.y0 - cell.box.y1 + 0.5 * height < (GAP + 0.5) * height


def _is_heading(line: Line) -> bool:
    text = line.text
    known = {"buyer", "seller", "delivery", "address", "invoice"} & {*find_meanings(text)}
    return (
        text.endswith(":")
        or bool(labels.find_inline_pairs(line))
        or is_label_like(text)
        or (bool(known) and not COMPANY.search(text))
    )


def _is_own(rows: Sequence[Sequence[Line]], index: int, town: Line) -> bool:
    """Whether the lines under an address are how to reach or pay who wrote the document."""
    for row in rows[index + 1 : index + 1 + LINES_BELOW]:
        under = [cell for cell in row if abs(cell.box.x0 - town.box.x0) < 2 * town.box.height]
        if any(_OWN.search(cell.text) for cell in under):
            return True
    return False


def _name_before_street(row: Sequence[Line], town: Line) -> Line | None:
    """The name in an address of one line: what is before its first separator."""
    words = [word for cell in row[: [*row].index(town) + 1] for word in cell.words]
    text = " ".join(word.text for word in words)
    cut = _BETWEEN.search(text)
    if cut is None or len(row) > 1:
        return row[0] if len(row) > 2 and row[0] is not town else None
    kept: list[Word] = []
    length = 0
    for word in words:
        length += len(word.text) + 1
        if length - 1 > cut.start() + 1:
            break
        kept.append(word)
    return make_line(kept) if kept else None
