"""The two parties: their names, with the addresses and tax numbers that stand near them."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Final

from docmill.invoices.reader import lexicon
from docmill.invoices.reader.addresses import find_address
from docmill.invoices.reader.candidates import AGAIN, HeaderCandidate, choose_best
from docmill.invoices.reader.model import Values, keep_found
from docmill.invoices.reader.name_kinds import is_employer, names_person
from docmill.invoices.reader.name_lines import join_name
from docmill.invoices.reader.names import (
    AddressBlock,
    PartyName,
    find_blocks,
    find_lines_below,
    find_row,
    has_street,
    heads_grid,
    is_name,
    is_place,
    is_placeholder,
    is_sample_name,
    list_names,
    make_name,
    split_parts,
)
from docmill.invoices.reader.ranking import NameSources, Weights, load_weights, rank_parties
from docmill.invoices.reader.sellers import (
    BANK,
    CONTACT,
    find_addressees,
    find_attended,
    find_greeted,
    find_payers,
    find_sellers,
    find_sender_lines,
    find_senders,
    find_signers,
    is_salesman,
)
from docmill.invoices.reader.tax_numbers import find_tax_ids
from docmill.reading import labels
from docmill.reading.labels import (
    COMPANY,
    Phrase,
    TextCell,
    TextRow,
    TextSheet,
    ValueSpot,
    Where,
    find_spots,
    match_labels,
    names_company,
)
from docmill.reading.pages import Box, Value

OVER: Final = 5  # lines: a name and its address
LABELLED: Final = 0.85
SHORT: Final = 4  # letters: labels like `to`, `an`, `til`
SUREST: Final = 0.99
PLAIN: Final = 0.02
UPPER: Final = 0.5  # of the page
MAX_PAGES: Final = 3  # beyond them nobody is named for the first time, but on the last
MENTIONED: Final = 0.1
OWNED: Final = 0.9
BANK_ROWS: Final = 3
BANK_LINES: Final = 5.5  # of the height: as far apart as they may stand
_ACCOUNT: Final = re.compile(r"\b(?:IBAN|BIC|SWIFT|CLABE|CBU|CCI)\b", re.IGNORECASE)
_JOB: Final = lexicon.printed_pattern("job", r"(?:\w+ )?", r"(?: \w+)?")
_NAME_LABEL: Final = re.compile(lexicon.printed_words("name_label").replace(" ", ""))
_COURTESIES: Final = lexicon.COURTESIES
_UNKNOWN_LABEL: Final = re.compile(r"[^\W\d][^:]{1,30}?\s?:\s+|\s*:\s*")
_OTHER_LABEL: Final = re.compile(r"[^:]{2,30}\s?:(?:\s|$)")
CENTRED: Final = 0.12  # of the page's width: how far from its middle a heading's may be, twice


def find_parties(sheet: TextSheet, phrases: list[Phrase], skipped: frozenset[int]) -> Values:
    """Seller and buyer; in the rows of the table nobody is looked for."""
    sources = collect_names(sheet, phrases, skipped)
    seller, buyer = choose_parties(sources)
    ids = find_tax_ids(sheet, phrases, seller=seller, buyer=buyer)
    return keep_found(
        {
            "seller.name": seller,
            "seller.tax_id": ids[0],
            "seller.address": find_address(sources.sheet, seller),
            "buyer.name": buyer,
            "buyer.tax_id": ids[1],
            "buyer.address": find_address(sources.sheet, buyer),
        }
    )


def collect_names(sheet: TextSheet, phrases: list[Phrase], skipped: frozenset[int]) -> NameSources:
    """Every name that a rule finds, with what the rule says of it."""
    sheet = _leave_out(sheet, skipped)
    blocks = find_blocks(sheet)
    senders = list(find_sender_lines(sheet))
    lower = max(skipped, default=len(sheet.rows))
    sold_by, billed = _names_by_label(sheet, phrases, lower)
    sold_by = [name for name in sold_by if not is_salesman(sheet, name, blocks)]
    owners = [*_labelled_names(sheet, phrases, lexicon.OWNER, OWNED)]
    banked = [name for name in owners if _is_by_bank(sheet, name)]
    billed += [name for name in owners if name not in banked]
    billed += [*find_payers(sheet), *find_addressees(sheet)]
    billed += [] if billed or sold_by else list(find_attended(sheet, blocks))
    holders = [*_labelled_names(sheet, phrases, lexicon.HOLDER, 0.6), *banked]
    buyers = [*billed, *_names_under_sender(sheet, senders), *_addressed_names(sheet, blocks)]
    sellers = [*sold_by, *(make_name(cell, 0, 0.85) for _, cell in senders)]
    others = [*find_sellers(sheet, blocks, holders), *_plain_names(sheet, lower)]
    others += [*find_signers(sheet), *find_senders(sheet)]
    others = [name for name in others if not _is_signatory(sheet, name)]
    sellers += _drop_parties_of_goods(others, blocks) if billed else others
    found = {labels.squeeze(name.text) for name in (*sellers, *buyers)}
    greeted = find_greeted(sheet)
    buyers += [name for name in greeted if labels.squeeze(name.text) not in found]
    sellers = _add_support(sheet, [join_name(sheet, name) for name in sellers])
    return NameSources(
        sheet,
        blocks,
        sellers,
        [join_name(sheet, name) for name in buyers],
        sold_by=_keys(sheet, sold_by),
        billed_to=_keys(sheet, billed),
        holders=_keys(sheet, holders),
        **_find_slips(sheet, phrases, lower),
    )


def _leave_out(sheet: TextSheet, skipped: frozenset[int]) -> TextSheet:
    """The first pages and the last, without the cells of some rows."""
    near = {*range(1, MAX_PAGES + 1), len(sheet.sizes)}
    rows = (
        row if row.page in near and row.index not in skipped else replace(row, cells=())
        for row in sheet.rows
    )
    return replace(sheet, rows=tuple(rows))


def _names_by_label(
    sheet: TextSheet, phrases: list[Phrase], lower: int
) -> tuple[list[PartyName], list[PartyName]]:
    """Names under labels of sellers and of buyers.

    Where somebody is billed by a plain label, sender and recipient are those of the goods.
    """
    above = _labels_above(phrases, lower)
    of_goods = [phrase for phrase in above if phrase.first and _is_of_goods(phrase)]
    if len({phrase.cell.box.x0 for phrase in of_goods}) > 1:
        others = [phrase for phrase in phrases if not _is_of_goods(phrase)]
        billing = _labels_above(others, lower)
        if billed := [*_labelled_names(sheet, billing, lexicon.BUYER, 1.0)]:
            return [*_labelled_names(sheet, others, lexicon.SELLER, 1.0)], billed
    billed = [*_labelled_names(sheet, above, lexicon.BUYER, 1.0)]
    return [*_labelled_names(sheet, phrases, lexicon.SELLER, 1.0)], billed


def _is_by_bank(sheet: TextSheet, name: PartyName) -> bool:
    """Whether a name stands among what says where to pay."""
    row = find_row(sheet, name.cell)
    at = row.index if row else 0
    near = sheet.rows[max(at - BANK_ROWS, 0) : at + BANK_ROWS + 1]
    close = (
        other for other in near if abs(other.y - name.cell.box.middle) < BANK_LINES * other.height
    )
    return any(BANK.search(other.text) or _ACCOUNT.search(other.text) for other in close)


def _drop_parties_of_goods(names: list[PartyName], blocks: list[AddressBlock]) -> list[PartyName]:
    """Names but for those that a label calls who sends or gets goods."""
    cells = {id(cell) for block in blocks if block.is_of_goods for cell in block.cells}
    return [name for name in names if id(name.cell) not in cells]


def _is_signatory(sheet: TextSheet, name: PartyName) -> bool:
    """Whether the line under a name says which office its bearer holds."""
    row = find_row(sheet, name.cell)
    below = find_lines_below(sheet, row, name.cell.box) if row else iter(())
    first = next((cell.text for _, _, cell in below), "")
    return not names_company(name.text) and bool(_JOB.fullmatch(first.strip()))


def _is_of_goods(phrase: Phrase) -> bool:
    """Whether a label, in any of its languages, may be that of who sends or gets goods."""
    texts = (phrase.key, *map(labels.squeeze, phrase.cell.text.split("/")))
    return any(lexicon.GOODS_PARTY.fullmatch(text) for text in texts)


def _find_slips(sheet: TextSheet, phrases: list[Phrase], lower: int) -> dict[str, frozenset[str]]:
    """Who pays and who is paid on a slip under the table: there `to` is who gets the money."""
    below = [phrase for phrase in phrases if phrase.row.index > lower]
    short = [phrase for phrase in below if len(phrase.key) < SHORT]
    longer = [phrase for phrase in below if len(phrase.key) >= SHORT]
    named = {
        "paying": _labelled_names(sheet, longer, lexicon.BUYER, 1.0),
        "paid": _labelled_names(sheet, short, lexicon.BUYER, 1.0),
    }
    return {name: _keys(sheet, list(names)) for name, names in named.items()}


def _plain_names(sheet: TextSheet, lower: int) -> Iterator[PartyName]:
    """Whatever can be a name over the table of the first page, or in the upper half."""
    for row, _, cell in sheet.cells:
        upper = row.y < UPPER * sheet.height(1)
        if cell.page != 1 or not upper or row.index > lower:
            continue
        if is_name(cell.text):
            yield make_name(cell, 0, PLAIN)
        elif (said := _UNKNOWN_LABEL.match(cell.text)) and is_name(cell.text[said.end() :]):
            yield make_name(cell, said.end(), PLAIN)


def _keys(sheet: TextSheet, names: list[PartyName]) -> frozenset[str]:
    """Names under a label as they are compared; of several under one only the best."""
    best = max((name.score for name in names), default=0.0)
    near = [name for name in names if name.score > best - 0.1]
    return frozenset(labels.squeeze(join_name(sheet, name).text) for name in near)


def choose_parties(
    sources: NameSources, weights: Weights | None = None
) -> tuple[Value | None, Value | None]:
    """Seller and buyer as the fitted weights rank the names that the rules have found."""
    pair = rank_parties(sources, weights or load_weights())
    return _make_value(pair.seller, pair.seller_share), _make_value(pair.buyer, pair.buyer_share)


def _make_value(name: PartyName | None, share: float) -> Value | None:
    if name is None:
        return None
    text = " ".join(name.text.split())
    return Value(text, round(min(share, SUREST), 2), name.cell.page, name.box, name.text)


def choose_by_rules(sources: NameSources) -> tuple[Value | None, Value | None]:
    """Seller and buyer by the rules alone."""
    buyers = [name for name in sources.buyers if labels.squeeze(name.text) not in sources.sold_by]
    seller, buyer = _choose_pair(list(sources.sellers), buyers)
    labelled = set(sources.sold_by | sources.billed_to)
    return _temper(seller, labelled), _temper(buyer, labelled)


def _labels_above(phrases: list[Phrase], lower: int) -> list[Phrase]:
    """Labels over the end of the table: under it `an` is who is paid, not who pays."""
    return [phrase for phrase in phrases if phrase.row.index <= lower or len(phrase.key) > 9]


def _temper(name: Value | None, sure: set[str]) -> Value | None:
    """A name, less sure where no label says whose it is or nothing says it is a company's."""
    if name is None or (labels.squeeze(name.value) in sure and COMPANY.search(name.value)):
        return name
    return name.sure(min(name.confidence, 0.85))


def _choose_pair(
    sellers: list[PartyName], buyers: list[PartyName]
) -> tuple[Value | None, Value | None]:
    """The two different names that are best supported together."""
    tops = sorted(_score_names(sellers).items(), key=lambda pair: -pair[1])[:6]
    others = [*sorted(_score_names(buyers).items(), key=lambda pair: -pair[1])[:6], ("", 0.3)]
    if others[0][1] >= LABELLED:
        others = others[:1]
    pairs = [
        (worth + other, own, theirs)
        for own, worth in tops
        for theirs, other in others
        if own != theirs
    ]
    if not pairs:
        return None, choose_best(_name_candidates(buyers), 0.15)
    _, own, theirs = max(pairs)
    seller = choose_best(
        _name_candidates(name for name in sellers if labels.squeeze(name.text) != theirs), 0.1
    )
    buyer = choose_best(
        _name_candidates(name for name in buyers if labels.squeeze(name.text) != own), -0.1
    )
    return seller, buyer


def _score_names(names: Iterable[PartyName]) -> dict[str, float]:
    found: dict[str, list[float]] = {}
    for name in names:
        found.setdefault(labels.squeeze(name.text), []).append(name.score)
    return {key: max(worth) + AGAIN * min(len(worth) - 1, 3) for key, worth in found.items()}


def _add_support(sheet: TextSheet, names: list[PartyName]) -> list[PartyName]:
    """Names, better where other cells carry them too and it is not half of a longer name."""
    texts = [labels.squeeze(cell.text) for _, _, cell in sheet.cells]
    keys = {labels.squeeze(name.text) for name in names}
    whole = {key for key in keys if not any(key != other and key in other for other in keys)}
    counts = {
        key: sum([key in text and key != text for text in texts]) for key in whole if len(key) > 4
    }
    return [
        replace(
            name, score=name.score + MENTIONED * min(counts.get(labels.squeeze(name.text), 0), 3)
        )
        for name in names
    ]


def _name_candidates(names: Iterable[PartyName]) -> Iterator[HeaderCandidate]:
    for name in names:
        text = " ".join(name.text.split())
        yield HeaderCandidate(text, name.score, name.cell.page, name.box, name.text)


def _labelled_names(
    sheet: TextSheet, phrases: list[Phrase], pattern: re.Pattern[str], weight: float
) -> Iterator[PartyName]:
    for phrase in match_labels(phrases, pattern):
        short = len(phrase.key) < 5
        colon = phrase.cell.text[phrase.end - 1] == ":"
        closed = phrase.is_closed or phrase.is_translated
        titled = lexicon.NUMBER_TITLE.fullmatch(phrase.key)
        if not phrase.first or titled or (short and not closed) or not (colon or closed):
            continue
        if not colon and _is_over_place(sheet, phrase):
            continue
        worth = weight - 0.05 * (phrase.cell.page - 1) - (0.25 if short else 0.0)
        yield from _names_behind(sheet, phrase, worth)


def _is_over_place(sheet: TextSheet, phrase: Phrase) -> bool:
    """Whether what looks like a label is a name left open, with a street right under it."""
    below = next(find_lines_below(sheet, phrase.row, phrase.cell.box), None)
    return is_placeholder(phrase.cell.text) and below is not None and is_place(below[2].text)


def _names_behind(sheet: TextSheet, phrase: Phrase, worth: float) -> Iterator[PartyName]:
    """The name behind or beside a label, else in the lines below it; rather a company's name."""
    for spot in find_spots(sheet, phrase):
        near = spot.cell.box.x0 - phrase.box.x1 < 150 or _is_in_column(sheet, phrase, spot.cell)
        if spot.where > Where.BESIDE or (spot.where is Where.BESIDE and not near):
            break
        colon = ":" in (phrase.cell.text[phrase.end - 1], *_signs_before(phrase, spot))
        if _is_named(spot.text, given=colon) and not _OTHER_LABEL.match(spot.text):
            away = 0.2 if spot.where is Where.BESIDE and not colon else 0.0
            away = 0.0 if away and heads_grid(sheet, phrase, spot.cell) else away
            yield make_name(spot.cell, spot.start, worth - away)
            if not away:
                yield from _employer_below(sheet, spot, worth)
                return
            if _is_value(sheet, phrase, spot.cell):
                return
    yield from _names_below(sheet, phrase, worth)


def _is_named(text: str, *, given: bool) -> bool:
    """Whether a text is a name, or begins with one over which a street and a town follow."""
    parts = split_parts(text)
    return is_name(parts[0] if len(parts) > 2 and is_place(parts[1]) else text, given=given)


def _employer_below(sheet: TextSheet, spot: ValueSpot, worth: float) -> Iterator[PartyName]:
    """The firm of a person behind or beside a label, over an address."""
    row = find_row(sheet, spot.cell)
    if not row or not names_person(spot.text):
        return
    below = [cell for _, _, cell in find_lines_below(sheet, row, spot.cell.box)][:2]
    placed = len(below) == 2 and is_place(below[1].text) and not is_place(below[0].text)
    if placed and is_name(below[0].text) and is_employer(below[0].text):
        yield make_name(below[0], 0, worth + 0.15)


def _is_value(sheet: TextSheet, phrase: Phrase, value: TextCell) -> bool:
    """Whether what stands beside a label goes on under itself, and nothing under the label."""
    row = next((row for row in sheet.rows[phrase.row.index + 1 :] if row.cells), None)
    if row is None or row.page != value.page or row.y - phrase.box.middle > 2 * value.box.height:
        return False
    return row.cells[0].box.x0 > phrase.box.x1 and abs(row.cells[0].box.x0 - value.box.x0) < 8


def _is_in_column(sheet: TextSheet, phrase: Phrase, value: TextCell) -> bool:
    """Whether a label and its value are a row of a table of two columns, as those around it."""
    at = phrase.row.index
    around = (*sheet.rows[max(at - 1, 0) : at], *sheet.rows[at + 1 : at + 2])
    both = (phrase.cell, value)
    return len(phrase.row.cells) == 2 and all(
        row.page == value.page
        and len(row.cells) == 2
        and all(abs(a.box.x0 - b.box.x0) < 2 for a, b in zip(row.cells, both, strict=True))
        for row in around
    )


def _signs_before(phrase: Phrase, spot: ValueSpot) -> Iterator[str]:
    """What the cells behind a label begin with, up to its value."""
    for cell in phrase.row.cells[phrase.column + 1 :]:
        if cell.box.x0 > spot.cell.box.x0:
            return
        yield cell.text[0]


def _reach_of(sheet: TextSheet, phrase: Phrase) -> Box:
    """How wide the lines under a label may stand.

    One in the middle of its row heads all of it, where lines with a label for the name follow.
    """
    box, width = phrase.box, sheet.width(phrase.cell.page)
    middle = abs(box.x0 + box.x1 - width) < CENTRED * width and box.x0 > CENTRED * width
    after = sheet.rows[phrase.row.index + 1 : phrase.row.index + 3]
    named = any(lexicon.NAME_COLON.match(cell.text) for row in after for cell in row.cells)
    if not (middle and named) or len(phrase.row.cells) > 1:
        return box
    return Box(0.0, box.y0, width, box.y1)


def _names_below(sheet: TextSheet, phrase: Phrase, worth: float) -> Iterator[PartyName]:
    tries, courtesy, streets = 0, "", False
    formed = person = False
    below = list(find_lines_below(sheet, phrase.row, _reach_of(sheet, phrase)))
    for at, (row, column, cell) in enumerate(below):
        key = labels.squeeze(cell.text)
        courtesy = courtesy or (f"{cell.text} " if key in _COURTESIES else "")
        first = not at and _is_over_address(below)
        given = first or bool(lexicon.NAME_COLON.match(cell.text))
        ends = not (given and is_placeholder(cell.text))
        if (ends and key in lexicon.ENDS_PARTY) or tries == 2:
            return
        beside = row.cells[column + 1] if column + 1 < len(row.cells) else None
        placed = first and is_place(below[1][2].text)  # `Nazwa Firmy` over a street is a name
        if not placed and _NAME_LABEL.fullmatch(key):
            if beside and is_name(beside.text):
                yield make_name(beside, 0, worth)
                return
            continue
        if _OTHER_LABEL.match(cell.text) and not lexicon.NAME_COLON.match(cell.text):
            if attention := lexicon.ATTENTION.match(cell.text):
                yield make_name(cell, attention.end(), worth - 0.25)
            continue
        form = bool(COMPANY.search(cell.text))
        streets = streets or (is_place(cell.text) and not given)
        bank = tries > 0 and BANK.search(cell.text)
        if (
            (is_name(cell.text, given=given) or (first and is_sample_name(cell.text)))
            and not (streets and not form and not given)
            and not bank
        ):
            employer = tries and person and is_employer(cell.text)
            company = 0.3 if tries and (form or employer) and not formed and not streets else 0.0
            formed = formed or form
            person = person or names_person(cell.text)
            name = make_name(cell, 0, worth - 0.2 * tries + company)
            yield replace(name, text=(courtesy if not tries else "") + name.text)
            tries += 1


def _is_over_address(below: list[tuple[TextRow, int, TextCell]]) -> bool:
    """Whether a street and a town follow the first line, which then is a name whatever it ends in.

    `Residents of Harbour Road 12` is somebody.
    """
    texts = [cell.text for _, _, cell in below[:OVER]]
    figures = sum(any(map(str.isdigit, text)) for text in texts[1:])
    return figures > 1 and any(map(is_place, texts[1:])) and not has_street(texts[0])


def _names_under_sender(
    sheet: TextSheet, senders: list[tuple[TextRow, TextCell]]
) -> Iterator[PartyName]:
    """The first line of the address under a sender's line is the buyer.

    A line that ends another address is the rest of the sender's.
    """
    towns = tuple(labels.squeeze(cell.text) for _, _, cell in sheet.cells if is_place(cell.text))
    for row, cell in senders:
        for _, _, below in find_lines_below(sheet, row, cell.box):
            if CONTACT.search(below.text):
                break
            key = labels.squeeze(below.text)
            if any(town.endswith(key) and town != key for town in towns):
                continue
            if abs(below.box.x0 - cell.box.x0) < 40 and is_name(below.text):
                yield PartyName(below.text, below, 0, 0.85)
                break


def _addressed_names(sheet: TextSheet, blocks: list[AddressBlock]) -> Iterator[PartyName]:
    """Address blocks in the upper half that look like nobody's own letterhead."""
    for block in blocks:
        first = next(iter(list_names(block.cells)), None)
        if is_sample_name(block.cells[0].text) and all(is_place(c.text) for c in block.cells[1:3]):
            first = block.cells[0]
        if not first or first.page > 1 or first.box.y0 > 0.5 * sheet.height(1):
            continue
        if block.has_address and not block.is_delivery:
            worth = 0.4 + 0.2 * (first.box.y0 / sheet.height(1)) - 0.15 * block.contact_weight
            worth -= 0.25 if first.box.y0 < 0.1 * sheet.height(1) else 0.0
            yield make_name(first, 0, worth)
