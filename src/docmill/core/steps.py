"""Long work in steps: what is done is kept now and then, and a later try goes on from there."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

# Kept so often at most: what takes less is done again sooner than it is looked up.
EVERY_SECONDS: Final = 3.0
# Characters of JSON that are kept at a time, about.
FULL: Final = 500_000


@dataclass(frozen=True, slots=True)
class Memory:
    """What a run leaves for a later try of the same job, by kind of work.

    `keep(kind, number, items)` keeps a step, `recall(kind, number)` gives its items back, None
    where there is none; steps are numbered from 0. Nothing is promised: what was kept may be
    forgotten, and is then done again.
    """

    keep: Callable[[str, int, list[Any]], None]
    recall: Callable[[str, int], list[Any] | None]


def _no_keep(_kind: str, _number: int, _items: list[Any]) -> None:
    """For runs that nobody will repeat."""


def _no_recall(_kind: str, _number: int) -> None:
    return None


FORGETFUL: Final = Memory(_no_keep, _no_recall)


class Steps:
    """One kind of work, item after item."""

    def __init__(self, memory: Memory, kind: str, written: Callable[[Any], Any]) -> None:
        """`written` gives an item as JSON; it is called only for what is kept."""
        self._memory: Memory = memory
        self._kind: str = kind
        self._written: Callable[[Any], Any] = written
        self._number: int = 0
        self._held: list[Any] = []
        self._size: int = 0
        self._kept_at: float = time.monotonic()

    def earlier(self) -> Iterator[Any]:
        """What an earlier try has done, in its order, as it was written."""
        while (items := self._memory.recall(self._kind, self._number)) is not None:
            yield from items
            self._number += 1
        self._kept_at = time.monotonic()

    def done(self, item: Any, size: int) -> None:
        """`size` is about how many characters its JSON has."""
        if self._memory is FORGETFUL:
            return
        self._held.append(item)
        self._size += size
        if self._size >= FULL or time.monotonic() - self._kept_at >= EVERY_SECONDS:
            written = [self._written(one) for one in self._held]
            self._memory.keep(self._kind, self._number, written)
            self._number += 1
            self._held, self._size, self._kept_at = [], 0, time.monotonic()
