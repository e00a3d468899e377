"""What stands between lines, net, tax and gross: charges, discounts, rounding, tax withheld."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import lru_cache
from typing import Final

from docmill.invoices.checks import TOLERANCE
from docmill.invoices.reader.amounts import LabelledAmount

MOST_PARTS: Final = 6
CENT: Final = Decimal("0.01")
SLACK: Final = int(TOLERANCE / CENT)
_OF_LINES: Final = frozenset({"charge", "discount", "rounding"})
_OF_GROSS: Final = _OF_LINES | {"withholding"}

PartCounts = dict[int, int]  # a sum in cents, and of how few parts it is made


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a set of net, tax and gross is held against."""

    lines: int | None
    of_lines: PartCounts
    of_gross: PartCounts
    fitting: dict[Decimal, bool] = field(default_factory=dict[Decimal, bool])  # what was asked

    def count_parts(self, gap: int, slack: int) -> int | None:
        """Of how many charges and discounts a gap in cents is made; None where it is of none."""
        return _look_up(self.of_gross, gap, slack)

    def fits_lines(self, total: Decimal) -> bool:
        """Whether the lines come to a total, with charges and discounts or without."""
        if not self.lines:
            return False
        known = self.fitting.get(total)
        if known is None:
            found = _look_up(self.of_lines, to_cents(total) - self.lines, SLACK)
            known = self.fitting[total] = found is not None
        return known


def make_surroundings(amounts: Sequence[LabelledAmount], lines: Decimal | None) -> Surroundings:
    return Surroundings(
        None if lines is None else to_cents(lines),
        _sum_parts(_signed_parts(amounts, _OF_LINES)),
        _sum_parts(_signed_parts(amounts, _OF_GROSS)),
    )


@lru_cache(maxsize=4096)  # the same amounts are weighed in many sets
def to_cents(value: Decimal) -> int:
    return int((value / CENT).to_integral_value())


def _look_up(sums: PartCounts, gap: int, slack: int) -> int | None:
    if len(sums) == 1:  # nothing stands between
        return 0 if abs(gap) <= slack else None
    fitting = [count for value, count in sums.items() if -slack <= value - gap <= slack]
    return min(fitting) if fitting else None


def _signed_parts(amounts: Iterable[LabelledAmount], roles: frozenset[str]) -> list[int]:
    """Charges as they are, discounts and withheld tax as what they take off.

    An amount that is printed twice is one.
    """
    likely: dict[int, LabelledAmount] = {}  # of each figure the first reading
    for item in amounts:
        role = "withholding" if item.role == "tax" and item.value < 0 else item.role
        if role in roles and item.weight > 0.5 and item.value:
            likely.setdefault(id(item.figure), item)
    found = dict.fromkeys(_signed_value(item) for item in likely.values())
    return list(found)[:MOST_PARTS]


def _signed_value(item: LabelledAmount) -> int:
    cents = to_cents(item.value)
    if item.role == "rounding":
        return cents
    return abs(cents) if item.role == "charge" else -abs(cents)


def _sum_parts(parts: Iterable[int]) -> PartCounts:
    """All that some of the parts come to, each part taken once or not at all."""
    sums: PartCounts = {0: 0}
    for part in parts:
        for value, count in list(sums.items()):
            if sums.get(value + part, MOST_PARTS + 1) > count + 1:
                sums[value + part] = count + 1
    return sums
