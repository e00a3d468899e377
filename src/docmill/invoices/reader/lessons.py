"""Layouts: what a document looks like, and whether another looks the same.

A layout is a supplier and a geometry: words that stand at the same place in all its documents.
"""

import hashlib
import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from docmill.invoices import checks
from docmill.invoices.fields import FIELDS, kind_of
from docmill.invoices.reader.layout import find_figures
from docmill.invoices.reader.model import Invoice, Values, format_number, to_json
from docmill.reading import dates, numbers
from docmill.reading.labels import TextCell, TextRow, TextSheet, find_below, squeeze
from docmill.reading.pages import Box, Value

MOST_MARKS: Final = 60
ALIKE: Final = 0.6
ALIKE_ALONE: Final = 0.75  # where no supplier is known to confirm it
NEAR_X: Final = 8.0
NEAR_Y: Final = 14.0
HEAD_OF_PAGE: Final = 0.3  # of the page: above, words stand still; below, the lines push them down
_IDENTITY: Final = ("tax_id", "name")

LayoutMark = list[Any]  # [word, x, y]


def find_marks(sheet: TextSheet) -> list[LayoutMark]:
    """The first words of page one without figures, those of the table's rows left out."""
    marks = [mark for row in sheet.rows if row.page == 1 for mark in _row_marks(row)]
    return marks[:MOST_MARKS]


def _row_marks(row: TextRow) -> Iterator[LayoutMark]:
    words = [word for cell in row.cells for word in cell.words]
    if sum(word.text[:1].isdigit() for word in words) >= 2:
        return
    for word in words:
        text = squeeze(word.text)
        if len(text) >= 2 and not any(char.isdigit() for char in text):
            yield [text, round(word.box.x0, 1), round(word.box.y0, 1)]


def find_supplier(sheet: TextSheet, seller: Mapping[str, Any] | None) -> str:
    """The supplier's tax number or name, if these pages print one of them."""
    known = [str(seller[name]) for name in _IDENTITY if seller and seller.get(name)]
    return next((each for each in known if _is_printed(sheet, each)), "")


def _is_printed(sheet: TextSheet, supplier: str) -> bool:
    return squeeze(supplier) in squeeze("".join(row.text for row in sheet.rows))


def matches_layout(sheet: TextSheet, marks: Sequence[LayoutMark], supplier: str) -> bool:
    """Whether these pages are of the layout with these marks."""
    if not marks:
        return False
    known = len(squeeze(supplier)) >= 3
    if known and not _is_printed(sheet, supplier):
        return False
    places: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for word, x, y in (mark for row in sheet.rows if row.page == 1 for mark in _row_marks(row)):
        places[word].append((x, y))
    head = HEAD_OF_PAGE * sheet.height(1)
    hits = sum(
        any(_is_near((x, y), other, head) for other in places.get(word, ())) for word, x, y in marks
    )
    return hits / len(marks) >= (ALIKE if known else ALIKE_ALONE)


def _is_near(one: tuple[float, float], other: tuple[float, float], head: float) -> bool:
    level = abs(one[1] - other[1]) <= NEAR_Y or (one[1] > head and other[1] > head)
    return abs(one[0] - other[0]) <= NEAR_X and level


def name_layout(marks: Sequence[LayoutMark], supplier: str) -> str:
    """A short name for a layout that was not seen before."""
    marked = json.dumps([squeeze(supplier), marks])
    return hashlib.sha256(marked.encode()).hexdigest()[:16]


REACH: Final = 3.5  # of the height: how far above a value its label may stand
ASIDE: Final = 220.0  # points: how far left
DRIFT: Final = 10.0  # points: how far a value may stand from where it was taught
_LABEL: Final = 2


@dataclass(frozen=True, slots=True)
class CellPart:
    """A part of a cell, and the row it stands in."""

    row: TextRow
    column: int
    start: int
    end: int

    @property
    def cell(self) -> TextCell:
        return self.row.cells[self.column]

    @property
    def text(self) -> str:
        return self.cell.text[self.start : self.end]

    @property
    def box(self) -> Box:
        return self.cell.place(self.start, self.end)


def find_parts(
    sheet: TextSheet, row: TextRow, column: int, path: str, start: int = 0
) -> Iterator[CellPart]:
    """What in a cell could be a value of this kind, from left to right."""
    cell = row.cells[column]
    match kind_of(path):
        case "figure":
            found = [(n.start, n.end) for n in numbers.find_numbers(cell.text, sheet.mark)]
        case "date":
            taken = dates.find_dates(cell.text, month_first=sheet.month_first, packed=True)
            found = [(d.start, d.end) for d in taken]
        case _:
            found = [(start, len(cell.text.rstrip()))]
    for begin, end in found:
        if begin >= start and begin < end:
            yield CellPart(row, column, begin, end)


def read_part(sheet: TextSheet, spot: CellPart, path: str) -> str:
    """The value at a spot, as results carry it."""
    match kind_of(path):
        case "figure":
            wanted = (spot.start, spot.end)
            for figure in find_figures(spot.row, sheet.mark):
                if figure.cell == spot.cell and (figure.number.start, figure.number.end) == wanted:
                    return format_number(figure.number.value)
            return ""
        case "date":
            taken = dates.find_dates(spot.text, month_first=sheet.month_first, packed=True)
            return taken[0].day.isoformat() if taken else ""
        case _:
            return spot.text.strip()


def find_value(sheet: TextSheet, path: str, value: str, place: dict[str, Any]) -> CellPart | None:
    """Where this value is printed: nearest to the place given, else the first, of sums the last."""
    found = [spot for row in sheet.rows for spot in _parts_saying(sheet, row, path, value)]
    if not found:
        return None
    page, box = place.get("page"), place.get("box")
    if page and box:
        return min(found, key=lambda spot: _distance(spot, page, Box(*box)))
    return found[-1 if path.startswith("totals.") else 0]


def _distance(spot: CellPart, page: int, box: Box) -> float:
    away = abs(spot.box.x0 - box.x0) + abs(spot.box.middle - box.middle)
    return away + 10_000 * abs(spot.row.page - page)


def _parts_saying(sheet: TextSheet, row: TextRow, path: str, value: str) -> Iterator[CellPart]:
    for column, cell in enumerate(row.cells):
        if kind_of(path) != "text":
            spots = find_parts(sheet, row, column, path)
            yield from (spot for spot in spots if _is_same(read_part(sheet, spot, path), value))
            continue
        at = cell.text.casefold().find(value.casefold())
        if at >= 0 and _is_whole(cell.text, at, at + len(value)):
            yield CellPart(row, column, at, at + len(value))


def _is_same(one: str, other: str) -> bool:
    if one == other:
        return True
    try:
        return float(one) == float(other)
    except ValueError:
        return False


def _is_whole(text: str, start: int, end: int) -> bool:
    """Not a part of a longer word or number."""
    return not (text[start - 1 : start].isalnum() or text[end : end + 1].isalnum())


def find_label(sheet: TextSheet, spot: CellPart) -> tuple[str, str]:
    """The words that name a value, and where they stand: inside its cell, left of it or above."""
    inside = squeeze(spot.cell.text[: spot.start])
    if len(inside) >= _LABEL:
        return inside, "inside"
    if spot.column:
        left = spot.row.cells[spot.column - 1]
        if _is_label(left) and spot.box.x0 - left.box.x1 < ASIDE:
            return squeeze(left.text), "left"
    for row in reversed(sheet.rows[max(0, spot.row.index - 6) : spot.row.index]):
        if row.page != spot.row.page or spot.box.middle - row.y > REACH * spot.box.height:
            break
        for cell in row.cells:
            if _is_label(cell) and cell.box.x0 < spot.box.x1 and cell.box.x1 > spot.box.x0:
                return squeeze(cell.text), "above"
    return "", ""


def _is_label(cell: TextCell) -> bool:
    text = squeeze(cell.text)
    return len(text) >= _LABEL and sum(char.isdigit() for char in text) * 3 < len(text)


def find_labelled(sheet: TextSheet, path: str, label: str, where: str) -> Iterator[CellPart]:
    """Every value that stands so to such a label."""
    for row, column, cell in sheet.cells:
        if where == "inside":
            start = _label_end(cell.text, label)
            if start:
                yield from find_parts(sheet, row, column, path, start)
        elif squeeze(cell.text) == label and where == "left" and column + 1 < len(row.cells):
            yield from find_parts(sheet, row, column + 1, path)
        elif squeeze(cell.text) == label and where == "above":
            for other, under in find_below(sheet, row, cell.box, REACH):
                yield from find_parts(sheet, other, other.cells.index(under), path)


def _label_end(text: str, label: str) -> int:
    """Where the text goes on behind this label; 0 where it does not begin so."""
    for end in range(1, len(text)):
        if squeeze(text[:end]) == label and text[end : end + 1].isspace():
            rest = text[end:]
            return end + len(rest) - len(rest.lstrip(" \t:=.#-"))
    return 0


def find_standing(sheet: TextSheet, path: str, page: int, box: Box) -> Iterator[CellPart]:
    """Every value at this very place of the page: on its level, with one of its edges."""
    for row, column, cell in sheet.cells:
        if row.page != page or abs(cell.box.middle - box.middle) > 0.7 * box.height:
            continue
        for spot in find_parts(sheet, row, column, path):
            edges = abs(spot.box.x0 - box.x0), abs(spot.box.x1 - box.x1)
            if min(edges) <= DRIFT:
                yield spot


_TAUGHT: Final = frozenset(field.path for field in FIELDS if field.taught)
_CONSTANT: Final = frozenset(field.path for field in FIELDS if field.constant)
SURE, UNSURE = 0.9, 0.7
_DIGITS: Final = re.compile(r"\d+")
_LETTERS: Final = re.compile(r"[^\W\d_]+")

LessonData = Mapping[str, Any]
Learned = dict[str, dict[str, str]]


def teach(
    sheet: TextSheet,
    fields: Mapping[str, Mapping[str, Any]],
    seller: Mapping[str, Any] | None,
    known: Sequence[LessonData],
) -> list[dict[str, Any]]:
    """What these corrected values, by path, teach about documents that look like this one."""
    about = describe_layout(sheet, seller, known)
    found = ((path, _make_lesson(sheet, path, dict(given))) for path, given in fields.items())
    return [{**about, "field": path, **lesson} for path, lesson in found if lesson]


def describe_layout(
    sheet: TextSheet, seller: Mapping[str, Any] | None, known: Sequence[LessonData]
) -> dict[str, Any]:
    """What a lesson says of its documents; a layout that is known keeps its name."""
    marks, supplier = find_marks(sheet), find_supplier(sheet, seller)
    layout = next(
        (str(each["layout"]) for each in known if fits_layout(sheet, each)),
        name_layout(marks, supplier),
    )
    return {"layout": layout, "supplier": supplier, "marks": marks}


def _make_lesson(sheet: TextSheet, path: str, given: dict[str, Any]) -> dict[str, Any] | None:
    value = str(given["value"])
    spot = find_value(sheet, path, value, given) if path in _TAUGHT else None
    if spot is None:
        return {"constant": value} if path in _CONSTANT else None
    label, where = find_label(sheet, spot)
    return {
        "page": spot.row.page,
        "box": spot.box.to_list(),
        "label": label,
        "where": where,
        "shape": _shape_of(spot.text),
        "words": len(spot.text.split()),
        "whole": not spot.cell.text[spot.end :].strip(),
    }


def apply_lessons(
    sheet: TextSheet, invoice: Invoice, lessons: Sequence[LessonData]
) -> tuple[Invoice, Learned]:
    """The invoice with what the lessons of this layout say, and which fields they gave."""
    values: dict[str, tuple[Value, LessonData]] = {}
    for lesson in lessons:
        path = str(lesson["field"])
        if path not in _TAUGHT or path in values or not fits_layout(sheet, lesson):
            continue
        value, current = _read_lesson(sheet, lesson), invoice.values.get(path)
        if value and (current is None or value.value != current.value):
            values[path] = (value, lesson)
    sums = {path for path in values if path.startswith("totals.")}
    if sums and _breaks_more(invoice, {path: values[path][0] for path in sums}):
        values = {path: given for path, given in values.items() if path not in sums}
    learned = {path: name_lesson(lesson) for path, (_, lesson) in values.items()}
    return _set_values(invoice, {path: value for path, (value, _) in values.items()}), learned


def name_lesson(lesson: LessonData) -> dict[str, str]:
    """The lesson, and the document that taught it."""
    return {"lesson": str(lesson.get("id", "")), "from": str(lesson.get("from", ""))}


def fits_layout(sheet: TextSheet, lesson: LessonData) -> bool:
    return matches_layout(sheet, lesson["marks"], str(lesson["supplier"]))


def _read_lesson(sheet: TextSheet, lesson: LessonData) -> Value | None:
    """The value where the lesson says that it stands: by its label, else by its place."""
    if "constant" in lesson:
        return Value(str(lesson["constant"]), SURE)
    path, box = str(lesson["field"]), Box(*lesson["box"])
    found: list[CellPart] = []
    if lesson["label"]:
        found = [*find_labelled(sheet, path, str(lesson["label"]), str(lesson["where"]))]
    found = found or [*find_standing(sheet, path, int(lesson["page"]), box)]
    found = [cut for spot in found if (cut := _cut_part(spot, lesson))]
    if not found:
        return None
    spot = min(found, key=lambda each: _distance_to(each, int(lesson["page"]), box))
    value = read_part(sheet, spot, path)
    sure = SURE if _shape_of(spot.text) == lesson["shape"] else UNSURE
    return Value(value, sure, spot.row.page, spot.box, spot.text) if value else None


def _cut_part(spot: CellPart, lesson: LessonData) -> CellPart | None:
    """The spot, no more words of it than were taught; none that lacks figures which it had."""
    words = [*re.finditer(r"\S+", spot.text)]
    if not lesson["whole"] or (lesson["words"] == 1 and len(words) > 1 and "9" in lesson["shape"]):
        words = words[: lesson["words"]]
    if not words:
        return None
    cut = replace(spot, end=spot.start + words[-1].end())
    lacks = "9" in lesson["shape"] and not _DIGITS.search(cut.text)
    return None if lacks else cut


def _distance_to(spot: CellPart, page: int, box: Box) -> float:
    across = min(abs(spot.box.x0 - box.x0), abs(spot.box.x1 - box.x1))
    return across + abs(spot.box.middle - box.middle) + 1000 * abs(spot.row.page - page)


def _shape_of(text: str) -> str:
    """How a value looks: `INV/2025/017` is `A/9/9`."""
    return _LETTERS.sub("A", _DIGITS.sub("9", text))


def _set_values(invoice: Invoice, values: Values) -> Invoice:
    return replace(invoice, values={**invoice.values, **values})


def _breaks_more(invoice: Invoice, sums: Values) -> bool:
    """Whether more arithmetic is broken with these sums than without."""
    return count_broken(_set_values(invoice, sums)) > count_broken(invoice)


def count_broken(invoice: Invoice) -> int:
    outcomes = to_json(invoice)["checks"].values()
    return sum(outcome == checks.BROKEN for outcome in outcomes)
