"""A trade that no word calls a purchase or a sale: which way the money went tells.

A note names its security, how many and at what price, and ends with a sum that is debited or
credited. Who pays has bought. What is credited may be an income as well, so that a note of a
dividend or of interest gives nothing here.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
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
HEAD_ABOVE: Final = 4  # rows between a column's head and a sum in it


def find_block_by_money(rows: Sequence[NoteRow], figures: FigureIndex) -> list[TradeBlock]:
    """The one trade of a note without a word for its direction; nothing where signs differ.

    Where there is no sign either, what can be read is better than nothing.
    """
    if len(rows) > MOST_ROWS or not any(facts.ISIN.search(row.text) for row in rows):
        return []
    deal = find_deal(figures.all)
    if not _is_told(deal) or _is_held(rows, deal):
        return []
    votes = Counter(_find_votes(rows, figures, deal))
    if len(votes) > 1 or _tells_of_income(rows):
        return []
    direction: Direction = next(iter(votes)) if votes else "buy"
    assert deal.quantity is not None
    anchor = Anchor(deal.quantity.row, direction, BY_MONEY if votes else UNSAID, 0)
    return [TradeBlock(anchor, 0, len(rows) - 1, deal)]


def _is_told(deal: Deal) -> bool:
    """Whether words name the quantity or the price, and they multiply to a sum."""
    named = [f and f.role(role) for f, role in ((deal.quantity, "quantity"), (deal.price, "price"))]
    return bool(deal.fit) and any(named) and deal.score >= LEAST


def _is_held(rows: Sequence[NoteRow], deal: Deal) -> bool:
    """Whether the numbers stand under a heading that says what is held."""
    end = deal.quantity.row.index if deal.quantity else 0
    above = (row for row in rows[:end] if row.word_count <= PROSE and not row.numbers)
    return any(lexicon.HOLDINGS.search(row.plain) for row in above)


def _find_votes(rows: Sequence[NoteRow], figures: FigureIndex, deal: Deal) -> Iterator[Direction]:
    """What signs, words beside the settled sum, and fees between it and the notional say."""
    if deal.quantity and deal.quantity.number.value < 0:
        yield "sell"
    settled = deals.find_settlement(figures.all, deal, 0)
    amount = settled.amount or deal.notional
    if amount is None:
        return
    for row in rows:
        if _has_amount(row, amount) and row.word_count <= PROSE:
            yield from _read_side(row)
            yield from _read_column(rows, row, amount)
    if settled.balanced and (settled.fees or settled.taxes):
        yield "buy" if amount.value > deal.notional_value else "sell"


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
    short = [row for row in rows if row.word_count <= PROSE]
    return any(pattern.search(row.plain) for row in short for pattern in income)
