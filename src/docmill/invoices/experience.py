"""What reviews of invoices say of confidence: how often values that were so sure stayed."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from docmill.core.experience import Counts, blend_confidence, count_values
from docmill.invoices.confidence import KINDS, name_field
from docmill.invoices.fields import value_at


def count_reviews(reviews: Iterable[tuple[Mapping[str, Any], Mapping[str, Any]]]) -> Counts:
    """From what was read and what was approved of it, how many values stayed."""
    return count_values(each for pair in reviews for each in _list_values(*pair))


def _list_values(
    read: Mapping[str, Any], approved: Mapping[str, Any]
) -> Iterator[tuple[str, float, bool]]:
    for path, seen in read["evidence"].items():
        field = name_field(path)
        if field in KINDS and value_at(read, path) is not None:
            yield field, seen["confidence"], _is_kept(path, read, approved)


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
        if "learned" not in seen:
            sure = blend_confidence(counts, name_field(path), seen["confidence"])
            evidence[path] = {**seen, "confidence": sure}
    return {**data, "evidence": evidence}
