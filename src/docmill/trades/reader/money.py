"""A trade that no word calls a purchase or a sale: which way the money went tells.

A note names its security, how many and at what price, and ends with a sum that is debited or
credited. Who pays has bought. What is credited may be an income as well, so that a note of a
dividend or of interest gives nothing here.
"""

import re
from collections.abc import Iterator, Sequence
from decimal import Decimal
from itertools import combinations
from typing import Final

from docmill.reading.labels import fold
from docmill.trades.reader import deals, facts, lexicon
from docmill.trades.reader.blocks import Anchor, Direction, TradeBlock
from docmill.trades.reader.deals import Deal, find_deal
from docmill.trades.reader.figures import FigureIndex, TradeFigure
from docmill.trades.reader.rows import NoteRow

LEAST: Final = 5.0
BY_MONEY: Final = 0.5  # how surely a direction is said
UNSAID: Final = 0.2  # nothing says it: a purchase is likelier, and a person has to choose
MOST_ROWS: Final = 150  # longer documents are no notes
PROSE: Final = 16
PROVEN: Final = 2.9  # the score of numbers that multiply closely, with no word for them
MOST_HINTS: Final = 6
TOGETHER: Final = 3  # rows over which quantity and price still stand together
SUMMED_UP: Final = 8  # rows: their product may be printed again in a sum below
CLOSELY: Final = Decimal("0.006")  # of the total: rounding that leaves a product a proof
ENOUGH_FIGURES: Final = 5  # in two factors: fewer multiply to anything
_SIGNED: Final = re.compile(r"[-−–]\d")
NEXT: Final = 4  # rows between two entries of a list
FAR_BELOW: Final = 16  # rows under the notional in which its costs and its sum stand
MOST_COST: Final = Decimal("0.1")  # of the notional
CENT: Final = Decimal("0.01")
MOST_COSTS: Final = 9  # printed between the notional and its sum: more prove nothing
HEAD_ABOVE: Final = 4  # rows between a column's head and a sum in it


def find_block_by_money(
    rows: Sequence[NoteRow], figures: FigureIndex, anchors: Sequence[Anchor]
) -> list[TradeBlock]:
    """The one trade of a note without a clear word for its direction.

    Where nothing tells it, what can be read is better than nothing.
    """
    if len(rows) > MOST_ROWS:
        return []
    deal = find_deal(figures.all)
    if not deal.quantity or not _is_told(deal):
        return []
    counted = is_proven(deal) and deal.quantity.role("quantity") > 0
    if not counted and not any(_names_security(row) for row in rows):
        return []
    if _is_held(rows, deal) or _tells_of_income(rows) or _is_list(rows, figures, deal):
        return []
    votes = set(_find_votes(rows, figures, deal, anchors))
    if len(votes) > 1:
        return []
    direction: Direction = next(iter(votes)) if votes else "buy"
    anchor = Anchor(deal.quantity.row, direction, BY_MONEY if votes else UNSAID, 0)
    return [TradeBlock(anchor, 0, len(rows) - 1, deal)]


def _names_security(row: NoteRow) -> bool:
    """Whether it holds an ISIN, or a word for another number of a security."""
    return bool(facts.ISIN.search(row.text) or lexicon.SECURITY_CODE.search(row.plain))


def _is_told(deal: Deal) -> bool:
    """Whether words name the quantity or the price, and they multiply to a sum, or do so
    too closely for chance."""
    if is_proven(deal) and deal.score >= PROVEN:
        return True
    named = [f and f.role(role) for f, role in ((deal.quantity, "quantity"), (deal.price, "price"))]
    return bool(deal.fit) and any(named) and deal.score >= LEAST


def is_proven(deal: Deal) -> bool:
    """Whether three numbers that stand together multiply too closely for chance."""
    if deal.fit != "product" or not (deal.quantity and deal.price and deal.notional):
        return False
    at, other, end = (f.row.index for f in (deal.quantity, deal.price, deal.notional))
    if abs(at - other) > TOGETHER or max(abs(end - at), abs(end - other)) > SUMMED_UP:
        return False
    count, each, total = deal.quantity_value, deal.price_value, deal.notional_value
    if deals.is_trivial(count, each):
        return False
    shown = len(_list_digits(count)) + len(_list_digits(each))
    return shown >= ENOUGH_FIGURES and deals.find_slack(count, each, total) <= total * CLOSELY


def _list_digits(value: Decimal) -> tuple[int, ...]:
    """The figures that tell something: noughts at either end do not."""
    return value.normalize().as_tuple().digits


def _is_held(rows: Sequence[NoteRow], deal: Deal) -> bool:
    """Whether the numbers stand under a heading that says what is held."""
    end = deal.quantity.row.index if deal.quantity else 0
    above = (row for row in rows[:end] if row.word_count <= PROSE and not row.numbers)
    return any(lexicon.HOLDINGS.search(row.plain) for row in above)


def _is_list(rows: Sequence[NoteRow], figures: FigureIndex, deal: Deal) -> bool:
    """Whether beside the row of the deal another has a security and numbers that multiply."""
    at = deal.quantity.row.index if deal.quantity else 0
    near = rows[max(at - NEXT, 0) : at + NEXT + 1]
    named = [row for row in near if facts.ISIN.search(row.text) and len(row.numbers) > 2]
    proven = [is_proven(find_deal(figures.within(row.index, row.index))) for row in named]
    return sum(proven) > 1


def _find_votes(
    rows: Sequence[NoteRow], figures: FigureIndex, deal: Deal, anchors: Sequence[Anchor]
) -> Iterator[Direction]:
    """What signs, words beside the settled sum, fees between it and the notional, and the words
    that only hint at a direction say."""
    for anchor in anchors[:MOST_HINTS]:
        yield anchor.direction
    yield from _read_sign(deal)
    settled = deals.find_settlement(figures.all, deal, 0)
    amount = settled.amount or deal.notional
    if amount is None:
        return
    for row in rows:
        if _has_amount(row, amount) and row.word_count <= PROSE:
            yield from _read_side(row)
            yield from _read_column(rows, row, amount)
    if amount.number.value < 0:
        yield "buy"
    if not settled.balanced or amount.value == deal.notional_value:
        yield from _read_balance(figures, deal)
    elif settled.fees or settled.taxes:
        yield "buy" if amount.value > deal.notional_value else "sell"


def _read_balance(figures: FigureIndex, deal: Deal) -> Iterator[Direction]:
    """A sum below that is the notional and a cost, or the notional less a cost, without words."""
    if deal.notional is None:
        return
    total, first = deal.notional_value, deal.notional.row.index
    below = [f for f in figures.within(first, first + FAR_BELOW) if not f.number.percent]
    own = [f for f in (deal.quantity, deal.price, deal.notional) if f]
    free = [f for f in below if _has_cents(f) and not any(f.meets(o) for o in own)]
    costs = [f for f in free if CENT <= f.value <= total * MOST_COST]
    sums = [f for f in free if f.value != total and abs(f.value - total) <= total * MOST_COST]
    for settled in sums:
        gap = abs(settled.value - total)
        above = [cost.value for cost in costs if cost.row.index <= settled.row.index][:MOST_COSTS]
        if any(abs(gap - sum(some)) < CENT for some in _list_parts(above)):
            yield "buy" if settled.value > total else "sell"


def _list_parts(costs: Sequence[Decimal]) -> Iterator[tuple[Decimal, ...]]:
    """Each cost alone, and two or three of them together."""
    for size in (1, 2, 3):
        yield from combinations(costs, size)


def _has_cents(figure: TradeFigure) -> bool:
    return figure.number.value.as_tuple().exponent == -2


def _read_sign(deal: Deal) -> Iterator[Direction]:
    if deal.quantity and has_minus(deal.quantity):
        yield "sell"


def has_minus(figure: TradeFigure) -> bool:
    """Whether a minus stands right before its figures; one with a blank behind it parts words."""
    return bool(_SIGNED.match(figure.text))


def _has_amount(row: NoteRow, amount: TradeFigure) -> bool:
    return any(abs(number.value) == amount.value for number in row.numbers)


def _read_column(rows: Sequence[NoteRow], row: NoteRow, amount: TradeFigure) -> Iterator[Direction]:
    """Under which of two heads the sum stands: of what is paid, or of what is received."""
    number = next(one for one in row.numbers if abs(one.value) == amount.value)
    end = row.place(number.start, number.end).x1
    for above in reversed(rows[max(row.index - HEAD_ABOVE, 0) : row.index]):
        debits = [w.box.x1 for w in above.words if lexicon.DEBIT_HEAD.fullmatch(fold(w.text))]
        received = [w.box.x1 for w in above.words if lexicon.CREDIT_HEAD.fullmatch(fold(w.text))]
        if len(debits) == len(received) == 1 and above.page == row.page:
            yield "buy" if abs(debits[0] - end) < abs(received[0] - end) else "sell"
            return


def _read_side(row: NoteRow) -> Iterator[Direction]:
    debit, credit = lexicon.DEBIT.search(row.plain), lexicon.CREDIT.search(row.plain)
    if debit and not credit:
        yield "buy"
    if credit and not debit:
        yield "sell"


def _tells_of_income(rows: Sequence[NoteRow]) -> bool:
    """Whether any row speaks of a dividend, of interest or of a distribution."""
    kinds = dict(lexicon.DOCUMENT_KINDS)
    income = (lexicon.NO_TRADE_ROW, kinds["dividend"], kinds["cancellation"], kinds["order"])
    short = [row for row in rows if row.word_count <= PROSE and not _is_named(row)]
    return any(pattern.search(row.plain) for row in short for pattern in income)


def _is_named(row: NoteRow) -> bool:
    """Whether a label and a name fill the row: a fund may be called after its dividends."""
    return bool(lexicon.SECURITY.match(row.text)) and row.word_count > 2 and not row.numbers
