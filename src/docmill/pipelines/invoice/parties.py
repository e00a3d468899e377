"""Seller and buyer: by label, by the sender's line over an address, by how companies are named."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from docmill.pipelines.invoice import lexicon
from docmill.pipelines.invoice.blocks import Block, blocks_of
from docmill.pipelines.invoice.facts import Candidate, best
from docmill.pipelines.invoice.labels import Phrase, Where, matching, spots
from docmill.pipelines.invoice.layout import Cell, Row, Sheet, beneath
from docmill.pipelines.invoice.model import Party, Value
from docmill.reading.pages import Box

_SENDER: Final = re.compile(r"\s*(?:[·•|●∙◦▪–—]|\s-\s|,\s)\s*")
_POSTCODE: Final = re.compile(r"(?<!\d)(?:[A-Z]{1,2}-)?\d{4,6}(?!\d)")
_CONTACT: Final = re.compile(
    r"(?:tel|fon|phone|telp|fax|e-?mail|www|http|@|iban|bic|swift|ust|vat|npwp|tva|siret|gstin|hrb|bank)",
    re.IGNORECASE,
)
_NAME_LABEL: Final = re.compile(r"^(?:name|nama|nom|nombre|company|firma|perusahaan)\s*:?\s*$", re.IGNORECASE)
_LABELLED: Final = re.compile(r"^[^:]{2,30}\s?:\s")
_NOT_NAME: Final = re.compile(
    r"^(?:page|seite|hal|date|datum|tanggal|invoice|rechnung|facture|faktur|tax invoice|original|copy|no\b|nr\b"
    r"|attn|up\b|u\.p|address|alamat|anschrift|adresse|tel|phone|fax|email|e-mail|npwp|vat|total|number|nummer"
    r"|details?|summary|receipt|payment|bill|ship|deliver|kepada|yth|dear|sehr|to\b|from\b|gln|siren|siret|logo"
    r"|stylesheet|beispiel|kunden-?nr|kundennummer|customer|globale|purchase|order|po\b|ref|your|our|ihre|unsere"
    r"|terms|currency|wahrung|währung|id\b|duns|contact|kontakt|account|bank|iban|swift|subject|betreff|status"
    r"|powered|www|http|invoice to|salesperson|document|dokumen|periode?|due|jatuh|termin|website|tax|code)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Name:
    """A name that may be a party's, and where it stands."""

    text: str
    cell: Cell
    start: int
    score: float


def parties(sheet: Sheet, phrases: list[Phrase]) -> tuple[Party, Party]:
    """Seller and buyer."""
    blocks = blocks_of(sheet)
    senders = list(_senders(sheet))
    buyers = [*_labelled(sheet, phrases, lexicon.BUYER, 1.0), *_under_sender(sheet, senders)]
    buyers += _loose_buyers(sheet, blocks, senders)
    buyer = best(_candidates(buyers), 0.15)
    avoid = lexicon.fold(buyer.value) if buyer else ""
    sellers = [name for name in _sellers(sheet, phrases, blocks, senders) if lexicon.fold(name.text) != avoid]
    seller = best(_candidates(sellers), 0.1)
    if seller and buyer and lexicon.fold(seller.value) == lexicon.fold(buyer.value):
        buyer = None
    return Party(name=seller), Party(name=buyer)


def _candidates(names: Iterable[Name]) -> Iterator[Candidate]:
    for name in names:
        end = name.start + len(name.text)
        box = name.cell.place(name.start, end)
        yield Candidate(" ".join(name.text.split()), name.score, name.cell.page, box, name.text)


def _labelled(
    sheet: Sheet, phrases: list[Phrase], pattern: re.Pattern[str], weight: float
) -> Iterator[Name]:
    for phrase in matching(phrases, pattern):
        if not phrase.first or len(phrase.key) < 2:
            continue
        short = len(phrase.key) < 5
        if not phrase.closed and (short or phrase.cell.text[phrase.end - 1] != ":"):
            continue
        worth = weight - 0.05 * (phrase.cell.page - 1) - (0.25 if short else 0.0)
        yield from _named(sheet, phrase, worth)


def _named(sheet: Sheet, phrase: Phrase, worth: float) -> Iterator[Name]:
    """The name behind, beside or below a label; of two lines below, rather the company."""
    tries = 0
    for spot in spots(sheet, phrase):
        text = spot.text.strip()
        if spot.where is Where.BESIDE and (spot.cell.box.x0 - phrase.box.x1 > 220):
            continue
        label = _LABELLED.match(text + " ")
        if label and not _NAME_LABEL.match(text[: label.end()].strip(" :")):
            continue
        if _is_name(text):
            score = worth - 0.12 * tries - (0.1 if spot.where is Where.BESIDE else 0)
            score += 0.25 if tries and lexicon.COMPANY.search(text) else 0.0
            yield _name(spot.cell, spot.start, score)
            tries += 1
        if tries == 2:
            return


def _name(cell: Cell, start: int, score: float) -> Name:
    text = cell.text[start:]
    label = re.match(r"(?:name|nama|nom|company|kepada|yth\.?|to)\s*:\s*", text, re.IGNORECASE)
    begin = start + (label.end() if label else 0)
    parts = _SENDER.split(cell.text[begin:])
    made = parts[0].rstrip(" ,;:") if _POSTCODE.search(cell.text[begin:]) else cell.text[begin:]
    return Name(made.strip(), cell, begin, score)


def _is_name(text: str) -> bool:
    letters = sum(char.isalpha() for char in text)
    if letters < 3 or letters * 2 < len(text.replace(" ", "")) or len(text) > 80:
        return False
    if _NOT_NAME.match(text) or "@" in text or text.endswith((".", ":")) and not lexicon.COMPANY.search(text):
        return False
    return not re.match(r"\d", text) and len(text.split()) <= 10


def _senders(sheet: Sheet) -> Iterator[tuple[Row, Cell]]:
    """Lines like `Firm · Street 1 · 12345 Town`: who sends, in one line, over an address."""
    for row in sheet.rows:
        if row.page > 1 or row.y > 0.45 * sheet.height(row.page):
            return
        for cell in row.cells:
            parts = _SENDER.split(cell.text)
            enough = 3 <= len(parts) <= 6 and _POSTCODE.search(cell.text) and len(cell.text) < 140
            if enough and not _CONTACT.search(cell.text) and _is_name(parts[0]):
                yield row, cell


def _under_sender(sheet: Sheet, senders: list[tuple[Row, Cell]]) -> Iterator[Name]:
    """The first line of the address under a sender's line is the buyer."""
    for row, cell in senders:
        for _, below in beneath(sheet, row, cell.box, 7.0):
            if abs(below.box.x0 - cell.box.x0) < 40 and _is_name(below.text):
                yield Name(below.text, below, 0, 0.8)
                break


def _loose_buyers(
    sheet: Sheet, blocks: list[Block], senders: list[tuple[Row, Cell]]
) -> Iterator[Name]:
    """Address blocks in the upper half that look like nobody's own letterhead."""
    for block in blocks:
        first = block.cells[0]
        if first.page > 1 or first.box.y0 > 0.5 * sheet.height(1) or not _is_name(first.text):
            continue
        if block.address and not block.contact:
            worth = 0.35 + 0.15 * (first.box.y0 / sheet.height(1))
            worth -= 0.3 if block.ship else 0.0
            yield Name(first.text, first, 0, worth)


def _sellers(
    sheet: Sheet, phrases: list[Phrase], blocks: list[Block], senders: list[tuple[Row, Cell]]
) -> Iterator[Name]:
    yield from _labelled(sheet, phrases, lexicon.SELLER, 1.0)
    for _, cell in senders:
        yield Name(_SENDER.split(cell.text)[0].strip(), cell, 0, 0.85)
    for name in _labelled(sheet, phrases, lexicon.HOLDER, 0.45):
        yield name
    for block in blocks:
        yield from _own_block(sheet, block)
    for row in sheet.rows:
        yield from _companies(sheet, row)


def _own_block(sheet: Sheet, block: Block) -> Iterator[Name]:
    """A block with telephone, bank or tax number of its own is a letterhead or a footer."""
    first = block.cells[0]
    if not _is_name(first.text) or block.ship:
        return
    height = first.box.y0 / sheet.height(first.page)
    worth = 0.3 + (0.25 if block.contact else 0.0) + (0.15 if height < 0.25 else 0.0)
    worth += 0.1 if lexicon.COMPANY.search(first.text) else 0.0
    yield _name(first, 0, worth - 0.1 * (first.page > 1))


def _companies(sheet: Sheet, row: Row) -> Iterator[Name]:
    """Company names anywhere, most of all at the top and the foot of a page."""
    for cell in row.cells:
        part = _SENDER.split(cell.text)[0].strip()
        if not lexicon.COMPANY.search(part) or not _is_name(part):
            continue
        height = row.y / sheet.height(row.page)
        edge = 0.2 if height < 0.15 or height > 0.85 else 0.0
        yield Name(part, cell, 0, 0.25 + edge)


def box_of(value: Value | None) -> Box | None:
    return value.box if value else None
