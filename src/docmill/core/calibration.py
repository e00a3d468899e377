"""Confidence that means what it says: 0.9 is right nine times in ten.

A reader's own score and what else is known of a value are weighed (a logistic), and a table, which
only rises, says what share of values with that weight was right on documents not fitted on.
"""

import json
import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

SCANNED: Final = "scanned"
TEXT: Final = "text"
PLACES: Final = 3  # decimals of a confidence
LOWEST: Final = 0.02
HIGHEST: Final = 0.995
USUAL: Final = 2.0  # the score of an ordinary value as log odds

Features = Mapping[str, float]
Knots = Sequence[tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Calibration:
    """Weights by kind of field, by field and medium the knots of its table, and of documents.

    Values of one document are right or wrong together: `documents` leads from the mean of what
    its values let expect to the share that was wrong in all documents that are as sure or surer.
    """

    weights: Mapping[str, Mapping[str, float]]
    tables: Mapping[str, Knots]
    documents: Mapping[str, Knots]

    def estimate(self, kind: str, field: str, features: Features) -> float:
        """How sure a value is that has these features."""
        return self.level(field, features, weigh(self.weights[kind], field, features))

    def level(self, field: str, features: Features, weight: float) -> float:
        """What the weight of a value's features is worth."""
        table = self.tables.get(name_table(field, features)) or self.tables[field]
        return round(look_up(table, weight), PLACES)

    def expect(self, share: float, *, scanned: bool = False) -> float:
        """The share of wrong values in all documents whose values let expect this one, or less."""
        knots = self.documents[SCANNED if scanned else TEXT]
        return look_up(knots, share) if knots else 1.0


def load_calibration(text: str) -> Calibration:
    given: Mapping[str, Any] = json.loads(text)
    tables = {name: tuple((x, y) for x, y in knots) for name, knots in given["tables"].items()}
    documents = {
        name: tuple((x, y) for x, y in knots) for name, knots in given["documents"].items()
    }
    return Calibration(given["weights"], tables, documents)


def name_table(field: str, features: Features) -> str:
    return f"{field} {SCANNED}" if features.get(SCANNED) else field


def weigh(weights: Mapping[str, float], field: str, features: Features) -> float:
    """The sum of a value's features by their weights, those of its own field included."""
    total = weights.get(f"is:{field}", 0.0) + weights.get(f"score:{field}", 0.0) * features["score"]
    return total + sum([weights.get(name, 0.0) * value for name, value in features.items()])


def score_feature(confidence: float) -> float:
    """A reader's own confidence as a feature: its log odds over those of an ordinary value."""
    kept = min(max(confidence, LOWEST), HIGHEST)
    return math.log(kept / (1 - kept)) - USUAL


def look_up(knots: Knots, at: float) -> float:
    """The height of a table there: straight between its knots, level outside."""
    index = bisect_right(knots, at, key=lambda knot: knot[0])
    if index in (0, len(knots)):
        return knots[0 if not index else -1][1]
    (left, low), (right, high) = knots[index - 1], knots[index]
    return low + (high - low) * (at - left) / (right - left)
