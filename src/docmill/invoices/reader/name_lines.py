"""Names in two lines or three: where a name goes on in the next line, and where it begins."""

import re
from dataclasses import replace
from itertools import pairwise
from typing import Final

from docmill.invoices.reader import lexicon
from docmill.invoices.reader.names import (
    FORM_ONLY,
    LEADING,
    MAX_CHARS,
    PartyName,
    ends_company,
    find_row,
    is_aligned,
    is_name,
    is_place,
    make_name,
    split_parts,
)
from docmill.reading.labels import COMPANY, TextCell, TextSheet, squeeze

TALLER: Final = 1.12  # how much larger a name is set than the address under it
GAP: Final = 1.5
MAX_NAME_LINES: Final = 3
EDGE: Final = 1.5  # points: lines of one paragraph begin no further apart
GUTTER: Final = 1.0  # of the height: the least room between two columns
SPACE: Final = 0.3
APART: Final = 2.0  # of the height: how far from its name a company's form may stand
_UNFINISHED: Final = re.compile(
    r"(?:[&,/-]|\b(?:and|und|et|y|e|dan|of|de|del|der|für|for|w|z|i|v|pro|do|da|dos|di|della|van|voor|och|og|és|du|des|la|the|untuk))$"
)
_ORGANISATION: Final = lexicon.printed_pattern("organisation", r"\b", r"\b")


def join_name(sheet: TextSheet, name: PartyName) -> PartyName:
    """A name with the rest of it, where it goes on in the line below or begins in the one above.

    It does where the first line cannot end a name, where only a company's form follows, where
    size or a gap set two lines apart from the address under them, where the column had no room
    for the next word, and where another place has it in one piece.
    """
    name = _add_form(sheet, name)
    if name.below:
        return name
    name = _begin_above(sheet, name)
    for _ in range(MAX_NAME_LINES - 1):
        longer = _add_line(sheet, name)
        if longer is None:
            break
        name = longer
    return name


def _add_line(sheet: TextSheet, name: PartyName) -> PartyName | None:
    """A name with its next line; none where it ends."""
    lines = _own_lines(sheet, name.below or name.cell)
    if len(lines) < 2:
        return None
    first, second = lines[0], lines[1]
    line = name.text if name.below else name.cell.text[name.start :].rstrip(" ,")
    text = second.text.strip(" ,")
    if not (is_name(text) or FORM_ONLY.fullmatch(text)) or not _goes_on(sheet, line, lines):
        return None
    hyphened = line.endswith("-") and len(line) > 1 and line[-2].isalpha()
    joined = f"{line}{'' if hyphened else ' '}{text}"
    cut = len(line) > len(name.text) and split_parts(joined)[0] != joined
    too_long = len(joined) > MAX_CHARS + 20 or squeeze(line) == squeeze(text)
    if cut or too_long or abs(first.box.height - second.box.height) > 1:
        return None
    return replace(name, text=joined, below=second)


def _begin_above(sheet: TextSheet, name: PartyName) -> PartyName:
    """A name from its first line on, where the line over it goes on in it."""
    row = find_row(sheet, name.cell)
    if not row or name.start:
        return name
    over = reversed(sheet.rows[max(row.index - 3, 0) : row.index])
    for cell in (cell for other in over for cell in other.cells):
        if cell.page != name.cell.page or not _is_next(cell, name.cell) or not is_name(cell.text):
            continue
        above = make_name(cell, 0, name.score)
        joined = None if above.start else _add_line(sheet, above)
        if joined and joined.below is name.cell:
            return _begin_above(sheet, above)
    return name


def _is_next(cell: TextCell, below: TextCell) -> bool:
    """Whether a line is the next one of a paragraph: close, and at the same left edge."""
    down = below.box.middle - cell.box.middle
    level = abs(cell.box.x0 - below.box.x0) < EDGE
    return level and 0.4 * cell.box.height < down < LEADING * cell.box.height


def _add_form(sheet: TextSheet, name: PartyName) -> PartyName:
    """A name with a company's form that stands apart in the next cell of its row."""
    row = find_row(sheet, name.cell)
    at = row.cells.index(name.cell) + 1 if row else 0
    if not row or at >= len(row.cells) or COMPANY.search(name.text):
        return name
    form = row.cells[at]
    near = form.box.x0 - name.cell.box.x1 < APART * name.cell.box.height
    whole = name.start + len(name.text) == len(name.cell.text)
    if not (near and whole and FORM_ONLY.fullmatch(form.text)):
        return name
    return replace(name, text=f"{name.text} {form.text}", below=form)


def _own_lines(sheet: TextSheet, start: TextCell) -> list[TextCell]:
    """The cell of a name and those right under it at its left edge or around its middle."""
    lines = [start]
    row = find_row(sheet, start)
    for other in sheet.rows[row.index + 1 : row.index + 8] if row else ():
        last = lines[-1]
        near = [
            cell
            for cell in other.cells
            if cell.page == last.page
            and 0.4 * last.box.height < cell.box.middle - last.box.middle < 4 * last.box.height
            and is_aligned(cell, start)
        ]
        lines += near[:1]
    return lines[:3]


def _goes_on(sheet: TextSheet, first: str, lines: list[TextCell]) -> bool:
    second = lines[1].text.strip(" ,")
    if FORM_ONLY.fullmatch(second) or _UNFINISHED.search(first):
        return True
    if set(second) & set("0123456789@:") or ends_company(first) or is_place(second):
        return False
    broken = _is_broken(sheet, *lines[:2]) or _is_printed(sheet, first, second)
    if _is_next(*lines[:2]) and (broken or _is_rest(lines)):
        return True
    if len(lines) < 3:
        return False
    heights = [cell.box.height for cell in lines]
    tall = min(heights[:2]) > TALLER * heights[2]
    steps = [after.box.middle - cell.box.middle for cell, after in pairwise(lines)]
    apart = steps[1] > GAP * steps[0] and bool(COMPANY.search(second))
    return (tall or apart or _is_heavier(lines)) and steps[0] < 2 * heights[0]


def _is_heavier(lines: list[TextCell]) -> bool:
    """Whether two lines are printed bold and the third is not."""
    first, second, third = (all(word.bold for word in cell.words) for cell in lines[:3])
    return first and second and not third and len(split_parts(lines[1].text)) == 1


def _is_broken(sheet: TextSheet, first: TextCell, second: TextCell) -> bool:
    """Whether the first word of a line had no room behind the line before."""
    row = find_row(sheet, first)
    if not row:
        return False
    near = sheet.rows[max(row.index - 1, 0) : row.index + 4]
    beside = [
        cell.box.x0
        for other in near
        for cell in other.cells
        if cell.page == first.page and cell.box.x0 > first.box.x1
    ]
    edge = min(beside) if beside else _right_edge(sheet, first.page)
    room = edge - first.box.x1 - (GUTTER if beside else SPACE) * first.box.height
    return second.words[0].box.width > room


def _is_rest(lines: list[TextCell]) -> bool:
    """Whether the second line says what kind of organisation the first names, or a form follows.

    The lines are no wider than if the second one's first word had no room behind the first.
    """
    if len(lines) < 3:
        return False
    second = lines[1].text
    formed = bool(FORM_ONLY.fullmatch(lines[2].text.strip(" ,")))
    last = lines[0].box.x1 + SPACE * lines[0].box.height + lines[1].words[0].box.width
    narrow = all(cell.box.x1 < last for cell in lines)
    worded = bool(_ORGANISATION.search(second)) and is_place(lines[2].text)
    return narrow and (formed or worded)


def _right_edge(sheet: TextSheet, page: int) -> float:
    """How far to the right a page is printed."""
    return max(cell.box.x1 for _, _, cell in sheet.cells if cell.page == page)


def _is_printed(sheet: TextSheet, first: str, second: str) -> bool:
    """Whether another place has two lines in one piece."""
    key = squeeze(f"{first} {second}")
    return any(key in squeeze(cell.text) for _, _, cell in sheet.cells)
