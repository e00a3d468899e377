"""Where a party is: the lines under its name."""

import re
from collections.abc import Iterator
from itertools import islice
from typing import Final

from docmill.invoices.reader import lexicon
from docmill.invoices.reader.names import find_lines_below, has_street, split_parts
from docmill.reading import dates, labels
from docmill.reading.labels import TextCell, TextRow, TextSheet
from docmill.reading.pages import Box, Value, bounding_box

MAX_LINES: Final = 6
# In heights of the line above: between lines, and where a street makes clear what it is.
GAP: Final = 2.2
STREET_GAP: Final = 3.2
_OWN: Final = lexicon.printed_pattern("own_line", r"\b")
_ENDS: Final = lexicon.printed_pattern("address_end", after=r"\b")
_LABELLED: Final = lexicon.printed_pattern("address_label", "^", r"\s*:\s*")
# A weekday may stand before a date.
WEEKDAY: Final = 4
_TELEPHONE: Final = re.compile(r"[(+][\d\W]+|\W*(?:\d\W*){9,}")
_LETTER: Final = re.compile(r"[^\W\d_]")
_EDGES: Final = " ·•|,-–:"


def find_address(sheet: TextSheet, name: Value | None) -> Value | None:
    """What stands behind a name or under it, else behind the same name in a letterhead."""
    found = _cell_with_name(sheet, name)
    if not found or not name or not name.box:
        return None
    row, cell = found
    if behind := _find_behind(cell, name.text):
        return behind
    lines = list(_list_lines(sheet, row, name.box))
    if not lines:
        return _find_in_letterhead(sheet, name.text)
    text = ", ".join(line.strip(" ,") for line, _ in lines)
    box = bounding_box([below.box for _, below in lines])
    return Value(text, 0.7, cell.page, box, " ".join(below.text for _, below in lines))


def _list_lines(sheet: TextSheet, row: TextRow, name: Box) -> Iterator[tuple[str, TextCell]]:
    """The lines under a name up to telephone, tax number or a gap, without their labels."""
    last = name
    for _, _, below in islice(find_lines_below(sheet, row, name), MAX_LINES):
        text = _LABELLED.sub("", below.text, count=1)
        reach = STREET_GAP if last is name and _is_street(text) else GAP
        wide = below.box.middle - last.middle > reach * last.height
        if wide or _ends_address(text) or (last is name and not _LETTER.search(text)):
            return
        yield text, below
        last = below.box


def _is_street(text: str) -> bool:
    return has_street(text) and _LETTER.search(text) is not None


def _find_behind(cell: TextCell, name: str) -> Value | None:
    """What stands behind a name in its line: `Firm · Street 1 · Town`."""
    rest = _OWN.split(cell.text[cell.text.find(name) + len(name) :].strip(_EDGES))[0].strip(_EDGES)
    return Value(rest, 0.6, cell.page, cell.box, rest) if len(rest) > 12 else None


def _find_in_letterhead(sheet: TextSheet, name: str) -> Value | None:
    """Behind the same name elsewhere, where a street or postcode shows what it is."""
    for _, _, cell in sheet.cells:
        if cell.text.startswith(name):
            found = _find_behind(cell, name)
            if found and any(map(_is_street, split_parts(found.text))):
                return found
    return None


def _ends_address(text: str) -> bool:
    """Whether a line speaks of something else than where somebody is."""
    label = labels.squeeze(text) in lexicon.ENDS_ADDRESS
    dated = any(day.end - day.start >= len(text) - WEEKDAY for day in dates.find_dates(text))
    return label or dated or ":" in text or bool(_ENDS.match(text) or _TELEPHONE.fullmatch(text))


def _cell_with_name(sheet: TextSheet, name: Value | None) -> tuple[TextRow, TextCell] | None:
    for row, _, cell in sheet.cells:
        if name and name.box and cell.page == name.page and _contains(cell, name):
            return row, cell
    return None


def _contains(cell: TextCell, name: Value) -> bool:
    box = name.box
    return (
        bool(box)
        and cell.box.y0 <= box.middle <= cell.box.y1
        and cell.box.x0 - 1 <= box.x0 <= cell.box.x1
    )
