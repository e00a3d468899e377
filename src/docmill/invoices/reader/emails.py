"""The addresses for mail of seller and buyer, by where they stand and by whose name they carry."""

import re
from collections.abc import Iterable
from typing import Final

from docmill.invoices.reader.countries import party_cells
from docmill.invoices.reader.domains import is_known_by
from docmill.invoices.reader.model import Values
from docmill.reading import labels
from docmill.reading.labels import TextCell, TextSheet
from docmill.reading.pages import Value

IN_BLOCK: Final = 0.85
NAMED: Final = 0.8
ONLY: Final = 0.6
_EMAIL: Final = re.compile(r"[\w.+-]+@([\w-]+(?:\.[\w-]+)*)\.[A-Za-z]{2,}")


def find_emails(sheet: TextSheet, values: Values) -> dict[str, Value]:
    """`seller.email` and `buyer.email`; one that is nobody's by its place is the seller's."""
    own, theirs = (
        [cell for cell, _ in party_cells(sheet, values, side)] for side in ("seller", "buyer")
    )
    buyers = _read_cells(theirs, IN_BLOCK)
    taken = {value.value for value in buyers}
    others = _read_cells((cell for _, _, cell in sheet.cells), ONLY)
    sellers = [one for one in (*_read_cells(own, IN_BLOCK), *others) if one.value not in taken]
    name = values.get("seller.name")
    known = [one for one in sellers if name and is_known_by(name.value, _domain(one.value))]
    best = next((one.sure(max(one.confidence, NAMED)) for one in known), None)
    found = {
        "seller.email": best or next(iter(sellers), None),
        "buyer.email": next(iter(buyers), None),
    }
    return {path: value for path, value in found.items() if value is not None}


def _domain(email: str) -> str:
    return labels.squeeze(email.partition("@")[2].rpartition(".")[0])


def _read_cells(cells: Iterable[TextCell], sure: float) -> list[Value]:
    return [
        Value(match[0], sure, cell.page, cell.place(*match.span()), match[0])
        for cell in cells
        if "@" in cell.text
        for match in _EMAIL.finditer(cell.text)
    ]
