"""Who may have sent a sheet: letterheads, account holders, imprints and companies at its edges.

And who has paid, as a receipt says.
"""

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from docmill.invoices.reader import lexicon
from docmill.invoices.reader.domains import find_domains, is_known_by
from docmill.invoices.reader.names import (
    AddressBlock,
    PartyName,
    find_lines_below,
    find_row,
    is_name,
    is_place,
    is_prose,
    is_taxed,
    is_town,
    list_names,
    lists_services,
    make_name,
    split_parts,
)
from docmill.reading import dates, labels
from docmill.reading.labels import TextCell, TextRow, TextSheet, find_below, names_company

FORM: Final = 0.2
IMPRINT: Final = 0.45  # what a name is worth in a line at the edge that says who sends
ADDRESSED: Final = 0.25
LARGER: Final = 0.15
PAID: Final = 0.9
SIGNED: Final = 0.6
GREETED: Final = 0.2
ADDRESSEE: Final = 0.5  # of the page: how far down an address to write to stands
BANK: Final = lexicon.printed_pattern("bank", r"\b", r"\b")
_HOLDER: Final = lexicon.printed_pattern("holder", "", r"\s*:?\s+(?=\S)")
_RECEIVED: Final = lexicon.printed_pattern("received_from", "", r"\s*:?\s+(?=\S)")
CONTACT: Final = lexicon.printed_pattern("contact_word", r"\b", r"\b|@")
_SIGNED_FOR: Final = lexicon.printed_pattern("signed_for", "", r"\s*:?\s+(?=\S)")
_SIGNATORY: Final = lexicon.printed_pattern("signatory", r"\b", r"\b")
_BOUGHT_FROM: Final = lexicon.printed_pattern("bought_from", r"\b", r"\s+(?=[A-Z])")
_GREETED: Final = lexicon.printed_pattern("greeting", "", r"\s+(?=\S)")
_MADE_FOR: Final = lexicon.printed_pattern("made_for", "", r"\s+(?=\S)")
_OWN: Final = lexicon.printed_pattern("own")
_IMPRINT: Final = lexicon.printed_pattern("imprint")


def is_own(text: str) -> bool:
    """Whether a line tells what a sender prints beside its name."""
    return _OWN.search(text) is not None or _IMPRINT.search(text) is not None


def find_sellers(
    sheet: TextSheet, blocks: list[AddressBlock], labelled: list[PartyName]
) -> Iterator[PartyName]:
    """Who may have sent the sheet; `labelled` are those whose bank account a label names."""
    known = find_domains(sheet)
    companies = [name for row in sheet.rows for name in _company_names(sheet, row)]
    own = [*labelled, *_account_holders(sheet)]
    own += [name for name in companies if name.score >= IMPRINT]
    found = list(own)
    for block in blocks:
        found += _letterhead_names(sheet, block, {labels.squeeze(name.text) for name in own})
    found += [name for name in companies if name.score < IMPRINT]
    yield from (_weigh_name(name, known) for name in found)


def is_salesman(sheet: TextSheet, name: PartyName, blocks: list[AddressBlock]) -> bool:
    """Whether a label calls somebody seller who only served, under the letterhead of a firm.

    Of a firm that sells an address or a number follows.
    """
    row = find_row(sheet, name.cell)
    if row is None or names_company(name.text):
        return False
    before = [cell.text for cell in row.cells if cell.box.x1 <= name.cell.box.x0][-1:]
    label = name.cell.text[: name.start] or "".join(before)
    if not lexicon.SALESMAN.fullmatch(labels.squeeze(label)):
        return False
    if any(
        is_place(cell.text) or is_taxed(cell.text) for _, cell in find_below(sheet, row, name.box)
    ):
        return False
    top = name.cell.box.y0
    over = (block for block in blocks if block.cells[-1].box.y1 <= top and block.contact_weight)
    return any(is_name(block.cells[0].text) for block in over)


def _account_holders(sheet: TextSheet) -> Iterator[PartyName]:
    """Whose the bank account is, where a line says so without a colon."""
    for _, _, cell in sheet.cells:
        label = _HOLDER.match(cell.text)
        if label and is_name(cell.text[label.end() :]):
            yield make_name(cell, label.end(), 0.6)


def find_payers(sheet: TextSheet) -> Iterator[PartyName]:
    """Who has paid, where a receipt says so in a sentence: `Received with thanks from ..`."""
    for _, _, cell in sheet.cells:
        said = _RECEIVED.match(cell.text)
        if said and is_name(cell.text[said.end() :], given=True):
            yield make_name(cell, said.end(), PAID)


def find_signers(sheet: TextSheet) -> Iterator[PartyName]:
    """In whose name somebody signs: `For Delta Yard Ltd` over `Authorised signatory`."""
    for row, _, cell in sheet.cells:
        said = _SIGNED_FOR.match(cell.text)
        if not said or not is_name(cell.text[said.end() :]):
            continue
        near = (*sheet.rows[max(row.index - 3, 0) : row.index], *sheet.rows[row.index + 1 :][:4])
        if any(_SIGNATORY.search(other.text) for other in near):
            yield make_name(cell, said.end(), SIGNED)


def find_senders(sheet: TextSheet) -> Iterator[PartyName]:
    """Who sells, as a sentence says: `You get this because you purchased from Delta Yard, ..`."""
    for _, _, cell in sheet.cells:
        for said in _BOUGHT_FROM.finditer(cell.text):
            rest = re.split(r"[,.;]\s|\s\(", cell.text[said.end() :])[0].rstrip(".")
            if rest[:1].isupper() and is_name(rest) and not is_prose(rest):
                yield PartyName(rest, cell, said.end(), IMPRINT)


def find_greeted(sheet: TextSheet) -> Iterator[PartyName]:
    """Whom a letter greets by name."""
    for _, _, cell in sheet.cells:
        said = _GREETED.match(cell.text)
        if said and cell.page == 1:
            rest = cell.text[said.end() :].split(",")[0].rstrip(" !:")
            if rest[:1].isupper() and is_name(rest):
                yield PartyName(rest, cell, said.end(), GREETED)


def find_addressees(sheet: TextSheet) -> Iterator[PartyName]:
    """Whom a line without a colon says the paper is for, over where that is.

    `Invoice for Initech Corp` is, `Invoice for services` is not.
    """
    for row, _, cell in sheet.cells:
        said = _MADE_FOR.match(cell.text)
        if not said or cell.page > 1 or not is_name(cell.text[said.end() :], given=True):
            continue
        below = next((other.text for _, _, other in find_lines_below(sheet, row, cell.box)), "")
        parts = split_parts(cell.text[said.end() :])
        if is_town(below) or is_place(below) or any(map(is_place, parts[1:])):
            yield make_name(cell, said.end(), PAID)


def find_attended(sheet: TextSheet, blocks: list[AddressBlock]) -> Iterator[PartyName]:
    """The line over `Attention: somebody` is who gets the paper."""
    for block in blocks:
        for over, cell in pairwise(block.cells):
            upper = over.page == 1 and over.box.y1 < ADDRESSEE * sheet.height(1)
            attended = upper and lexicon.FOR_ATTENTION.match(cell.text)
            if attended and not block.is_delivery and is_name(over.text, given=True):
                yield make_name(over, 0, PAID)


def find_sender_lines(sheet: TextSheet) -> Iterator[tuple[TextRow, TextCell]]:
    """Lines like `Firm · Street 1 · 12345 Town`: who sends, in one line, over an address."""
    for row in sheet.rows:
        if row.page > 1 or row.y > 0.45 * sheet.height(row.page):
            return
        for cell in row.cells:
            parts = split_parts(cell.text)
            enough = 3 <= len(parts) <= 6 and len(cell.text) < 140
            if not enough or not any(map(str.isdigit, "".join(parts[1:]))):
                continue
            placed = is_town(cell.text) or not is_name(parts[0])
            if not placed and not CONTACT.search(cell.text):
                yield row, cell


def _weigh_name(name: PartyName, known: dict[str, float]) -> PartyName:
    more = FORM if names_company(name.text) else 0.0
    more += max(
        (worth for domain, worth in known.items() if is_known_by(name.text, domain)), default=0.0
    )
    return PartyName(name.text, name.cell, name.start, min(name.score + more, 1.1))


def _letterhead_names(sheet: TextSheet, block: AddressBlock, own: set[str]) -> Iterator[PartyName]:
    """A block with telephone, bank or tax number of its own is a letterhead or a footer.

    One without, on a page that names its owner in an imprint or as a bank's client, is hardly.
    """
    names = [cell for cell in list_names(block.cells) if not BANK.search(cell.text)]
    if not names or block.is_delivery or not (block.has_address or block.contact_weight):
        return
    height = names[0].box.y0 / sheet.height(names[0].page)
    worth = (
        0.15
        + 0.25 * block.contact_weight
        + (0.15 if block.has_address and block.contact_weight == 1 else 0.05)
    )
    worth += 0.3 if height < 0.12 else 0.05 if height > 0.85 else 0.0
    text = labels.squeeze(block.text)
    worth -= (
        ADDRESSED if own and not block.contact_weight and not any(n in text for n in own) else 0.0
    )
    if len(names) > 1 and names_company(names[1].text):
        names = sorted(names[:2], key=lambda cell: not names_company(cell.text))
    for order, cell in enumerate(names[:2]):
        less = 0.1 if names_company(cell.text) or _is_repeated(sheet, cell) else 0.3
        slogan = 0.2 if is_prose(cell.text) and len(names) > 1 else 0.0
        yield make_name(
            cell,
            0,
            worth - 0.1 * (cell.page > 1) - less * order - slogan + _size_bonus(sheet, cell),
        )


def _is_repeated(sheet: TextSheet, cell: TextCell) -> bool:
    """Whether other places carry this name too."""
    key = labels.squeeze(cell.text)
    return any(key in labels.squeeze(row.text) for row in sheet.rows if cell not in row.cells)


def _company_names(sheet: TextSheet, row: TextRow) -> Iterator[PartyName]:
    """Names anywhere, most of all at the top and the foot of a page."""
    height = row.y / sheet.height(row.page)
    edge = 0.25 if height < 0.12 else 0.15 if height > 0.88 else 0.0
    for column, cell in enumerate(row.cells):
        parts = split_parts(cell.text)
        part = parts[0]
        if (
            (edge or names_company(part))
            and len(part.split()) <= 7
            and is_name(part)
            and not is_town(cell.text)
            and not lists_services(cell.text)
            and not dates.find_dates(cell.text)
            and not BANK.search(part)
        ):
            several = edge and len(parts) > 2 and _OWN.search(cell.text)
            first = not column and len(row.cells) > 1
            columns = height > 0.88 and first and _OWN.search(row.text)
            imprint = 0.3 if several or columns else 0.0
            large = _size_bonus(sheet, cell) if edge else 0.0
            yield make_name(cell, 0, 0.05 + edge + imprint + large - 0.05 * (row.page > 1))


def _size_bonus(sheet: TextSheet, cell: TextCell) -> float:
    """What is set larger than the rest of the page is worth more."""
    return LARGER if cell.box.height > 1.25 * sheet.usual_height else 0.0
