"""How long uploads and results are kept, by pipeline, and for how long when the disk is full."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final, Literal

StoredKind = Literal["uploads", "results"]
DAY: Final = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class RetentionRules:
    """What the operator has set. None is for good; owners may have rules of their own.

    `pipelines` are those with periods of their own, by kind. Above `pressure` (the part of the disk
    that is used) the `pressed` periods hold for what they would shorten.
    """

    uploads: timedelta = timedelta(days=7)
    results: timedelta = timedelta(days=30)
    pipelines: Mapping[StoredKind, Mapping[str, timedelta | None]] = field(
        default_factory=dict[StoredKind, Mapping[str, timedelta | None]]
    )
    pressure: float = 0.85
    pressed_uploads: timedelta = timedelta(days=1)
    pressed_results: timedelta = timedelta(days=7)

    def keep(self, kind: StoredKind, pipeline: str) -> timedelta | None:
        standard = self.uploads if kind == "uploads" else self.results
        return self.pipelines.get(kind, {}).get(pipeline, standard)

    def in_days(self) -> dict[str, dict[str, float | None]]:
        """By kind and pipeline, '' for all others: as the database reads them."""
        return {
            "uploads": {"": self.uploads / DAY, **self._days("uploads")},
            "results": {"": self.results / DAY, **self._days("results")},
        }

    def _days(self, kind: StoredKind) -> dict[str, float | None]:
        return {
            name: None if keep is None else keep / DAY
            for name, keep in self.pipelines.get(kind, {}).items()
        }

    def is_pressed(self, fullness: float | None) -> bool:
        return fullness is not None and fullness > self.pressure


@dataclass(frozen=True, slots=True)
class DueWhen:
    """Past its time; under pressure of the disk also when it is older than `short`."""

    pressed: bool = False
    short: timedelta = timedelta()


@dataclass(frozen=True, slots=True)
class SweptCount:
    """What a sweep took of one kind."""

    count: int = 0
    bytes: int = 0

    def __add__(self, other: "SweptCount") -> "SweptCount":
        return SweptCount(self.count + other.count, self.bytes + other.bytes)
