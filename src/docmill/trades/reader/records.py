"""Trades of a statement told over several rows: one row has the numbers, others day and security.

A row whose numbers multiply is the core of a record. What belongs to it stands above or below: on
the side on which all cores, the first and the last too, have an ISIN and a day near. So records are
found without a word for what was done.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from docmill.trades.reader import facts, lexicon
from docmill.trades.reader.blocks import (
    SIGNED,
    Anchor,
    TradeBlock,
    find_anchor,
    find_held,
    find_lots,
)
from docmill.trades.reader.deals import Deal, find_deal
from docmill.trades.reader.figures import FigureIndex
from docmill.trades.reader.money import UNSAID, has_minus, is_proven
from docmill.trades.reader.rows import NoteRow
from docmill.trades.reader.statements import (
    Columns,
    StatementRow,
    list_records,
    read_deal,
    vote_columns,
)

REACH: Final = 12  # rows from the numbers of a record to its other facts
MISSING: Final = 2 * REACH  # rows that a fact counts which is not there
HEADING_WORDS: Final = 5
FOUND: Final = 0.8  # of the records must have an ISIN and a day

Core = tuple[NoteRow, Deal]
Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class TradeRecords:
    """The trades that stand in records, and whether what they are stands above their numbers."""

    blocks: tuple[TradeBlock, ...] = ()
    above: bool = False


def find_records(rows: Sequence[NoteRow], figures: FigureIndex) -> TradeRecords:
    """The trades of records that have no row with a day and all numbers."""
    cores = _find_cores(rows, figures)
    if not cores:
        return TradeRecords()
    above, spans = _find_spans(rows, cores)
    told = sum(_has_isin(rows, span) and _has_day(rows, span) for span in spans)
    if told < FOUND * len(spans):
        return TradeRecords()
    blocks: list[TradeBlock] = []
    for core, span in zip(cores, spans, strict=True):
        anchor = _find_direction(rows, core, span)
        if anchor and not _is_income(rows, span):
            blocks.append(TradeBlock(anchor, *span, core[1]))
    if len(blocks) == 1 and not _stands_alone(blocks[0], cores):
        return TradeRecords()
    return TradeRecords(tuple(blocks), above)


def _find_cores(rows: Sequence[NoteRow], figures: FigureIndex) -> list[Core]:
    """Rows whose numbers multiply too closely for chance, of the shape that most of them have."""
    out = find_lots(rows) | find_held(rows)
    able = [row for row in rows if row.index not in out and len(row.numbers) > 2]
    groups: dict[int, list[StatementRow]] = defaultdict(list)
    for row in able:
        if not lexicon.SUM_ROW.match(row.plain) and is_proven(_find_own_deal(row, figures)):
            for one in list_records(row, figures):
                groups[len(one.cells)].append(one)
    if not groups:
        return []
    proven = max(groups.values(), key=_count_rows)
    columns = vote_columns(proven)
    shapes = {_find_shape(one.row) for one in proven}
    alike = [row for row in able if _find_shape(row) in shapes]
    found = [(row, _read_core(row, figures, len(proven[0].cells), columns)) for row in alike]
    return [(row, deal) for row, deal in found if deal and deal.fit == "product"]


def _read_core(
    row: NoteRow, figures: FigureIndex, count: int, columns: Columns | None
) -> Deal | None:
    """The deal of a row with so many numbers, by the columns of all, else by its own numbers."""
    ways = [one for one in list_records(row, figures) if len(one.cells) == count]
    if not ways or columns is None:
        return _find_own_deal(row, figures) if ways else None
    made = [deal for one in ways if (deal := read_deal(one, columns))]
    return max(made, key=lambda deal: deal.score, default=None)


def _find_own_deal(row: NoteRow, figures: FigureIndex) -> Deal:
    return find_deal(figures.within(row.index, row.index))


def _find_shape(row: NoteRow) -> tuple[str, ...]:
    """The words of a row without figures: rows of one kind have the same."""
    return tuple(word for word in row.plain.split() if word.isalpha())


def _count_rows(group: Sequence[StatementRow]) -> int:
    return len({one.row.index for one in group})


def _find_spans(rows: Sequence[NoteRow], cores: Sequence[Core]) -> tuple[bool, list[Span]]:
    """The rows of each record: those above its numbers, or those below them."""
    at = [row.index for row, _ in cores]
    over = [
        (max(before + 1, core - REACH), core)
        for before, core in zip([-1, *at[:-1]], at, strict=True)
    ]
    under = [
        (core, min(after - 1, core + REACH))
        for core, after in zip(at, [*at[1:], len(rows)], strict=True)
    ]
    gaps = [
        sum(_measure_gap(rows, span, core) for span, core in zip(spans, at, strict=True))
        for spans in (over, under)
    ]
    above = gaps[0] <= gaps[1]
    return above, over if above else under


def _measure_gap(rows: Sequence[NoteRow], span: Span, core: int) -> int:
    """How many rows lie between a record's numbers and its ISIN and day."""
    own = rows[span[0] : span[1] + 1]
    codes = [abs(row.index - core) for row in own if facts.ISIN.search(row.text)]
    days = [abs(row.index - core) for row in own if row.days]
    return min(codes, default=MISSING) + min(days, default=MISSING)


def _has_isin(rows: Sequence[NoteRow], span: Span) -> bool:
    return any(facts.ISIN.search(row.text) for row in rows[span[0] : span[1] + 1])


def _has_day(rows: Sequence[NoteRow], span: Span) -> bool:
    return any(row.days for row in rows[span[0] : span[1] + 1])


def _find_direction(rows: Sequence[NoteRow], core: Core, span: Span) -> Anchor | None:
    """What its own rows say, else its sign, else the last heading above it, else nothing."""
    row, deal = core
    own = [one for one in map(find_anchor, rows[span[0] : span[1] + 1]) if one]
    if own:
        return max(own, key=lambda one: (one.weight, -abs(one.row.index - row.index)))
    if deal.quantity and has_minus(deal.quantity):
        return Anchor(row, "sell", SIGNED, 0)
    heading = _find_heading(rows, span[0])
    if heading:
        return replace(heading, weight=SIGNED)
    return None if row.days else Anchor(row, "buy", UNSAID, 0)  # a list in rows is what is held


def _find_heading(rows: Sequence[NoteRow], end: int) -> Anchor | None:
    """The last short row above that says buy or sell and nothing else."""
    for row in reversed(rows[:end]):
        if row.word_count <= HEADING_WORDS and not row.numbers and (anchor := find_anchor(row)):
            return anchor
    return None


def _is_income(rows: Sequence[NoteRow], span: Span) -> bool:
    """Whether a record tells of an income or of what is held, and of no trade."""
    own = rows[span[0] : span[1] + 1]
    if any(find_anchor(row) for row in own):
        return False
    income = dict(lexicon.DOCUMENT_KINDS)["dividend"]
    return any(lexicon.NO_TRADE_ROW.search(row.plain) or income.search(row.plain) for row in own)


def _stands_alone(block: TradeBlock, cores: Sequence[Core]) -> bool:
    """Whether one record is enough: its row has the ISIN, and something tells the direction."""
    named = any(facts.ISIN.search(row.text) for row, _ in cores)
    return named and block.anchor.weight > UNSAID
