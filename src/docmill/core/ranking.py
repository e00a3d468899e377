"""Several rankings of the same things made one: reciprocal rank fusion."""

from collections.abc import Sequence
from typing import Final

# How little the first places stand out. With the usual 60, the tenth place in two rankings beats
# the first in one; so long a memory is for long rankings of many.
SMOOTH: Final = 10


def fused(*rankings: Sequence[int]) -> list[tuple[float, int]]:
    """Scores and things, best first: 1 for what every ranking has in its first place."""
    scores: dict[int, float] = {}
    for ranking in rankings:
        for place, thing in enumerate(ranking):
            scores[thing] = scores.get(thing, 0.0) + (SMOOTH + 1) / (SMOOTH + 1 + place)
    shares = ((round(score / len(rankings), 6), thing) for thing, score in scores.items())
    return sorted(shares, key=lambda item: (-item[0], item[1]))
