"""Several rankings of the same things made one: reciprocal rank fusion."""

from collections.abc import Sequence
from typing import Final

# How little the first places stand out; the value most of those who tried found good.
SMOOTH: Final = 60


def fused(*rankings: Sequence[int]) -> list[tuple[float, int]]:
    """Scores and things, best first: 1 for what every ranking has in its first place."""
    scores: dict[int, float] = {}
    for ranking in rankings:
        for place, thing in enumerate(ranking):
            scores[thing] = scores.get(thing, 0.0) + (SMOOTH + 1) / (SMOOTH + 1 + place)
    shares = ((round(score / len(rankings), 6), thing) for thing, score in scores.items())
    return sorted(shares, key=lambda item: (-item[0], item[1]))
