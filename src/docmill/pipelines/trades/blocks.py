"""A document cut into blocks, one a trade: at rows that say buy or sell, and in tables by row."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from docmill.pipelines.trades import identifiers
from docmill.pipelines.trades.anchors import Anchor, anchors_of, kind_of
from docmill.pipelines.trades.figures import Figure
from docmill.pipelines.trades.lexicon import HOLDINGS
from docmill.pipelines.trades.rows import Row
from docmill.pipelines.trades.search import Deal, best

LEAST = 4.0
SURE = 6.0
IN_ROW = 3.0
REACH = 8
CLOSE = 4
MILDEST = 0.6
SIGNED = 0.7


@dataclass(frozen=True, slots=True)
class Block:
    """The rows of one trade, what opened it, and the numbers found in it."""

    anchor: Anchor
    first: int
    last: int
    deal: Deal = field(default_factory=Deal)

    def rows(self, rows: Sequence[Row]) -> Sequence[Row]:
        return rows[self.first : self.last + 1]


def blocks_of(rows: Sequence[Row], figures: Sequence[Figure]) -> list[Block]:
    """Every block that holds a whole trade."""
    anchors = [a for a in anchors_of(rows) if a.weight >= 0.3]
    found: list[Block] = []
    pending: Anchor | None = None
    for at, anchor in enumerate(anchors):
        last = anchors[at + 1].row.index - 1 if at + 1 < len(anchors) else len(rows) - 1
        last = _stop(rows, anchor.row.index, last)
        split = _by_row(anchor, rows, figures, last)
        if split:
            found += split
            continue
        deal = _deal(anchor, figures, last)
        if _whole(deal, anchor):
            opened = pending if pending and _continues(pending, anchor) else anchor
            found.append(Block(opened, opened.row.index, last, deal))
            pending = None
        elif not (pending and _continues(pending, anchor)):
            pending = anchor
    return _once(found) or _signed(rows, figures)


def _signed(rows: Sequence[Row], figures: Sequence[Figure]) -> list[Block]:
    """Rows of a list of trades without words for buy and sell: the signs tell."""
    found: list[Block] = []
    for row in rows:
        if not row.days or len(row.numbers) < 3 or not identifiers.ISIN.search(row.text):
            continue
        deal = best(_within(figures, row.index, row.index))
        if deal.fit not in {"product", "exchange"} or not (deal.quantity and deal.notional):
            continue
        out, paid = deal.quantity.number.value < 0, deal.notional.number.value < 0
        if out != paid:
            found.append(
                Block(Anchor(row, "sell" if out else "buy", SIGNED, 0), row.index, row.index, deal)
            )
    return found


def _deal(anchor: Anchor, figures: Sequence[Figure], last: int) -> Deal:
    """The best deal of a block; one that stands in the opening row alone comes first."""
    first = anchor.row.index
    alone = best(_within(figures, first, first))
    if alone.fit == "product" and alone.score >= LEAST:
        return alone
    return best(_within(figures, first, last))


def _continues(one: Anchor, other: Anchor) -> bool:
    """Whether two rows open the same trade: its title, and its first line."""
    return one.direction == other.direction and other.row.index - one.row.index <= REACH


def _within(figures: Sequence[Figure], first: int, last: int) -> list[Figure]:
    return [figure for figure in figures if first <= figure.row.index <= last]


def _stop(rows: Sequence[Row], first: int, last: int) -> int:
    """The last row before a list of what is held, or another kind of event, begins."""
    for index in range(first + 1, last + 1):
        row = rows[index]
        if (HOLDINGS.search(row.plain) and row.wordy < 9) or kind_of(row) == "dividend":
            return index - 1
    return last


def _whole(deal: Deal, anchor: Anchor) -> bool:
    if not deal.complete or deal.quantity is None:
        return False
    figures = [f for f in (deal.quantity, deal.price, deal.notional) if f]
    if all(f.row.index == anchor.row.index for f in figures) and deal.fit:
        return deal.score >= IN_ROW
    if not any(f.roles for f in figures):
        near = max(f.row.index for f in figures) - anchor.row.index <= CLOSE
        near = near and anchor.weight > MILDEST
        return near and deal.fit == "product" and deal.score >= LEAST
    if deal.fit:
        return deal.score >= LEAST
    return deal.score >= SURE or (
        deal.price is not None and deal.notional is not None and deal.score >= LEAST
    )


def _by_row(
    anchor: Anchor, rows: Sequence[Row], figures: Sequence[Figure], last: int
) -> list[Block]:
    """Several trades under one title: rows with a date, each a whole trade by itself."""
    found: list[Block] = []
    for index in range(anchor.row.index, last + 1):
        if not rows[index].days or len(rows[index].numbers) < 3:
            continue
        deal = best(_within(figures, index, index))
        if deal.fit in {"product", "exchange", "net"} and deal.score >= LEAST:
            found.append(Block(anchor, index, index, deal))
    if len(found) < 2:
        return []
    ends = [block.first - 1 for block in found[1:]] + [last]
    return [
        Block(block.anchor, block.first, max(block.first, end), block.deal)
        for block, end in zip(found, ends, strict=True)
    ]


def _once(blocks: Sequence[Block]) -> list[Block]:
    """Blocks without those that say the same again."""
    seen: set[tuple[object, ...]] = set()
    kept: list[Block] = []
    for block in blocks:
        deal = block.deal
        places = tuple(
            (f.row.index, f.number.start) for f in (deal.quantity, deal.price) if f is not None
        )
        if places not in seen:
            kept.append(block)
        seen.add(places)
    return kept
