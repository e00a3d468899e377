"""What an owner's own reviews say of confidence: how often values that were so sure stayed."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from docmill.core.calibration import PLACES
from docmill.invoices.confidence import KINDS, name_field
from docmill.invoices.fields import value_at

STEPS: Final = (0.0, 0.5, 0.7, 0.8, 0.9, 0.95, 0.98)
TRUST: Final = 30  # reviewed values that count as much as all that was fitted before
ENOUGH: Final = 20  # approved reviews before they say anything

Counts = Mapping[str, Mapping[str, tuple[int, int]]]  # field, step: right ones, all


def find_step(confidence: float) -> str:
    return f"{max(low for low in STEPS if low <= confidence):g}"


def count_reviews(reviews: Iterable[tuple[Mapping[str, Any], Mapping[str, Any]]]) -> Counts:
    """From what was read and what was approved of it, how many values stayed."""
    found: dict[str, dict[str, tuple[int, int]]] = {}
    for read, approved in reviews:
        for path, seen in read["evidence"].items():
            field = name_field(path)
            if field not in KINDS or value_at(read, path) is None:
                continue
            stayed = _is_kept(path, read, approved)
            steps = found.setdefault(field, {})
            right, count = steps.get(find_step(seen["confidence"]), (0, 0))
            steps[find_step(seen["confidence"])] = (right + stayed, count + 1)
    return found


def _is_kept(path: str, read: Mapping[str, Any], approved: Mapping[str, Any]) -> bool:
    """A line is known by its amount: one put in before it makes no value wrong."""
    if not path.startswith("lines"):
        return value_at(read, path) == value_at(approved, path)
    name = path.rpartition(".")[2]
    amount = value_at(read, f"{path.rpartition('.')[0]}.amount")
    lines = [line for line in approved.get("lines") or () if line.get("amount") == amount]
    return any(line.get(name) == value_at(read, path) for line in lines)


def apply_experience(data: dict[str, Any], counts: Counts) -> dict[str, Any]:
    """The invoice with confidences between those fitted for all and what this owner has seen."""
    if not counts:
        return data
    evidence = dict(data["evidence"])
    for path, seen in data["evidence"].items():
        right, count = counts.get(name_field(path), {}).get(find_step(seen["confidence"]), (0, 0))
        if count and "learned" not in seen:
            sure = (TRUST * seen["confidence"] + right) / (TRUST + count)
            evidence[path] = {**seen, "confidence": round(sure, PLACES)}
    return {**data, "evidence": evidence}
