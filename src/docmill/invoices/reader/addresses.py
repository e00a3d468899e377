"""Where a party is: the lines under its name."""

from typing import Final

from docmill.invoices.reader import lexicon
from docmill.invoices.reader.names import find_lines_below
from docmill.reading import labels
from docmill.reading.labels import TextCell, TextRow, TextSheet
from docmill.reading.pages import Value, bounding_box

MAX_LINES: Final = 6
_OWN: Final = lexicon.printed_pattern("own_line", r"\b")
_ENDS: Final = lexicon.printed_pattern("address_end")


def find_address(sheet: TextSheet, name: Value | None) -> Value | None:
    """The lines under a name up to telephone, tax number or a gap."""
    found = _cell_with_name(sheet, name)
    if not found or not name or not name.box:
        return None
    row, cell = found
    behind = cell.text[cell.text.find(name.text) + len(name.text) :].strip(" ·•|,-–")
    rest = _OWN.split(behind)[0].strip(" ·•|,-–")
    if len(rest) > 12:
        return Value(rest, 0.6, cell.page, cell.box, rest)
    lines: list[TextCell] = []
    last = cell
    for _, _, below in find_lines_below(sheet, row, name.box):
        wide = below.box.middle - last.box.middle > 2.2 * last.box.height
        if wide or _ends_address(below.text) or len(lines) == MAX_LINES:
            break
        lines.append(below)
        last = below
    if not lines:
        return None
    text = ", ".join(line.text.strip(" ,") for line in lines)
    box = bounding_box([line.box for line in lines])
    return Value(text, 0.7, cell.page, box, " ".join(line.text for line in lines))


def _ends_address(text: str) -> bool:
    """Whether a line speaks of something else than where somebody is."""
    label = labels.squeeze(text) in lexicon.ENDS_ADDRESS
    return label or ":" in text or bool(_ENDS.match(text))


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
