"""When a trade is approved without a person: the one rule, and how it is said."""

from dataclasses import dataclass
from typing import Final

PENDING: Final = "pending"
APPROVED: Final = "approved"


@dataclass(frozen=True, slots=True)
class Approval:
    """`approved_by` is the rule in words; nothing is approved without them."""

    status: str
    approved_by: str | None = None


def decide_approval(confidence: float, threshold: float) -> Approval:
    """What becomes of a trade that was just read, by how sure its values are."""
    if confidence < threshold:
        return Approval(PENDING)
    return Approval(APPROVED, f"rule: every needed value at {threshold:.2f} or surer")


def decide_by_promise(rule: str | None) -> Approval:
    """The same by the promise about errors: `rule` is what approves it, if anything does."""
    return Approval(APPROVED, rule) if rule else Approval(PENDING)
