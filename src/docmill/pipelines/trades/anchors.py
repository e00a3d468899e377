"""Rows that say buy or sell, and the blocks of rows each of them opens."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from docmill.pipelines.trades.lexicon import (
    BUY,
    KINDS,
    MILD,
    NOT_DIRECTION,
    SELL,
    SUBSCRIBED_RIGHTS,
    TORN,
    VERBS,
)
from docmill.pipelines.trades.rows import Row

Direction = Literal["buy", "sell"]
_SOLD: Final = frozenset({"verkauf", "verkauft", "sold"})
PROSE: Final = 13  # words of letters: more are a sentence, not a title or a table's row
SHORT: Final = 6
HEAD: Final = 4
TITLE: Final = 6


@dataclass(frozen=True, slots=True)
class Anchor:
    """A row that names a direction, and how surely: 1 in a title, less further in."""

    row: Row
    direction: Direction
    weight: float
    start: int


def anchors_of(rows: Sequence[Row]) -> list[Anchor]:
    """All rows that say buy or sell, from top to bottom."""
    return [anchor for row in rows if (anchor := anchor_of(row))]


def anchor_of(row: Row) -> Anchor | None:
    text = NOT_DIRECTION.sub(" ", row.plain)
    buy, sell = BUY.search(text), SELL.search(text)
    if not buy and not sell:
        torn = TORN.search(row.plain.replace(" ", ""))
        if torn:
            said = next(word for word in torn.groups() if word)
            return Anchor(row, "sell" if said in _SOLD else "buy", 0.9, 0)
        rights = SUBSCRIBED_RIGHTS.match(text)
        return Anchor(row, "buy", 0.8, 0) if rights and row.wordy <= PROSE else None
    if buy and sell:
        first = min(buy, sell, key=lambda match: match.start())
        if not _row_of_table(row) or abs(buy.start() - sell.start()) < 12:
            return None
        match = first
    else:
        match = buy or sell
    assert match is not None
    weight = _weight(row, text, match.start(), match.group())
    return Anchor(row, "buy" if match is buy else "sell", weight, match.start()) if weight else None


def _row_of_table(row: Row) -> bool:
    return len(row.numbers) > 1 or bool(row.days)


def _weight(row: Row, text: str, start: int, word: str) -> float:
    before = text[:start].count(" ")
    mild = bool(MILD.fullmatch(word))
    if mild and before > 1 and row.wordy > SHORT:
        return 0.0
    if row.wordy > PROSE and not _row_of_table(row):
        return 0.9 if VERBS.search(text) and not mild else 0.0
    if row.wordy <= SHORT or before < HEAD:
        return 0.6 if mild else 1.0
    return 0.3 if mild else 0.7


def kind_of(row: Row) -> str:
    """What kind of paper a title makes of a document; the empty string where it says nothing."""
    if row.wordy > TITLE or row.numbers or row.text.endswith("."):
        return ""
    return next((kind for kind, pattern in KINDS if pattern.search(row.plain)), "")
