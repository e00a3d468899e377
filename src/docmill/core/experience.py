"""What an owner's own reviews say of confidence: how often values that were so sure stayed."""

from collections.abc import Iterable, Mapping
from typing import Final

from docmill.core.calibration import PLACES
from docmill.core.scoring import Step

STEPS: Final = (0.0, 0.5, 0.7, 0.8, 0.9, 0.95, 0.98)
TRUST: Final = 30  # reviewed values that count as much as all that was fitted before
ENOUGH: Final = 20  # approved reviews before they say anything

Counts = Mapping[str, Mapping[str, tuple[int, int]]]  # field, step: right ones, all


def find_step(confidence: float) -> str:
    return f"{max(low for low in STEPS if low <= confidence):g}"


def count_values(values: Iterable[tuple[str, float, bool]]) -> Counts:
    """From fields, how sure their values were and whether they stayed: how many did, by step."""
    found: dict[str, dict[str, tuple[int, int]]] = {}
    for field, confidence, stayed in values:
        steps = found.setdefault(field, {})
        right, count = steps.get(find_step(confidence), (0, 0))
        steps[find_step(confidence)] = (right + stayed, count + 1)
    return found


def blend_confidence(counts: Counts, field: str, confidence: float) -> float:
    """Between what was fitted for all and what this owner has seen."""
    right, count = counts.get(field, {}).get(find_step(confidence), (0, 0))
    return round((TRUST * confidence + right) / (TRUST + count), PLACES) if count else confidence


def sum_steps(counts: Counts) -> list[Step]:
    """All fields together: of values so sure, how many stayed."""
    found: list[Step] = []
    for low, high in zip(STEPS, (*STEPS[1:], 1.0), strict=True):
        inside = [steps[f"{low:g}"] for steps in counts.values() if f"{low:g}" in steps]
        count = sum(each[1] for each in inside)
        if count:
            found.append(Step(low, count, (low + high) / 2, sum(one[0] for one in inside) / count))
    return found
