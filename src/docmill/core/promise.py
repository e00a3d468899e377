"""The promise about errors: a document is approved by rule, or its doubtful values are named."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

RATE: Final = 0.01
ROUNDING: Final = 1e-9
UNLIKELY: Final = 0.5  # a value less sure than this is looked at whatever the others are


@dataclass(frozen=True, slots=True)
class Promise:
    """What is to be expected of a document before anybody has looked.

    expected: the share of its values that is wrong, by their confidence.
    doubtful: what a person must look at so that the rest keeps the promise; none: all of it does.
    """

    rate: float
    expected: float
    doubtful: tuple[str, ...] = ()

    @property
    def approved_by(self) -> str | None:
        """The rule that approves the document; None where a person has to."""
        kept = not self.doubtful and self.expected <= self.rate + ROUNDING
        return name_rule(self.rate) if kept else None


def name_rule(rate: float) -> str:
    """`rule <= 1 %`: what stands where else the name of a person does."""
    return f"rule <= {100 * rate:g} %"


def make_promise(
    confidences: Mapping[str, float],
    rate: float = RATE,
    *,
    certain: Sequence[str] = (),
    expect: Callable[[float], float] = float,
) -> Promise:
    """Whether a document with values of these confidences, by their paths, can be approved.

    `certain` doubts, such as a sum that does not add up, are looked at in any case. Else the
    least sure values are, and as few of them as bring the rest under the rate. `expect` leads from
    what the values say one by one to what is to be expected of a whole document.
    """
    wrong = {path: 1 - sure for path, sure in confidences.items()}
    count = max(len(wrong), 1)
    expected = expect(sum(wrong.values()) / count) if wrong else 1.0
    open_paths = sorted(set(wrong) - set(certain), key=lambda path: (-wrong[path], path))
    left = sum(wrong[path] for path in open_paths)
    doubtful: list[str] = []
    for path in open_paths:
        if expect(max(left, 0.0) / count) <= rate + ROUNDING and wrong[path] <= UNLIKELY:
            break
        left -= wrong[path]
        doubtful.append(path)
    return Promise(rate, round(expected, 5), (*certain, *doubtful))
