"""Rows that say buy or sell, and the blocks of rows each of them opens."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from docmill.reading.labels import fold
from docmill.trades.reader import facts, lexicon
from docmill.trades.reader.deals import ZERO, Deal, find_deal
from docmill.trades.reader.figures import FigureIndex
from docmill.trades.reader.rows import NoteRow

Direction = Literal["buy", "sell"]
_GLUED: Final = re.compile(r"(?<=[a-zà-ÿ])(?=[A-ZÀ-Þ][a-zà-ÿ]{2})")  # `Market-OrderKauf`
PROSE: Final = 13  # words of letters: more are a sentence, not a title or a table's row
SHORT: Final = 6
HEAD: Final = 4
TITLE: Final = 6
LONG_TITLE: Final = 9  # words that a title about costs or a company's action may have
RATIO: Final = 2  # numbers: of a split


@dataclass(frozen=True, slots=True)
class Anchor:
    """A row that names a direction, and how surely: 1 in a title, less further in."""

    row: NoteRow
    direction: Direction
    weight: float
    start: int


def find_anchors(rows: Sequence[NoteRow]) -> list[Anchor]:
    """All rows that say buy or sell, from top to bottom."""
    return [anchor for row in rows if (anchor := find_anchor(row))]


def find_anchor(row: NoteRow) -> Anchor | None:
    text = lexicon.NOT_DIRECTION.sub(" ", _drop_torn_words(row))
    buy, sell = lexicon.BUY.search(text), lexicon.SELL.search(text)
    if not buy and not sell and _may_be_glued(row):
        text = lexicon.NOT_DIRECTION.sub(" ", fold(_GLUED.sub(" ", row.text)))
        buy, sell = lexicon.BUY.search(text), lexicon.SELL.search(text)
    if not buy and not sell:
        return _find_hidden_anchor(row, text)
    if buy and sell:
        first = min(buy, sell, key=lambda match: match.start())
        if not _is_table_row(row) or abs(buy.start() - sell.start()) < 12:
            return None
        match = first
    else:
        match = buy or sell
    assert match is not None
    weight = _anchor_weight(row, text, match.start(), match.group())
    return Anchor(row, "buy" if match is buy else "sell", weight, match.start()) if weight else None


def _may_be_glued(row: NoteRow) -> bool:
    """Whether words of a sentence may be printed without a blank; a short one is rather a name."""
    long = row.word_count > SHORT or bool(row.days or row.numbers)
    return long and bool(_GLUED.search(row.text))


def _find_hidden_anchor(row: NoteRow, text: str) -> Anchor | None:
    """A direction in letters set apart, as a code behind a label, or in words for rights."""
    squeezed = row.plain.replace(" ", "")
    if lexicon.TORN_SELL.search(squeezed):
        return Anchor(row, "sell", 0.9, 0)
    if lexicon.TORN_BUY.search(squeezed):
        return Anchor(row, "buy", 0.9, 0)
    if row.word_count <= PROSE and (code := _find_code(row)):
        return Anchor(row, "buy" if code in lexicon.BUY_CODES else "sell", 0.9, 0)
    rights = lexicon.RIGHTS.match(text)
    return Anchor(row, "buy", 0.8, 0) if rights and row.word_count <= PROSE else None


def _find_code(row: NoteRow) -> str:
    """A code for a direction right behind the label for it. Further in, a label of one word says
    too little for a single letter: `Account type S`."""
    for side in lexicon.ANY_SIDE.finditer(row.plain):
        code = next(iter(row.plain[side.end() :].split()), "").upper()
        if side.start() and " " not in side[0] and len(code) == 1:
            continue
        printed = any(word.text.strip(":.") == code for word in row.words)
        if printed and code in lexicon.BUY_CODES | lexicon.SELL_CODES:
            return code
    return ""


def _drop_torn_words(row: NoteRow) -> str:
    """A row's text without the words that go on below, as those in heads of tables do."""
    ends = ("-",) if row.numbers else ("-", "-/")  # the second in heads only: `Rücknahme-/ Wert`
    kept = [word.text for word in row.words if not word.text.endswith(ends)]
    return row.plain if len(kept) == len(row.words) else fold(" ".join(kept))


def _is_table_row(row: NoteRow) -> bool:
    return len(row.numbers) > 1 or bool(row.days)


def _anchor_weight(row: NoteRow, text: str, start: int, word: str) -> float:
    before = text[:start].count(" ")
    mild = bool(lexicon.MILD.fullmatch(word))
    if mild and before > 1 and row.word_count > SHORT:
        return 0.0
    if row.word_count > PROSE and not _is_table_row(row):
        return 0.9 if lexicon.STATEMENT_VERB.search(text) and not mild else 0.0
    if row.word_count <= SHORT or before < HEAD:
        return 0.6 if mild else 1.0
    return 0.3 if mild else 0.7


def find_title_kind(row: NoteRow) -> str:
    """The kind of document that a title names; the empty string where it names none."""
    if row.word_count > LONG_TITLE or row.text.endswith(".") or facts.ISIN.search(row.text):
        return ""
    if lexicon.SECURITY.match(row.text) and row.word_count > 2:  # `Fund: Dividend Select`
        return ""
    kinds = (kind for kind, pattern in lexicon.DOCUMENT_KINDS if pattern.search(row.plain))
    kind = next(kinds, "")
    if kind == "corporate":  # `Split 3:1`
        return kind if len(row.numbers) <= RATIO else ""
    if kind == "statement" and row.text.endswith(":"):  # `Please note about statements:`
        return ""
    short = row.word_count <= (LONG_TITLE if kind == "order" else TITLE)
    amounts = [n for n in row.numbers if not row.text[n.start : n.end].isdigit()]
    if kind == "cancellation":  # `Storno der Abrechnung 4711`
        return kind if short and not amounts else ""
    return kind if short and not row.numbers else ""


LEAST = 4.0
SURE = 6.0
IN_ROW = 3.0
REACH = 8
HOLDING_WORDS = 9
CLOSE = 4
CLOSE_TO_TITLE = 8  # rows: a product without labels, under a title that says what it is
MILDEST = 0.6
TOLD = 0.9
SIGNED = 0.7


@dataclass(frozen=True, slots=True)
class TradeBlock:
    """The rows of one trade, what opened it, and the numbers found in it."""

    anchor: Anchor
    first: int
    last: int
    deal: Deal = field(default_factory=Deal)
    head: int | None = None  # the row that names the security, where it stands above a table

    def rows(self, rows: Sequence[NoteRow]) -> Sequence[NoteRow]:
        return rows[self.first : self.last + 1]


def find_trade_blocks(rows: Sequence[NoteRow], figures: FigureIndex) -> list[TradeBlock]:
    """Every block that holds a whole trade."""
    lots = find_lots(rows)
    anchors = [a for a in find_anchors(rows) if a.weight >= 0.3 and a.row.index not in lots]
    found: list[TradeBlock] = []
    pending: Anchor | None = None
    for at, anchor in enumerate(anchors):
        last = anchors[at + 1].row.index - 1 if at + 1 < len(anchors) else len(rows) - 1
        last = _find_last_row(rows, anchor.row.index, last)
        last = next((at - 1 for at in range(anchor.row.index, last + 1) if at in lots), last)
        split = _split_by_row(anchor, rows, figures, last)
        if split:
            found += split
            continue
        deal = _find_block_deal(anchor, figures, last)
        if _is_whole_trade(deal, anchor):
            opened = pending if pending and _continues(pending, anchor) else anchor
            found.append(TradeBlock(opened, opened.row.index, last, deal))
            pending = None
        elif not (pending and _continues(pending, anchor)):
            pending = anchor
    return _drop_repeats(found)


def find_lots(rows: Sequence[NoteRow]) -> set[int]:
    """Rows that list the purchases which a sale uses up: from a heading that says so, or one about
    taxes below a trade, to the next title of a trade or another security."""
    found: set[int] = set()
    within = told = False
    known: set[str] = set()
    for row in rows:
        short = row.word_count < HOLDING_WORDS and not row.numbers
        codes = {match[1] for match in facts.ISIN.finditer(row.text)}
        anchor = find_anchor(row) if short else None
        titled = anchor is not None and anchor.weight >= TOLD
        if short and _opens_lots(row, told=told and bool(known)):
            within = True
        elif within and (titled or codes - known):
            within = False
        told = told or titled
        known |= codes
        if within:
            found.add(row.index)
    return found


def _opens_lots(row: NoteRow, *, told: bool) -> bool:
    return bool(lexicon.LOTS.search(row.plain) or (told and lexicon.APPENDIX.search(row.plain)))


def find_signed_rows(rows: Sequence[NoteRow], figures: FigureIndex) -> list[TradeBlock]:
    """Rows of a list of trades without words for buy and sell: the signs tell."""
    found: list[TradeBlock] = []
    for row in rows:
        if not row.days or len(row.numbers) < 3 or not facts.ISIN.search(row.text):
            continue
        deal = find_deal(figures.within(row.index, row.index))
        if deal.fit not in {"product", "exchange"} or not (deal.quantity and deal.notional):
            continue
        out, paid = deal.quantity.number.value < 0, deal.notional.number.value < 0
        if out != paid:
            found.append(
                TradeBlock(
                    Anchor(row, "sell" if out else "buy", SIGNED, 0), row.index, row.index, deal
                )
            )
    return found


def _find_block_deal(anchor: Anchor, figures: FigureIndex, last: int) -> Deal:
    """The best deal of a block; one that stands in the opening row alone comes first."""
    first = anchor.row.index
    alone = find_deal(figures.within(first, first))
    if alone.fit == "product" and alone.score >= LEAST:
        return alone
    return find_deal(figures.within(first, last))


def _continues(one: Anchor, other: Anchor) -> bool:
    """Whether two rows open the same trade: its title, and its first line."""
    return one.direction == other.direction and other.row.index - one.row.index <= REACH


def _find_last_row(rows: Sequence[NoteRow], first: int, last: int) -> int:
    """The last row before a list of what is held, or another kind of event, begins."""
    for index in range(first + 1, last + 1):
        row = rows[index]
        if opens_holdings(row) or find_title_kind(row) == "dividend":
            return index - 1
    return last


def opens_holdings(row: NoteRow) -> bool:
    """Whether a list of what is held begins; `Market value 329.36` is a label with its amount."""
    if row.word_count >= HOLDING_WORDS:
        return False
    if lexicon.VALUED.search(row.plain):
        return not row.numbers
    return bool(lexicon.HOLDINGS.search(row.plain))


def find_held(rows: Sequence[NoteRow]) -> set[int]:
    """Rows from a heading of what is held to the next that says buy or sell."""
    found: set[int] = set()
    within = False
    for row in rows:
        if not row.numbers and opens_holdings(row):
            within = True
        elif within and (anchor := find_anchor(row)) and anchor.weight >= TOLD:
            within = False
        if within:
            found.add(row.index)
    return found


def _is_whole_trade(deal: Deal, anchor: Anchor) -> bool:
    if not deal.complete or deal.quantity is None:
        return False
    figures = [f for f in (deal.quantity, deal.price, deal.notional) if f]
    if all(f.row.index == anchor.row.index for f in figures) and deal.fit:
        return deal.score >= IN_ROW
    if not any(f.roles for f in figures):
        reach = CLOSE_TO_TITLE if anchor.weight >= TOLD else CLOSE
        near = max(f.row.index for f in figures) - anchor.row.index <= reach
        near = near and (anchor.weight > MILDEST or _is_record(deal))
        return near and deal.fit == "product" and deal.score >= LEAST
    if deal.fit:
        return deal.score >= LEAST
    return deal.score >= SURE or (
        deal.price is not None and deal.notional is not None and deal.score >= LEAST
    )


def _is_income(row: NoteRow) -> bool:
    """Whether a row tells of an income or a balance, and not of a trade."""
    return bool(lexicon.NO_TRADE_ROW.search(row.plain)) and find_anchor(row) is None


def _is_record(deal: Deal) -> bool:
    """Whether all numbers stand in one row, with a day or an ISIN: a record of a table."""
    rows = {f.row.index: f.row for f in (deal.quantity, deal.price, deal.notional) if f}
    row = next(iter(rows.values()))
    return len(rows) == 1 and bool(row.days or facts.ISIN.search(row.text))


def _split_by_row(
    anchor: Anchor, rows: Sequence[NoteRow], figures: FigureIndex, last: int
) -> list[TradeBlock]:
    """Several trades under one title: rows with a date, each a whole trade by itself."""
    found: list[TradeBlock] = []
    for index in range(anchor.row.index, last + 1):
        row = rows[index]
        if not row.days or len(row.numbers) < 3 or _is_income(row):
            continue
        deal = find_deal(figures.within(index, index))
        if deal.fit in {"product", "exchange", "net"} and deal.score >= LEAST:
            found.append(TradeBlock(anchor, index, index, deal))
    if len(found) < 2 or _is_one_rate(found) or are_parts(rows, found):
        return []
    ends = [block.first - 1 for block in found[1:]] + [last]
    return [
        TradeBlock(block.anchor, block.first, max(block.first, end), block.deal)
        for block, end in zip(found, ends, strict=True)
    ]


def are_parts(rows: Sequence[NoteRow], blocks: Sequence[TradeBlock]) -> bool:
    """Whether the records are one trade done in parts: same day, no ISIN, and a sum is printed."""
    days = {day.day for block in blocks for day in rows[block.first].days[:1]}
    named = any(facts.ISIN.search(rows[block.first].text) for block in blocks)
    if named or len(days) > 1 or len({block.anchor.direction for block in blocks}) > 1:
        return False
    total = sum((block.deal.quantity_value for block in blocks), ZERO)
    inside = {block.first for block in blocks}
    return any(
        abs(value) == total
        for row in rows
        if row.index not in inside
        for number in row.numbers
        for value in number.readings
    )


def _is_one_rate(blocks: Sequence[TradeBlock]) -> bool:
    """Whether what was taken for a quantity is one rate in all rows."""
    values = {block.deal.quantity_value for block in blocks}
    return len(values) == 1 and values != {values.copy().pop().to_integral_value()}


def _drop_repeats(blocks: Sequence[TradeBlock]) -> list[TradeBlock]:
    """Blocks without those that say the same again."""
    seen: set[tuple[object, ...]] = set()
    kept: list[TradeBlock] = []
    for block in blocks:
        deal = block.deal
        places = tuple(
            (f.row.index, f.number.start) for f in (deal.quantity, deal.price) if f is not None
        )
        if places not in seen:
            kept.append(block)
        seen.add(places)
    return kept
