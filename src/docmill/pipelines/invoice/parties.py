"""Seller and buyer: by label, by the sender's line over an address, by how companies are named."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Final

from docmill.pipelines.invoice import lexicon
from docmill.pipelines.invoice.blocks import Block, blocks_of
from docmill.pipelines.invoice.facts import AGAIN, Candidate, best
from docmill.pipelines.invoice.identities import address_of, tax_ids
from docmill.pipelines.invoice.labels import Phrase, Where, matching, spots
from docmill.pipelines.invoice.layout import Cell, Row, Sheet
from docmill.pipelines.invoice.model import Party, Value
from docmill.pipelines.invoice.names import Name, is_name, lines_below, named, parts_of
from docmill.pipelines.invoice.sellers import sellers_of
from docmill.reading.companies import COMPANY

LABELLED: Final = 0.85
MAX_PAGES: Final = 3  # beyond them nobody is named for the first time, but on the last
MENTIONED: Final = 0.1
_CONTACT: Final = re.compile(
    r"\b(?:tel|fon|phone|telefon|fax|e?-?mail|www|https?|iban|bic|ust|vat|npwp|siret|hrb)\b|@",
    re.IGNORECASE,
)
_NAME_LABEL: Final = re.compile(r"(?:name|nama|nom|nombre|company|firma|perusahaan|namaperusahaan)")
_COURTESIES: Final = frozenset({"herr", "herrn", "frau", "bapak", "ibu", "mr", "mrs", "mme"})
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
    sellers = [*sold_by, *(named(cell, 0, 0.85) for _, cell in senders)]
    sellers += sellers_of(sheet, blocks, [*_labelled(sheet, phrases, lexicon.HOLDER, 0.6)])
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
    if name is None or (lexicon.fold(name.value) in sure and COMPANY.search(name.value)):
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
            company = 0.3 if tries and COMPANY.search(cell.text) else 0.0
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
