"""What one process measures of itself: read when somebody asks, and sent to nobody."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Meter:
    """`read` gives a value for each value of `labels`; `()` is the only one where there are none.

    `counts`: the values only grow, from the start of the process on.
    """

    name: str
    says: str
    read: Callable[[], Mapping[tuple[str, ...], float]]
    labels: tuple[str, ...] = ()
    counts: bool = False


class Meters:
    """Written by the parts of a process, read by who tells how it fares. One meter per name."""

    def __init__(self) -> None:
        self._meters: dict[str, Meter] = {}

    def add(self, *meters: Meter) -> None:
        """In the place of one that a part added before it was started again."""
        self._meters |= {meter.name: meter for meter in meters}

    def __iter__(self) -> Iterator[Meter]:
        return iter(list(self._meters.values()))


def measure_one(read: Callable[[], float]) -> Callable[[], dict[tuple[str, ...], float]]:
    """The reading of a meter that has no labels."""
    return lambda: {(): read()}
