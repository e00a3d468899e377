"""How long a job will take, from how long others of its kind took."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import Final

GUESS: Final = 5.0
ENOUGH: Final = 5
# From this percentage on, a run's own pace says more than the pace of others.
TRUSTED: Final = 25


@dataclass(frozen=True, slots=True)
class Sample:
    bytes: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Speed:
    """Seconds = fixed + per_byte x bytes, as measured."""

    fixed: float = GUESS
    per_byte: float = 0.0
    guessed: bool = False

    def seconds(self, size: int) -> float:
        return self.fixed + self.per_byte * size


def measure(samples: Sequence[Sample]) -> Speed:
    """A straight line through the samples, never one that says bigger is faster."""
    if not samples:
        return Speed(guessed=True)
    middle = median(sample.seconds for sample in samples)
    if len(samples) < ENOUGH:
        return Speed(middle)
    x, y = fmean(s.bytes for s in samples), fmean(s.seconds for s in samples)
    spread = sum((s.bytes - x) ** 2 for s in samples)
    together = sum((s.bytes - x) * (s.seconds - y) for s in samples)
    slope = together / spread if spread else 0.0
    if slope <= 0 or y - slope * x < 0:
        return Speed(middle)
    return Speed(y - slope * x, slope)


def wait(ahead: int, slots: int, speed: Speed, size: int) -> float:
    """Seconds until a job begins with so many before it."""
    return ahead / max(slots, 1) * speed.seconds(size)


def left(speed: Speed, size: int, *, elapsed: float, progress: int) -> float:
    """Seconds until a running job ends: measured speed at first, its own pace as it shows."""
    by_speed = max(speed.seconds(size) - elapsed, 0.0)
    if progress <= 0:
        return by_speed
    by_pace = elapsed * (100 - progress) / progress
    weight = 1.0 if speed.guessed else min(progress / TRUSTED, 1.0)
    return by_pace * weight + by_speed * (1 - weight)
