"""Tax numbers and addresses of the two parties, by what stands near their names."""

import re
from collections.abc import Iterator
from typing import Final

from docmill.pipelines.invoice import lexicon
from docmill.pipelines.invoice.labels import Phrase, Where, matching, spots
from docmill.pipelines.invoice.layout import Cell, Row, Sheet
from docmill.pipelines.invoice.model import Value
from docmill.pipelines.invoice.names import lines_below
from docmill.reading.pages import around

MAX_LINES: Final = 6
_NUMBER: Final = re.compile(r"[A-Z]{0,3}\s?(?:[A-Z0-9]{1,4}[\s./-]?)*\d(?:[\s./-]?[A-Z0-9]{1,6})*")
_LABEL: Final = re.compile(
    r"\b(?:NPWP|USt\.?-?\s?Id\.?-?\s?Nr\.?|UStID|VAT\s?(?:Reg\.?\s?)?(?:No|Number|ID)\.?|GSTIN|NIF|CIF"
    r"|(?:N°\s?)?TVA(?:\s?intra\w*)?|BTW)\s*[:.#]*\s*(?=[A-Z]{0,3}\s?\d)",
    re.IGNORECASE,
)
_FOREIGN: Final = re.compile(r"ihre|votre|client|buyer|customer|pembeli|kunde|your", re.IGNORECASE)
_OWN: Final = re.compile(
    r"\b(?:NPWP|Tel|Telp|Phone|Fax|USt|VAT|TVA|HRB|IBAN|E-?mail|Gesch)", re.IGNORECASE
)
_LABELS: Final = (lexicon.NUMBER, lexicon.OTHER_NUMBER, lexicon.DATE, lexicon.DUE, lexicon.TERMS)
_ENDS: Final = re.compile(
    r"tel|fon|phone|fax|e-?mail|www|http|@|iban|npwp|vat|ust|tva|siret|attn|up\b|invoice|rechnung|gstin|steuer"
    r"|date|datum|gln|id\b|contact|kunden",
    re.IGNORECASE,
)


def tax_ids(
    sheet: Sheet, phrases: list[Phrase], seller: Value | None, buyer: Value | None
) -> tuple[Value | None, Value | None]:
    """The seller's and the buyer's tax number: each goes to the nearer name."""
    best: dict[bool, tuple[float, Value]] = {}
    for text, value in (*_numbers(sheet, phrases), *_inline(sheet)):
        ours = seller is not None and lexicon.fold(seller.value) in lexicon.fold(text)
        nearer = _far(value, seller) > _far(value, buyer)
        yours = not ours and (bool(_FOREIGN.search(text)) or nearer)
        far = 0.0 if ours else min(_far(value, buyer if yours else seller), 2000.0)
        if yours not in best or far < best[yours][0]:
            best[yours] = (far, value)
    return best[False][1] if False in best else None, best[True][1] if True in best else None


def _numbers(sheet: Sheet, phrases: list[Phrase]) -> Iterator[tuple[str, Value]]:
    """Labelled numbers, each with the words around it."""
    for phrase in matching(phrases, lexicon.TAX_ID):
        for spot in spots(sheet, phrase):
            match = _NUMBER.match(spot.text)
            if match and 8 <= sum(char.isdigit() for char in match[0]) <= 22:
                end = spot.start + len(match[0].rstrip())
                box = spot.cell.place(spot.start, end)
                yield (
                    phrase.cell.text,
                    Value(match[0].strip(), 0.75, spot.cell.page, box, match[0].strip()),
                )
                break
            if spot.where is Where.BELOW:
                break


def _inline(sheet: Sheet) -> Iterator[tuple[str, Value]]:
    """Numbers whose label stands anywhere in a line, as in an imprint."""
    for _, _, cell in sheet.cells:
        for label in _LABEL.finditer(cell.text):
            match = _NUMBER.match(cell.text, label.end())
            if match and 8 <= sum(char.isdigit() for char in match[0]) <= 22:
                number = match[0].strip()
                box = cell.place(match.start(), match.start() + len(number))
                yield cell.text[: label.end()], Value(number, 0.75, cell.page, box, number)


def _far(value: Value, name: Value | None) -> float:
    """How far a number stands from a name; upwards counts more, another page more still."""
    if name is None or not name.box or not value.box:
        return 3000.0
    down = value.box.middle - name.box.middle
    across = max(name.box.x0 - value.box.x1, value.box.x0 - name.box.x1, 0.0)
    pages = 1000.0 * abs(value.page - name.page)
    return (down if down >= 0 else -2 * down) + across + pages


def address_of(sheet: Sheet, name: Value | None) -> Value | None:
    """The lines under a name up to telephone, tax number or a gap."""
    found = _cell_of(sheet, name)
    if not found or not name or not name.box:
        return None
    row, cell = found
    behind = cell.text[cell.text.find(name.text) + len(name.text) :].strip(" ·•|,-–")
    rest = _OWN.split(behind)[0].strip(" ·•|,-–")
    if len(rest) > 12:
        return Value(rest, 0.6, cell.page, cell.box, rest)
    lines: list[Cell] = []
    last = cell
    for _, _, below in lines_below(sheet, row, name.box):
        wide = below.box.middle - last.box.middle > 2.2 * last.box.height
        if wide or _ends(below.text) or len(lines) == MAX_LINES:
            break
        lines.append(below)
        last = below
    if not lines:
        return None
    text = ", ".join(line.text.strip(" ,") for line in lines)
    box = around([line.box for line in lines])
    return Value(text, 0.7, cell.page, box, " ".join(line.text for line in lines))


def _ends(text: str) -> bool:
    """Whether a line speaks of something else than where somebody is."""
    key = lexicon.fold(text)
    label = any(kind.fullmatch(key) for kind in _LABELS)
    return label or ":" in text or bool(_ENDS.match(text))


def _cell_of(sheet: Sheet, name: Value | None) -> tuple[Row, Cell] | None:
    for row, _, cell in sheet.cells:
        if name and name.box and cell.page == name.page and _holds(cell, name):
            return row, cell
    return None


def _holds(cell: Cell, name: Value) -> bool:
    box = name.box
    return (
        bool(box)
        and cell.box.y0 <= box.middle <= cell.box.y1
        and cell.box.x0 - 1 <= box.x0 <= cell.box.x1
    )
