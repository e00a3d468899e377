"""Statements of trades as tables: rows of one shape, whose columns multiply in row after row.

A single row may be read in several ways (which factor is the count?); its sisters settle it. Rows
are grouped by how many numbers they hold, columns are voted by a sample of each group, and then
every row is read once: the time grows with the number of rows.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Final

from docmill.trades.reader import deals, facts, lexicon
from docmill.trades.reader.blocks import (
    SIGNED,
    Anchor,
    TradeBlock,
    are_parts,
    find_anchor,
    find_held,
    find_lots,
)
from docmill.trades.reader.deals import Deal
from docmill.trades.reader.figures import FigureIndex, TradeFigure, judge_order, list_cuts
from docmill.trades.reader.rows import NoteRow

SAMPLE: Final = 40  # rows that vote on the columns of their group
MOST_CELLS: Final = 14  # numbers in a row: more are no row of trades
ENOUGH: Final = 0.55  # of the rows must multiply
REAL: Final = 1.0
TRIVIAL: Final = 0.3  # one times a price proves nothing
LOOSE: Final = 0.0006  # of the total: what rounding may leave
CENT: Final = 0.011
WORDED: Final = 0.7  # of the rows must name their direction, or signs do
AFTER: Final = 3  # rows below a record that may belong to it
_PLUS: Final = re.compile(r"^\s*\+")

Cells = tuple[TradeFigure, ...]
SCALES: Final = (  # of a product, what it is called, and how large a quantity must be at least
    (1.0, "product", 0),
    (0.01, "per cent", 100),
    (100.0, "contract", 1),
)


@dataclass(frozen=True, slots=True)
class Columns:
    """The places of quantity, price and notional among the numbers of a row, and how the product
    of the first two gives the third: as it is, in per cent, or of contracts for a hundred each."""

    quantity: int
    price: int
    notional: int
    scale: float = 1.0
    fit: str = "product"

    @property
    def places(self) -> tuple[int, int, int]:
        return self.quantity, self.price, self.notional


@dataclass(frozen=True, slots=True)
class StatementRow:
    """A row, and its numbers from left to right."""

    row: NoteRow
    cells: Cells


def find_statement_blocks(rows: Sequence[NoteRow], figures: FigureIndex) -> list[TradeBlock]:
    """The trades of a table with one row each; nothing where there are not two of them."""
    lots = find_lots(rows)
    able = [row for row in rows if row.index not in lots]
    records = [one for row in able if row.days for one in list_records(row, figures)]
    dated = bool(records)
    if not dated:  # the trades of one day, which stands above them
        held = find_held(rows)
        able = [row for row in able if facts.ISIN.search(row.text) and row.index not in held]
        records = [one for row in able for one in list_records(row, figures)]
    groups: dict[int, list[StatementRow]] = defaultdict(list)
    for one in records:
        groups[len(one.cells)].append(one)
    found: dict[int, tuple[NoteRow, Deal]] = {}
    for group in sorted(groups.values(), key=len, reverse=True):
        columns = vote_columns(_sample(group))
        for one in group if columns else ():
            deal = read_deal(one, columns)
            if deal and (one.row.index not in found or found[one.row.index][1].score < deal.score):
                found[one.row.index] = one.row, deal
    found |= _read_rest(records, found, figures)
    return _make_blocks(rows, [found[index] for index in sorted(found)], dated=dated)


def _read_rest(
    records: Sequence[StatementRow], found: Mapping[int, tuple[NoteRow, Deal]], figures: FigureIndex
) -> dict[int, tuple[NoteRow, Deal]]:
    """Rows with an ISIN that are like no others, each read by itself."""
    rest: dict[int, tuple[NoteRow, Deal]] = {}
    for one in records:
        row = one.row
        if row.index in found or row.index in rest or not facts.ISIN.search(row.text):
            continue
        deal = deals.find_deal(figures.within(row.index, row.index))
        if deal.fit in {"product", "exchange"} and deal.quantity and deal.notional:
            rest[row.index] = row, deal
    return rest


def list_records(row: NoteRow, figures: FigureIndex) -> Iterator[StatementRow]:
    """The ways to cut a row into numbers, each with what is known of them."""
    if len(row.numbers) < 3 or _is_no_trade(row):
        return
    own = [f for f in figures.within(row.index, row.index) if not f.number.percent and not f.bare]
    known = {(f.number.start, f.number.end): f for f in own}
    for cut in list_cuts([f.number for f in own]):
        if 3 <= len(cut) <= MOST_CELLS:
            yield StatementRow(row, tuple(known[n.start, n.end] for n in cut))


def _sample(group: Sequence[StatementRow]) -> list[StatementRow]:
    """Some rows of a group, each with all its cuts."""
    indexes = list(dict.fromkeys(one.row.index for one in group))
    chosen = set(indexes[:: max(1, len(indexes) // SAMPLE)])
    return [one for one in group if one.row.index in chosen]


def _is_no_trade(row: NoteRow) -> bool:
    """Whether a row tells what is held, or of an income."""
    return bool(lexicon.HOLDINGS.search(row.plain) or lexicon.NO_TRADE_ROW.search(row.plain))


def vote_columns(group: Sequence[StatementRow]) -> Columns | None:
    """The places of quantity, price and notional that most rows agree on."""
    table = [[float(abs(cell.number.value)) for cell in one.cells] for one in group]
    size = len({one.row.index for one in group})
    if size < 2:
        return None
    for scale, fit, least in SCALES:
        best: tuple[float, Columns] | None = None
        for places in permutations(range(len(table[0])), 3):
            columns = Columns(*places, scale, fit)
            marks = [_mark(values, columns, least) for values in table]
            able = [at for at, mark in enumerate(marks) if mark > 0]
            told = {group[at].row.index: marks[at] for at in able}
            if len(told) < ENOUGH * size or REAL not in told.values():
                continue
            if _is_rate([table[at] for at in able], columns):
                continue
            score = sum(told.values()) / size
            score += _describe_columns([group[at] for at in able], columns)
            if best is None or score > best[0]:
                best = score, columns
        if best:
            return best[1]
    return None


def _is_rate(table: Sequence[Sequence[float]], columns: Columns) -> bool:
    """Whether one of the factors is the same broken number in all rows: a rate of exchange."""
    for at in columns.places[:2]:
        values = {values[at] for values in table}
        if len(values) == 1 and round(min(values), 3) != min(values):
            return True
    return False


def _mark(values: Sequence[float], columns: Columns, least: float) -> float:
    count, each, total = (values[at] for at in columns.places)
    if not (count and each and total):
        return 0.0
    if columns.scale != 1.0 and (count < least or count != int(count)):
        return 0.0
    slack = max(CENT, total * LOOSE, min(count, each) * 0.006 * columns.scale)
    if abs(count * each * columns.scale - total) > slack:
        return 0.0
    plain = 1.0 in (count, each) or (count == int(count) < 60 and each == int(each) < 60)
    return TRIVIAL if plain else REAL


def _describe_columns(group: Sequence[StatementRow], columns: Columns) -> float:
    """What heads, signs and currencies say for these columns, from about -2 to 2."""
    counts, prices, totals = ([one.cells[at] for one in group] for at in columns.places)
    size = len(group)
    score = 0.5 * sum(f.role("quantity") - f.role("price") for f in counts) / size
    score += 0.5 * sum(f.role("price") - f.role("quantity") for f in prices) / size
    score += 0.3 * sum(f.role("notional") - f.role("fees") for f in totals) / size
    score -= 0.6 * any(f.number.value < 0 for f in prices)
    score += 0.4 * any(_is_signed(f) for f in counts)
    score -= 0.5 * sum(bool(f.currency) for f in counts) / size
    score += 0.2 * sum(bool(f.currency) for f in prices) / size
    score += 0.4 * judge_order(counts[0], prices[0])
    finer = _count_places(counts) - _count_places(prices)
    return score + (0.3 if _are_whole(counts) and not _are_whole(prices) else 0.2 * (finer > 0))


def _are_whole(figures: Sequence[TradeFigure]) -> bool:
    return all(figure.number.value == int(figure.number.value) for figure in figures)


def _count_places(figures: Sequence[TradeFigure]) -> int:
    """How many places behind the mark a column needs; units of funds need more than prices do."""
    exponents = (figure.number.value.normalize().as_tuple().exponent for figure in figures)
    return -min((one for one in exponents if isinstance(one, int)), default=0)


def _is_signed(figure: TradeFigure) -> bool:
    return figure.number.value < 0 or bool(_PLUS.match(figure.text))


def read_deal(one: StatementRow, columns: Columns | None) -> Deal | None:
    if columns is None:
        return None
    quantity, price, total = (one.cells[at] for at in columns.places)
    rates = [cell for cell in one.cells if cell.role("fx")]
    fits = [
        deal
        for deal in deals.find_fitting(quantity, price, total, rates)
        if deal.fit in {"product", "per cent"}
    ]
    if columns.fit == "contract" and _mark([float(f.value) for f in one.cells], columns, 1):
        values = quantity.value, price.value, total.value
        fits.append(Deal(quantity, price, total, columns.fit, deals.TURNED, *values))
    return max(fits, key=lambda deal: deal.score, default=None)


def _make_blocks(
    rows: Sequence[NoteRow], found: Sequence[tuple[NoteRow, Deal]], *, dated: bool
) -> list[TradeBlock]:
    """Records with a direction, each with its rows and the row that names its security. Without a
    day words or codes have to tell it: what is held has signs, too."""
    below = _names_follow(rows, [row for row, _ in found])
    heads = _find_heads(rows)
    blocks: list[TradeBlock] = []
    anchors = _find_anchors(found, signed=dated)
    for at, ((row, deal), anchor) in enumerate(zip(found, anchors, strict=True)):
        if anchor is None:
            continue
        end = found[at + 1][0].index - 1 if at + 1 < len(found) else row.index + AFTER
        last = min(end, row.index + AFTER, len(rows) - 1) if below else row.index
        named = below or bool(facts.ISIN.search(row.text))
        blocks.append(
            TradeBlock(anchor, row.index, last, deal, None if named else heads[row.index])
        )
    return blocks if len(blocks) > 1 and not are_parts(rows, blocks) else []


def _names_follow(rows: Sequence[NoteRow], records: Sequence[NoteRow]) -> bool:
    """Whether ISINs stand below the records they belong to, one for each.

    Between two records one belongs to either; the first and the last record tell.
    """
    if not records or sum(bool(facts.ISIN.search(row.text)) for row in records) * 2 > len(records):
        return False
    places = [row.index for row in records]
    below = sum(
        _has_isin(rows, at + 1, min(end, at + 4))
        for at, end in zip(places, [*places[1:], len(rows)], strict=True)
    )
    above = sum(
        _has_isin(rows, max(start + 1, at - 3), at)
        for at, start in zip(places, [-1, *places[:-1]], strict=True)
    )
    return below > 0.7 * len(records) and below >= above


def _has_isin(rows: Sequence[NoteRow], start: int, end: int) -> bool:
    return any(facts.ISIN.search(row.text) for row in rows[start:end])


def _find_heads(rows: Sequence[NoteRow]) -> list[int | None]:
    """For each row the last one at or above it that holds an ISIN."""
    heads: list[int | None] = []
    for row in rows:
        above = heads[-1] if heads else None
        heads.append(row.index if facts.ISIN.search(row.text) else above)
    return heads


def _find_anchors(found: Sequence[tuple[NoteRow, Deal]], *, signed: bool) -> list[Anchor | None]:
    """Each record's direction: by words if most rows have one, else by signs, else by codes."""
    words = [find_anchor(row) for row, _ in found]
    signs = [_read_sign(row, deal) if signed else None for row, deal in found]
    if sum(word is not None for word in words) >= WORDED * len(found) or not any(signs):
        signs = words
    if not any(signs):
        signs = _read_codes([row for row, _ in found])
    return [sign or word for sign, word in zip(signs, words, strict=True)]


def _read_sign(row: NoteRow, deal: Deal) -> Anchor | None:
    """By the sign of the quantity, or of what was paid."""
    if deal.quantity is None or deal.notional is None:
        return None
    if deal.quantity.number.value < 0:
        return Anchor(row, "sell", SIGNED, 0)
    if _is_signed(deal.quantity) or deal.notional.number.value < 0:
        return Anchor(row, "buy", SIGNED, 0)
    return None


def _read_codes(rows: Sequence[NoteRow]) -> list[Anchor | None]:
    """By a letter of each row, where all rows have one and both directions occur."""
    found: list[Anchor | None] = []
    for row in rows:
        words = [word.text.strip(".:()") for word in row.words]
        buy = any(word in lexicon.BUY_CODES for word in words)
        sell = any(word in lexicon.SELL_CODES for word in words)
        side = "buy" if buy else "sell"
        found.append(Anchor(row, side, SIGNED, 0) if buy != sell else None)
    sides = {anchor.direction for anchor in found if anchor}
    return found if all(found) and len(sides) > 1 else [None] * len(rows)
