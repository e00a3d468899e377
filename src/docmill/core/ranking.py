"""How well passages fit a question, by meaning and by words, made one score."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

# What a word is worth beside meaning. Measured: docs/decisions/0029-scores.md.
WORDS: Final = 0.03


@dataclass(frozen=True, slots=True)
class Likeness:
    """Of one passage: its words' weights added up, and how near it is in meaning, 1 at most.

    `meaning` is None where the passage has no vector of the model that is asked.
    """

    id: int
    words: float
    meaning: float | None


def rarity(passages: float, of: float) -> float:
    """The weight of a word that so many of the passages have."""
    return math.log1p(of / passages)


def ranked(found: Sequence[Likeness], weights: Sequence[float]) -> list[tuple[float, int]]:
    """Scores from 0 to 1 and passages, best first.

    `weights` are those of the words asked for: 1 is a passage that means the same and has them
    all. What has no vector counts as the farthest of what has one, and where nothing has one,
    the words decide alone.
    """
    farthest = min((one.meaning for one in found if one.meaning is not None), default=None)
    whole = WORDS * sum(weights) + (0.0 if farthest is None else 1.0)

    def score(one: Likeness) -> float:
        meaning = farthest if one.meaning is None else one.meaning
        return max(0.0, min(1.0, round((WORDS * one.words + (meaning or 0.0)) / whole, 6)))

    scores = ((score(one), one.id) for one in found) if whole else ()
    return sorted(scores, key=lambda item: (-item[0], item[1]))
