"""Trade date and settlement date, by the words before, above or around them."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from docmill.pipelines.trades.lexicon import NOT_TRADE_DAY, SETTLEMENT_DAY, TRADE_DAY
from docmill.pipelines.trades.model import Value, read_from
from docmill.pipelines.trades.rows import Day, Row, fold

IN_ANCHOR: Final = 9.0
UNNAMED: Final = 2.0
REFUSED: Final = -9.0
ABOVE: Final = 5
PROSE: Final = 9
WEAK: Final = 3.0
DISTANCE: Final = 0.04
SURE: Final = ((9.5, 0.96), (8.0, 0.9), (4.5, 0.8), (2.5, 0.65), (0.0, 0.5))
_AT_END: Final = 28
_ON: Final = re.compile(r"\b(?:am|on|le|den|el|il|op)$")
_LAST: Final = 40  # letters before a date that may name it


@dataclass(frozen=True, slots=True)
class Candidate:
    """A date, how well it does as a trade date, and whether it is named as the settlement's."""

    row: Row
    day: Day
    score: float
    settles: bool


def days_of(rows: Sequence[Row], anchor: Row | None) -> list[Candidate]:
    """All dates of these rows."""
    found: list[Candidate] = []
    for at, row in enumerate(rows):
        for index, day in enumerate(row.days):
            label = _label(rows, at, index)
            settles = bool(SETTLEMENT_DAY.search(label)) and _weight(label) < 10
            found.append(Candidate(row, day, _score(label, row, day, anchor, settles), settles))
    return found


def trade_date(candidates: Sequence[Candidate], near: int) -> Value | None:
    """The date that says best when the trade was done; among equals the nearest to a row."""
    able = [one for one in candidates if one.score > REFUSED / 2]
    if not able:
        return None

    def rank(one: Candidate) -> float:
        return one.score - DISTANCE * min(abs(one.row.index - near), 60)

    best = max(able, key=rank)
    sure = next((value for least, value in SURE if best.score >= least), 0.3)
    return _value(best, sure)


def settlement_date(candidates: Sequence[Candidate], near: int) -> Value | None:
    named = [one for one in candidates if one.settles]
    best = min(named, key=lambda one: abs(one.row.index - near), default=None)
    return _value(best, 0.9) if best else None


def _value(one: Candidate, sure: float) -> Value:
    return read_from(one.row, one.day.start, one.day.end, one.day.day.isoformat(), sure)


def _score(label: str, row: Row, day: Day, anchor: Row | None, settles: bool) -> float:
    weight = _weight(label)
    if NOT_TRADE_DAY.search(label):
        return REFUSED
    if settles and weight < 10:
        return REFUSED / 3
    if weight >= 10 and anchor is not None and row.index == anchor.index:
        return weight + 0.5
    if weight:
        return weight if row.wordy <= PROSE or weight > WEAK else UNNAMED - 1
    if anchor is not None and row.index == anchor.index:
        return IN_ANCHOR + (0.5 if day.start < 3 else 0.0)
    return UNNAMED + (1.0 if _ON.search(label) else 0.0)


def _weight(label: str) -> float:
    """What the words say: the one that ends nearest to the date."""
    found = [
        (match.end(), weight) for weight, pattern in TRADE_DAY for match in pattern.finditer(label)
    ]
    settles = [match.end() for match in SETTLEMENT_DAY.finditer(label)]
    if not found:
        return 0.0
    end, weight = max(found)
    return 0.0 if settles and max(settles) > end else float(weight)


def _label(rows: Sequence[Row], at: int, index: int) -> str:
    """The words before a date in its row; else those over it."""
    row, day = rows[at], rows[at].days[index]
    start = row.days[index - 1].end if index else 0
    before = row.text[start : day.start][-_LAST:]
    label = fold(re.sub(r"\d[\d.,:'/-]*", " ", before))
    if _weight(label) or SETTLEMENT_DAY.search(label) or NOT_TRADE_DAY.search(label):
        return label
    head = next(_heads(rows, at, index), "")
    return head or label


def _heads(rows: Sequence[Row], at: int, index: int) -> Iterator[str]:
    """The words of a table's head that name the dates below, counted or by their place."""
    row = rows[at]
    for above in range(at - 1, max(at - 1 - ABOVE, -1), -1):
        if rows[above].days or rows[above].numbers:
            continue
        names = _names(rows[above].plain)
        if not names:
            continue
        if len(names) == len(row.days):
            yield names[index]
        elif not _mixed(names):
            yield names[min(index, len(names) - 1)]


def _mixed(names: Sequence[str]) -> bool:
    """Whether some name a settlement and some a trade, so that counting tells nothing."""
    settles = [bool(SETTLEMENT_DAY.search(name)) for name in names]
    return any(settles) and not all(settles)


def _names(text: str) -> list[str]:
    """The words for dates in a head, from left to right."""
    patterns = [pattern for _, pattern in TRADE_DAY] + [SETTLEMENT_DAY]
    spans = sorted({match.span() for pattern in patterns for match in pattern.finditer(text)})
    kept: list[tuple[int, int]] = []
    for span in spans:
        if not kept or span[0] >= kept[-1][1]:
            kept.append(span)
    return [text[start:end] for start, end in kept]
