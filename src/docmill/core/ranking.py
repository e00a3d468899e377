"""Several rankings of the same things made one: reciprocal rank fusion."""

from collections.abc import Sequence
from typing import Final

# How little the first places stand out. With the usual 60, the tenth place in two rankings beats
# the first in one; so long a memory is for long rankings of many.
SMOOTH: Final = 2
# People ask in words of their own, so those count less than what they mean.
WORDS, MEANING = 0.7, 1.0


def fused(*rankings: tuple[float, Sequence[int]]) -> list[tuple[float, int]]:
    """Scores and things, best first: 1 for what every ranking has in its first place.

    Each ranking comes with its weight.
    """
    scores: dict[int, float] = {}
    for weight, ranking in rankings:
        for place, thing in enumerate(ranking):
            share = weight * (SMOOTH + 1) / (SMOOTH + 1 + place)
            scores[thing] = scores.get(thing, 0.0) + share
    whole = sum(weight for weight, _ in rankings)
    shares = ((round(score / whole, 6), thing) for thing, score in scores.items())
    return sorted(shares, key=lambda item: (-item[0], item[1]))


def both(words: Sequence[int], meaning: Sequence[int]) -> list[tuple[float, int]]:
    """One ranking of the two; that of the words alone where nothing is known of the meaning."""
    return fused((WORDS, words), (MEANING, meaning)) if meaning else fused((WORDS, words))
