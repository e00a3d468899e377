"""Seller and buyer: by label, by the sender's line over an address, by how companies are named."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from statistics import median
from typing import Final

from docmill.pipelines.invoice import lexicon
from docmill.pipelines.invoice.blocks import Block, blocks_of
from docmill.pipelines.invoice.facts import AGAIN, Candidate, best
from docmill.pipelines.invoice.identities import address_of, tax_ids
from docmill.pipelines.invoice.labels import Phrase, Where, matching, spots
from docmill.pipelines.invoice.layout import Cell, Row, Sheet
from docmill.pipelines.invoice.model import Party, Value
from docmill.pipelines.invoice.names import (
    Name,
    domains,
    is_name,
    known_by,
    lines_below,
    named,
    parts_of,
    prose,
)

COMPANY: Final = 0.2
LABELLED: Final = 0.85
MAX_PAGES: Final = 3  # beyond them nobody is named for the first time, but on the last
IMPRINT: Final = 0.45  # what a name is worth in a line at the edge that says who sends
ADDRESSED: Final = 0.25
LARGER: Final = 0.15
MENTIONED: Final = 0.1
_POSTCODE: Final = re.compile(r"(?<!\d)(?:[A-Z]{1,2}-)?\d{4,6}(?!\d)")
_CONTACT: Final = re.compile(
    r"\b(?:tel|fon|phone|telefon|fax|e?-?mail|www|https?|iban|bic|ust|vat|npwp|siret|hrb)\b|@",
    re.IGNORECASE,
)
_NAME_LABEL: Final = re.compile(r"(?:name|nama|nom|nombre|company|firma|perusahaan|namaperusahaan)")
_COURTESIES: Final = frozenset({"herr", "herrn", "frau", "bapak", "ibu", "mr", "mrs", "mme"})
_BANK: Final = re.compile(r"\b(?:\w*bank|\w*sparkasse|banque|banco|hsbc|crédit)\b", re.IGNORECASE)
_HOLDER: Final = re.compile(
    r"(?:a/n|a\.n\.?|an\.|atas nama|nama (?:pemilik )?rekening|inhaber|titulaire|titular|payee|beneficiary"
    r"|bénéficiaire|beneficiario|à l'ordre de|account name|a/c name)\s*:?\s+(?=\S)",
    re.IGNORECASE,
)
_OWN: Final = re.compile(r"NPWP|USt|VAT|TVA|HRB|IBAN|SIRET|[Tt]el\b|@|www", re.IGNORECASE)
_OTHER_LABEL: Final = re.compile(r"[^:]{2,30}\s?:(?:\s|$)")


def parties(sheet: Sheet, phrases: list[Phrase], skipped: frozenset[int]) -> tuple[Party, Party]:
    """Seller and buyer; in the rows of the table nobody is looked for."""
    whole = sheet
    near = {*range(1, MAX_PAGES + 1), len(sheet.sizes)}
    sheet = replace(
        sheet,
        rows=tuple(
            _outside(row, skipped) if row.page in near else _empty(row) for row in sheet.rows
        ),
    )
    blocks = blocks_of(sheet)
    senders = list(_senders(sheet))
    sold_by = [*_labelled(sheet, phrases, lexicon.SELLER, 1.0)]
    lower = max(skipped, default=len(sheet.rows))
    buyers = [*_labelled(sheet, _above(phrases, lower), lexicon.BUYER, 1.0)]
    buyers += _under_sender(sheet, senders)
    sure = {lexicon.fold(name.text) for name in sold_by if name.score > 0.8}
    buyers += _addressed(sheet, blocks)
    sellers = [*sold_by, *_sellers(sheet, phrases, blocks, senders)]
    seller, buyer = _pair(
        _supported(sheet, sellers), [n for n in buyers if lexicon.fold(n.text) not in sure]
    )
    sure = {lexicon.fold(name.text) for name in (*sold_by, *buyers) if name.score > 0.9}
    seller, buyer = _known(seller, sure), _known(buyer, sure)
    ids = tax_ids(whole, phrases, seller, buyer)
    return (
        Party(seller, ids[0], address_of(sheet, seller)),
        Party(buyer, ids[1], address_of(sheet, buyer)),
    )


def _above(phrases: list[Phrase], lower: int) -> list[Phrase]:
    """Labels over the end of the table: under it `an` is who is paid, not who pays."""
    return [phrase for phrase in phrases if phrase.row.index <= lower or len(phrase.key) > 9]


def _known(name: Value | None, sure: set[str]) -> Value | None:
    """A name, less sure where no label says whose it is or nothing says it is a company's."""
    if name is None or (lexicon.fold(name.value) in sure and lexicon.COMPANY.search(name.value)):
        return name
    return name.sure(min(name.confidence, 0.85))


def _outside(row: Row, skipped: frozenset[int]) -> Row:
    return _empty(row) if row.index in skipped else row


def _empty(row: Row) -> Row:
    return replace(row, cells=())


def _pair(sellers: list[Name], buyers: list[Name]) -> tuple[Value | None, Value | None]:
    """The two different names that are best supported together."""
    tops = sorted(_scores(sellers).items(), key=lambda pair: -pair[1])[:6]
    others = [*sorted(_scores(buyers).items(), key=lambda pair: -pair[1])[:6], ("", 0.3)]
    if others[0][1] >= LABELLED:
        others = others[:1]
    pairs = [
        (worth + other, own, theirs)
        for own, worth in tops
        for theirs, other in others
        if own != theirs
    ]
    if not pairs:
        return None, best(_candidates(buyers), 0.15)
    _, own, theirs = max(pairs)
    seller = best(_candidates(name for name in sellers if lexicon.fold(name.text) != theirs), 0.1)
    buyer = best(_candidates(name for name in buyers if lexicon.fold(name.text) != own), -0.1)
    return seller, buyer


def _scores(names: Iterable[Name]) -> dict[str, float]:
    found: dict[str, list[float]] = {}
    for name in names:
        found.setdefault(lexicon.fold(name.text), []).append(name.score)
    return {key: max(worth) + AGAIN * min(len(worth) - 1, 3) for key, worth in found.items()}


def _supported(sheet: Sheet, names: list[Name]) -> list[Name]:
    """Names, better where other cells carry them too and it is not half of a longer name."""
    texts = [lexicon.fold(cell.text) for _, _, cell in sheet.cells]
    keys = {lexicon.fold(name.text) for name in names}
    whole = {key for key in keys if not any(key != other and key in other for other in keys)}
    counts = {
        key: sum(key in text and key != text for text in texts) for key in whole if len(key) > 4
    }
    return [
        replace(name, score=name.score + MENTIONED * min(counts.get(lexicon.fold(name.text), 0), 3))
        for name in names
    ]


def _candidates(names: Iterable[Name]) -> Iterator[Candidate]:
    for name in names:
        end = name.start + len(name.text)
        box = name.cell.place(name.start, end)
        text = " ".join(name.text.split())
        yield Candidate(text, name.score, name.cell.page, box, name.text)


def _labelled(
    sheet: Sheet, phrases: list[Phrase], pattern: re.Pattern[str], weight: float
) -> Iterator[Name]:
    for phrase in matching(phrases, pattern):
        short = len(phrase.key) < 5
        colon = phrase.cell.text[phrase.end - 1] == ":"
        closed = phrase.closed or phrase.twinned
        if not phrase.first or (short and not closed) or not (colon or closed):
            continue
        worth = weight - 0.05 * (phrase.cell.page - 1) - (0.25 if short else 0.0)
        yield from _behind(sheet, phrase, worth)


def _behind(sheet: Sheet, phrase: Phrase, worth: float) -> Iterator[Name]:
    """The name behind or beside a label, else in the lines below it; rather a company's name."""
    for spot in spots(sheet, phrase):
        near = spot.cell.box.x0 - phrase.box.x1 < 150
        if spot.where > Where.BESIDE or (spot.where is Where.BESIDE and not near):
            break
        if is_name(spot.text) and not _OTHER_LABEL.match(spot.text):
            colon = phrase.cell.text[phrase.end - 1] == ":"
            away = 0.2 if spot.where is Where.BESIDE and not colon else 0.0
            yield named(spot.cell, spot.start, worth - away)
            if not away:
                return
    yield from _below(sheet, phrase, worth)


def _below(sheet: Sheet, phrase: Phrase, worth: float) -> Iterator[Name]:
    tries, courtesy = 0, ""
    for row, column, cell in lines_below(sheet, phrase.row, phrase.box):
        key = lexicon.fold(cell.text)
        courtesy = courtesy or (f"{cell.text} " if key in _COURTESIES else "")
        if lexicon.SHIP.fullmatch(key) or lexicon.BUYER.fullmatch(key) or tries == 2:
            return
        beside = row.cells[column + 1] if column + 1 < len(row.cells) else None
        if _NAME_LABEL.fullmatch(key) and beside:
            yield named(beside, 0, worth)
            return
        if _OTHER_LABEL.match(cell.text) and not cell.text.lower().startswith(("name", "nama")):
            continue
        if is_name(cell.text):
            company = 0.3 if tries and lexicon.COMPANY.search(cell.text) else 0.0
            name = named(cell, 0, worth - 0.2 * tries + company)
            yield replace(name, text=(courtesy if not tries else "") + name.text)
            tries += 1


def _senders(sheet: Sheet) -> Iterator[tuple[Row, Cell]]:
    """Lines like `Firm · Street 1 · 12345 Town`: who sends, in one line, over an address."""
    for row in sheet.rows:
        if row.page > 1 or row.y > 0.45 * sheet.height(row.page):
            return
        for cell in row.cells:
            parts = parts_of(cell.text)
            placed = any(char.isdigit() for part in parts[1:] for char in part)
            enough = 3 <= len(parts) <= 6 and placed and len(cell.text) < 140
            if enough and not _CONTACT.search(cell.text) and is_name(parts[0]):
                yield row, cell


def _under_sender(sheet: Sheet, senders: list[tuple[Row, Cell]]) -> Iterator[Name]:
    """The first line of the address under a sender's line is the buyer."""
    for row, cell in senders:
        for _, _, below in lines_below(sheet, row, cell.box):
            if _CONTACT.search(below.text):
                break
            if abs(below.box.x0 - cell.box.x0) < 40 and is_name(below.text):
                yield Name(below.text, below, 0, 0.85)
                break


def _addressed(sheet: Sheet, blocks: list[Block]) -> Iterator[Name]:
    """Address blocks in the upper half that look like nobody's own letterhead."""
    for block in blocks:
        first = next((cell for cell in block.cells[:3] if is_name(cell.text)), None)
        if not first or first.page > 1 or first.box.y0 > 0.5 * sheet.height(1):
            continue
        if block.address and not block.ship:
            worth = 0.4 + 0.2 * (first.box.y0 / sheet.height(1)) - 0.15 * block.contact
            worth -= 0.25 if first.box.y0 < 0.1 * sheet.height(1) else 0.0
            yield named(first, 0, worth)


def _sellers(
    sheet: Sheet, phrases: list[Phrase], blocks: list[Block], senders: list[tuple[Row, Cell]]
) -> Iterator[Name]:
    known = domains(sheet)
    for _, cell in senders:
        yield named(cell, 0, 0.85)
    own = [*_labelled(sheet, phrases, lexicon.HOLDER, 0.6), *_holders(sheet)]
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
    more = COMPANY if lexicon.COMPANY.search(name.text) else 0.0
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
    if len(names) > 1 and lexicon.COMPANY.search(names[1].text):
        names = sorted(names[:2], key=lambda cell: not lexicon.COMPANY.search(cell.text))
    for order, cell in enumerate(names[:2]):
        less = 0.1 if lexicon.COMPANY.search(cell.text) or _again(sheet, cell) else 0.3
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
    for cell in row.cells:
        part = parts_of(cell.text)[0]
        several = len(parts_of(cell.text)) > 2 and _OWN.search(cell.text)
        columns = height > 0.88 and len(row.cells) > 1 and _OWN.search(row.text)
        imprint = 0.3 if edge and (several or columns) else 0.0
        if (
            is_name(part)
            and not _BANK.search(part)
            and (edge or lexicon.COMPANY.search(part))
            and len(part.split()) <= 7
        ):
            large = _size(sheet, cell) if edge else 0.0
            yield named(cell, 0, 0.05 + edge + imprint + large - 0.05 * (row.page > 1))


def _size(sheet: Sheet, cell: Cell) -> float:
    """What is set larger than the rest of the page is worth more."""
    usual = median(row.height for row in sheet.rows if row.cells)
    return LARGER if cell.box.height > 1.25 * usual else 0.0
