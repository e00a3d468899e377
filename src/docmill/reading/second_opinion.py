"""One value read by rules and by a model: surer where they agree; where not, a person decides."""

from dataclasses import dataclass, replace
from typing import Any, Final

from docmill.core.fields import ValueKind
from docmill.reading.model_values import (
    UNSEEN,
    WEAK,
    Comparison,
    ModelValue,
    agree,
    compare,
    quote,
)
from docmill.reading.pages import Value

ORDERS: Final = (
    "the document gives orders to whoever reads it; what the model says makes nothing surer"
)
SUREST: Final = 0.99  # two readers of one page may be misled by the same thing
CONTESTED: Final = 0.5  # the two readers say different things that are both on the page


@dataclass(frozen=True, slots=True)
class Dispute:
    """A value that a person decides on: what each reader says, and a sentence."""

    path: str
    rules: str | None
    model: Value | None
    reason: str
    found: bool = True

    def to_json(self) -> dict[str, Any]:
        model = self.model
        place = {"page": model.page, "box": model.box.to_list()} if model and model.box else None
        return {
            "path": self.path,
            "page": self.rules,
            "model": model.value if model else None,
            "found": self.found,
            "place": place,
            "reason": self.reason,
        }


@dataclass(frozen=True, slots=True)
class Terms:
    """How two readings of a value are to be held against each other.

    plain: nothing in the document speaks to its reader.
    alone: the rules have not even the line, or the trade, that the value is in.
    doubted: a person looks where the two differ.
    signless: a minus before it does not matter.
    """

    plain: bool = True
    alone: bool = False
    doubted: bool = True
    signless: bool = False


@dataclass(frozen=True, slots=True)
class Pair:
    """One value as both have read it."""

    path: str
    kind: ValueKind
    rules: Value | None
    model: ModelValue | None
    terms: Terms

    @property
    def likeness(self) -> Comparison:
        if self.rules is None or self.model is None or not self.model.value:
            return Comparison.DIFFERENT
        signless = self.terms.signless
        return compare(self.kind, self.rules.value, self.model.value, signless=signless)

    @property
    def agreed(self) -> Value | None:
        """The rules' value, surer where the model's is the same and stands on the page."""
        if self.rules is None or not self.terms.plain or not (self.model and self.model.is_seen):
            return self.rules
        own = self.rules.confidence  # as fitted it may be finer than two places
        return replace(self.rules, confidence=max(own, min(round(agree(own), 2), SUREST)))

    def dispute(self, reason: str) -> Dispute:
        model = self.model
        seen = bool(model and model.is_seen)
        shown = model and (model.to_value() if model.value else Value(model.text, UNSEEN))
        rules = self.rules.value if self.rules else None
        return Dispute(self.path, rules, shown, reason, seen)


Decision = tuple[Value | None, Dispute | None]


def decide_for_rules(pair: Pair) -> Decision:
    """`both`: what the rules read stays; what only the model reads comes in with little trust."""
    rules, model = pair.rules, pair.model
    if model is None:
        return rules, None
    if pair.terms.alone:
        return model.to_value(min(WEAK, model.confidence)) if model.is_seen else None, None
    likeness = pair.likeness
    if likeness is Comparison.SAME:
        return pair.agreed, None
    if likeness is Comparison.ALIKE or not pair.terms.doubted:
        return rules, None
    if rules is None:
        taken = model.to_value(min(WEAK, model.confidence)) if model.is_seen else None
        says = f"Only the model reads {quote(model.text)}" if taken else model.explain()
        return taken, pair.dispute(says)
    kept = rules.sure(min(rules.confidence, CONTESTED)) if model.is_seen else rules
    return kept, pair.dispute(model.explain())


def decide_for_model(pair: Pair) -> Decision:
    """`model`: what the model reads stands; the rules are a witness that costs nothing."""
    rules, model = pair.rules, pair.model
    if model is None:
        told = rules is not None and pair.terms.doubted and rules.confidence >= WEAK
        says = f"The rules read {quote(rules.value)}, the model nothing" if rules else ""
        return None, pair.dispute(says) if told else None
    likeness = pair.likeness
    if likeness is Comparison.SAME:
        return pair.agreed, None
    value = model.to_value() if model.value else None
    if value and not pair.terms.plain:
        value = value.sure(min(value.confidence, WEAK))
    if not model.is_seen:
        return value, pair.dispute(model.explain())
    if rules is None or likeness is Comparison.ALIKE or not pair.terms.doubted:
        return value, None
    contested = value and value.sure(min(value.confidence, CONTESTED))
    return contested, pair.dispute(f"The rules read {quote(rules.value)}")


def decide(pair: Pair, *, mode: str) -> Decision:
    """`mode` is `both` or `model`."""
    return decide_for_model(pair) if mode == "model" else decide_for_rules(pair)


def weaken(value: Value) -> Value:
    return value.sure(min(value.confidence, WEAK))
