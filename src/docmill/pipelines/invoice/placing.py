"""Where a value stands among others: found by what it says, described by its label, found again."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from docmill.mappings.editing import kind_of
from docmill.pipelines.invoice.layout import Cell, Row, Sheet, beneath, figures
from docmill.pipelines.invoice.lexicon import fold
from docmill.pipelines.invoice.model import plain
from docmill.reading import dates, numbers
from docmill.reading.pages import Box

REACH: Final = 3.5  # of the height: how far above a value its label may stand
ASIDE: Final = 220.0  # points: how far left
DRIFT: Final = 10.0  # points: how far a value may stand from where it was taught
_LABEL: Final = 2


@dataclass(frozen=True, slots=True)
class Spot:
    """A part of a cell, and the row it stands in."""

    row: Row
    column: int
    start: int
    end: int

    @property
    def cell(self) -> Cell:
        return self.row.cells[self.column]

    @property
    def text(self) -> str:
        return self.cell.text[self.start : self.end]

    @property
    def box(self) -> Box:
        return self.cell.place(self.start, self.end)


def parts(sheet: Sheet, row: Row, column: int, path: str, start: int = 0) -> Iterator[Spot]:
    """What in a cell could be a value of this kind, from left to right."""
    cell = row.cells[column]
    match kind_of(path):
        case "figure":
            found = [(n.start, n.end) for n in numbers.find(cell.text, sheet.mark)]
        case "date":
            taken = dates.find(cell.text, month_first=sheet.month_first, packed=True)
            found = [(d.start, d.end) for d in taken]
        case _:
            found = [(start, len(cell.text.rstrip()))]
    for begin, end in found:
        if begin >= start and begin < end:
            yield Spot(row, column, begin, end)


def said(sheet: Sheet, spot: Spot, path: str) -> str:
    """The value at a spot, as results carry it."""
    match kind_of(path):
        case "figure":
            wanted = (spot.start, spot.end)
            for figure in figures(spot.row, sheet.mark):
                if figure.cell == spot.cell and (figure.number.start, figure.number.end) == wanted:
                    return plain(figure.number.value)
            return ""
        case "date":
            taken = dates.find(spot.text, month_first=sheet.month_first, packed=True)
            return taken[0].day.isoformat() if taken else ""
        case _:
            return spot.text.strip()


def find(sheet: Sheet, path: str, value: str, place: dict[str, Any]) -> Spot | None:
    """Where this value is printed: nearest to the place given, else the first, of sums the last."""
    found = [spot for row in sheet.rows for spot in _saying(sheet, row, path, value)]
    if not found:
        return None
    page, box = place.get("page"), place.get("box")
    if page and box:
        return min(found, key=lambda spot: _distance(spot, page, Box(*box)))
    return found[-1 if path.startswith("totals.") else 0]


def _distance(spot: Spot, page: int, box: Box) -> float:
    away = abs(spot.box.x0 - box.x0) + abs(spot.box.middle - box.middle)
    return away + 10_000 * abs(spot.row.page - page)


def _saying(sheet: Sheet, row: Row, path: str, value: str) -> Iterator[Spot]:
    for column, cell in enumerate(row.cells):
        if kind_of(path) != "text":
            spots = parts(sheet, row, column, path)
            yield from (spot for spot in spots if _same(said(sheet, spot, path), value))
            continue
        at = cell.text.casefold().find(value.casefold())
        if at >= 0 and _whole(cell.text, at, at + len(value)):
            yield Spot(row, column, at, at + len(value))


def _same(one: str, other: str) -> bool:
    if one == other:
        return True
    try:
        return float(one) == float(other)
    except ValueError:
        return False


def _whole(text: str, start: int, end: int) -> bool:
    """Not a part of a longer word or number."""
    return not (text[start - 1 : start].isalnum() or text[end : end + 1].isalnum())


def label_of(sheet: Sheet, spot: Spot) -> tuple[str, str]:
    """The words that name a value, and where they stand: inside its cell, left of it or above."""
    inside = fold(spot.cell.text[: spot.start])
    if len(inside) >= _LABEL:
        return inside, "inside"
    if spot.column:
        left = spot.row.cells[spot.column - 1]
        if _names(left) and spot.box.x0 - left.box.x1 < ASIDE:
            return fold(left.text), "left"
    for row in reversed(sheet.rows[max(0, spot.row.index - 6) : spot.row.index]):
        if row.page != spot.row.page or spot.box.middle - row.y > REACH * spot.box.height:
            break
        for cell in row.cells:
            if _names(cell) and cell.box.x0 < spot.box.x1 and cell.box.x1 > spot.box.x0:
                return fold(cell.text), "above"
    return "", ""


def _names(cell: Cell) -> bool:
    text = fold(cell.text)
    return len(text) >= _LABEL and sum(char.isdigit() for char in text) * 3 < len(text)


def labelled(sheet: Sheet, path: str, label: str, where: str) -> Iterator[Spot]:
    """Every value that stands so to such a label."""
    for row, column, cell in sheet.cells:
        if where == "inside":
            start = _after(cell.text, label)
            if start:
                yield from parts(sheet, row, column, path, start)
        elif fold(cell.text) == label and where == "left" and column + 1 < len(row.cells):
            yield from parts(sheet, row, column + 1, path)
        elif fold(cell.text) == label and where == "above":
            for other, under in beneath(sheet, row, cell.box, REACH):
                yield from parts(sheet, other, other.cells.index(under), path)


def _after(text: str, label: str) -> int:
    """Where the text goes on behind this label; 0 where it does not begin so."""
    for end in range(1, len(text)):
        if fold(text[:end]) == label and text[end : end + 1].isspace():
            rest = text[end:]
            return end + len(rest) - len(rest.lstrip(" \t:=.#-"))
    return 0


def standing(sheet: Sheet, path: str, page: int, box: Box) -> Iterator[Spot]:
    """Every value at this very place of the page: on its level, with one of its edges."""
    for row, column, cell in sheet.cells:
        if row.page != page or abs(cell.box.middle - box.middle) > 0.7 * box.height:
            continue
        for spot in parts(sheet, row, column, path):
            edges = abs(spot.box.x0 - box.x0), abs(spot.box.x1 - box.x1)
            if min(edges) <= DRIFT:
                yield spot
