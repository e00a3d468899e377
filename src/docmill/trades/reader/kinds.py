"""What kind of document it is: one of trades, or one that tells of none, and what to call it."""

from collections.abc import Sequence
from typing import Final

from docmill.trades.reader import days, facts, lexicon
from docmill.trades.reader.blocks import Anchor, find_title_kind
from docmill.trades.reader.rows import NoteRow

TITLED: Final = 0.7
REASONS: Final = {
    "dividend": "It tells of a dividend or another income, not of a trade.",
    "cancellation": "It cancels a trade.",
    "order": "It confirms an order, which is not a trade yet.",
    "corporate": "It tells of a company's action or a transfer, not of a trade.",
    "money": "It tells of a deposit, a loan or an exchange of money, not of a trade.",
    "statement": "It is a statement without a trade in it.",
    "history": "It is an account's history over years, not a confirmation of trades.",
    "": "No trade was found in it: nothing says what was bought or sold.",
}


def find_document_kind(rows: Sequence[NoteRow], anchors: Sequence[Anchor]) -> str:
    """What a document is, by the first title that says so; a trade's own title comes before."""
    first = next((a.row.index for a in anchors if a.weight >= TITLED), len(rows))
    found = ""
    for row in rows:
        kind = find_title_kind(row)
        before = row.index < first or (kind == "order" and row.index == first)
        if kind == "cancellation" or (kind and before and not found):
            found = kind
    if found == "order" and _is_executed(rows):
        found = ""
    return found or ("order" if _is_estimate(rows) else "")


def lists_securities(rows: Sequence[NoteRow]) -> bool:
    """Whether several securities are named, so that deposits are but a part of a statement."""
    return len({match[1] for row in rows for match in facts.ISIN.finditer(row.text)}) > 1


def _is_executed(rows: Sequence[NoteRow]) -> bool:
    """Whether an order is only spoken of by its day, and done: `Order received 4 May`, `Order
    executed 5 May`."""
    titles = [row for row in rows if find_title_kind(row) == "order"]
    if not all(row.days for row in titles):
        return False
    named = days.find_day_candidates(rows, None)
    return any(one.score >= days.CERTAIN for one in named)


def _is_estimate(rows: Sequence[NoteRow]) -> bool:
    """Whether amounts are called estimated, again and again: what a deal would cost."""
    told = [len(lexicon.ESTIMATED.findall(row.plain)) for row in rows if row.numbers]
    return sum(told) > 1
