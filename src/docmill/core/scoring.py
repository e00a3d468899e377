"""What was read held against the truth: each value, and what confidence was worth."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

STEPS: Final = (0.0, 0.5, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99)
SURE: Final = 0.9


@dataclass(frozen=True, slots=True)
class JudgedValue:
    """One value of a document: what was read, what is true, and where it stands.

    `value` is None where nothing was read, `wanted` where there is nothing to read.
    """

    document: str
    path: str
    field: str
    right: bool
    wanted: str | None
    value: Any = None
    confidence: float = 0.0
    page: int | None = None
    box: Sequence[float] | None = None


@dataclass(frozen=True, slots=True)
class Tally:
    """How many values were read, and how many of them are right; `missing` were not read."""

    count: int = 0
    right: int = 0
    missing: int = 0

    @property
    def share(self) -> float:
        """Of all that are to be read."""
        return self.right / max(self.count + self.missing, 1)

    @property
    def precision(self) -> float:
        """Of those that were read."""
        return self.right / max(self.count, 1)


def tally(values: Iterable[JudgedValue]) -> Tally:
    found = list(values)
    read = [each for each in found if each.value is not None]
    return Tally(len(read), sum(each.right for each in read), len(found) - len(read))


def tally_sure(values: Iterable[JudgedValue], least: float = SURE) -> Tally:
    """Only of values that are at least so sure."""
    return tally(each for each in values if each.value is not None and each.confidence >= least)


@dataclass(frozen=True, slots=True)
class Step:
    """Values of about one confidence: how many, how sure they were, how many were right."""

    low: float
    count: int
    mean: float
    right: float


def list_steps(values: Iterable[JudgedValue], steps: Sequence[float] = STEPS) -> list[Step]:
    """The reliability diagram in numbers: a step is honest where `right` is at least `mean`."""
    inside: dict[float, list[JudgedValue]] = defaultdict(list)
    for each in values:
        if each.value is not None:
            inside[max(low for low in steps if low <= each.confidence)].append(each)
    return [_make_step(low, inside[low]) for low in sorted(inside)]


def _make_step(low: float, values: Sequence[JudgedValue]) -> Step:
    count = len(values)
    mean = sum(each.confidence for each in values) / count
    return Step(low, count, mean, sum(each.right for each in values) / count)
