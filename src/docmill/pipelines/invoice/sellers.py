"""Who may have sent an invoice: letterheads, imprints, bank accounts, names of companies."""

import re
from collections.abc import Iterator
from typing import Final

from docmill.pipelines.invoice import lexicon
from docmill.pipelines.invoice.blocks import Block
from docmill.pipelines.invoice.layout import Cell, Row, Sheet
from docmill.pipelines.invoice.names import (
    Name,
    domains,
    is_name,
    known_by,
    named,
    parts_of,
    prose,
)
from docmill.reading import dates
from docmill.reading.companies import COMPANY

FORM: Final = 0.2
IMPRINT: Final = 0.45  # what a name is worth in a line at the edge that says who sends
ADDRESSED: Final = 0.25
LARGER: Final = 0.15
_BANK: Final = re.compile(r"\b(?:\w*bank|\w*sparkasse|banque|banco|hsbc|crédit)\b", re.IGNORECASE)
_HOLDER: Final = re.compile(
    r"(?:a/n|a\.n\.?|an\.|atas nama|nama (?:pemilik )?rekening|inhaber|titulaire|titular|payee"
    r"|beneficiary|bénéficiaire|beneficiario|à l'ordre de|account name|a/c name)\s*:?\s+(?=\S)",
    re.IGNORECASE,
)
_OWN: Final = re.compile(r"NPWP|USt|VAT|TVA|HRB|IBAN|SIRET|[Tt]el\b|@|www", re.IGNORECASE)


def sellers_of(sheet: Sheet, blocks: list[Block], labelled: list[Name]) -> Iterator[Name]:
    """Who may have sent the sheet; `labelled` are those whose bank account a label names."""
    known = domains(sheet)
    own = [*labelled, *_holders(sheet)]
    own += [name for row in sheet.rows for name in _companies(sheet, row) if name.score >= IMPRINT]
    found = list(own)
    for block in blocks:
        found += _letterhead(sheet, block, {lexicon.fold(name.text) for name in own})
    for row in sheet.rows:
        found += [name for name in _companies(sheet, row) if name.score < IMPRINT]
    yield from (_better(name, known) for name in found)


def _holders(sheet: Sheet) -> Iterator[Name]:
    """Whose the bank account is, where a line says so without a colon."""
    for _, _, cell in sheet.cells:
        label = _HOLDER.match(cell.text)
        if label and is_name(cell.text[label.end() :]):
            yield named(cell, label.end(), 0.6)


def _better(name: Name, known: dict[str, float]) -> Name:
    more = FORM if COMPANY.search(name.text) else 0.0
    more += max(
        (worth for domain, worth in known.items() if known_by(name.text, domain)), default=0.0
    )
    return Name(name.text, name.cell, name.start, min(name.score + more, 1.1))


def _letterhead(sheet: Sheet, block: Block, own: set[str]) -> Iterator[Name]:
    """A block with telephone, bank or tax number of its own is a letterhead or a footer.

    One without, on a page that names its owner in an imprint or as a bank's client, is hardly.
    """
    names = [cell for cell in block.cells[:3] if is_name(cell.text) and not _BANK.search(cell.text)]
    if not names or block.ship or not (block.address or block.contact):
        return
    height = names[0].box.y0 / sheet.height(names[0].page)
    worth = 0.15 + 0.25 * block.contact + (0.15 if block.address and block.contact == 1 else 0.05)
    worth += 0.3 if height < 0.12 else 0.05 if height > 0.85 else 0.0
    text = lexicon.fold(block.text)
    worth -= ADDRESSED if own and not block.contact and not any(n in text for n in own) else 0.0
    if len(names) > 1 and COMPANY.search(names[1].text):
        names = sorted(names[:2], key=lambda cell: not COMPANY.search(cell.text))
    for order, cell in enumerate(names[:2]):
        less = 0.1 if COMPANY.search(cell.text) or _again(sheet, cell) else 0.3
        slogan = 0.2 if prose(cell.text) and len(names) > 1 else 0.0
        yield named(
            cell, 0, worth - 0.1 * (cell.page > 1) - less * order - slogan + _size(sheet, cell)
        )


def _again(sheet: Sheet, cell: Cell) -> bool:
    """Whether other places carry this name too."""
    key = lexicon.fold(cell.text)
    return any(key in lexicon.fold(row.text) for row in sheet.rows if cell not in row.cells)


def _companies(sheet: Sheet, row: Row) -> Iterator[Name]:
    """Names anywhere, most of all at the top and the foot of a page."""
    height = row.y / sheet.height(row.page)
    edge = 0.25 if height < 0.12 else 0.15 if height > 0.88 else 0.0
    for column, cell in enumerate(row.cells):
        part = parts_of(cell.text)[0]
        several = len(parts_of(cell.text)) > 2 and _OWN.search(cell.text)
        first = not column and len(row.cells) > 1
        columns = height > 0.88 and first and _OWN.search(row.text)
        imprint = 0.3 if edge and (several or columns) else 0.0
        if (
            is_name(part)
            and not dates.find(cell.text)
            and not _BANK.search(part)
            and (edge or COMPANY.search(part))
            and len(part.split()) <= 7
        ):
            large = _size(sheet, cell) if edge else 0.0
            yield named(cell, 0, 0.05 + edge + imprint + large - 0.05 * (row.page > 1))


def _size(sheet: Sheet, cell: Cell) -> float:
    """What is set larger than the rest of the page is worth more."""
    return LARGER if cell.box.height > 1.25 * sheet.usual_height else 0.0
