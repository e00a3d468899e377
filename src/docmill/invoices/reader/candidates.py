"""Values that a field of the head may have: how well each is supported, and the best one."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from docmill.reading.labels import TextCell, Where
from docmill.reading.pages import Box, Value

AGAIN: Final = 0.06  # for each further place that says the same
PLACES: Final = {  # what a value loses by where it stands
    Where.BEHIND: 0.0,
    Where.BESIDE: 0.02,
    Where.BELOW: 0.08,
    Where.FAR_BELOW: 0.3,
    Where.BEFORE: 0.35,
}


@dataclass(frozen=True, slots=True)
class HeaderCandidate:
    """A value somebody may mean, how well it is supported, and where it stands."""

    value: str
    score: float
    page: int
    box: Box
    text: str


def make_candidate(
    value: str, score: float, *, cell: TextCell, start: int, end: int
) -> HeaderCandidate:
    """A candidate that stands in a cell, from character to character."""
    return HeaderCandidate(value, score, cell.page, cell.place(start, end), cell.text[start:end])


def choose_best(candidates: Iterable[HeaderCandidate], least: float = 0.2) -> Value | None:
    """The best supported value; sure when no other one comes near."""
    support: dict[str, list[HeaderCandidate]] = defaultdict(list)
    for candidate in candidates:
        support[candidate.value].append(candidate)
    ranked = sorted(
        (
            (max(item.score for item in same) + AGAIN * min(len(same) - 1, 3), same)
            for same in support.values()
        ),
        key=lambda pair: -pair[0],
    )
    if not ranked or ranked[0][0] < least:
        return None
    top, same = ranked[0]
    chosen = max(same, key=lambda item: item.score)
    margin = top - ranked[1][0] if len(ranked) > 1 else top
    confidence = min(0.99, max(0.05, 0.45 + 0.4 * min(top, 1) + 0.5 * min(margin, 0.3)))
    return Value(chosen.value, round(confidence, 2), chosen.page, chosen.box, chosen.text)
