"""Whether a trade is approved by rule, and else what a person should look at.

What our own reader says is judged by the promise about errors, what a service or a model says by a
threshold: nobody has measured how far their confidence can be believed.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import partial
from typing import Any, Final

from docmill.core.fields import ValueKind
from docmill.core.promise import RATE, Promise, make_promise
from docmill.trades import checks
from docmill.trades.confidence import PROMISED, load_fitted, parse_number
from docmill.trades.fields import FIELDS, NAMES

Json = Mapping[str, Any]
SURE_NAME: Final = checks.THRESHOLD  # what else names a security that has no ISIN


@dataclass(frozen=True, slots=True)
class TradeJudge:
    """By what a document's trades are judged. `threshold`: as the owner or the operator has set
    it; a value less sure than that is looked at in any case."""

    rate: float = RATE
    threshold: float | None = None
    scanned: bool = False

    def judge(self, values: Json, evidence: Json, told: Sequence[str] = ()) -> Promise:
        """`told`: how the reader says that the numbers fit together."""
        certain = [
            *checks.find_certain(values, evidence, told),
            *_list_unsure(values, evidence, self.threshold),
        ]
        sure = {
            name: confidence
            for name in PROMISED
            if values.get(name) is not None
            and (confidence := _weigh_evidence(values, evidence, name)) is not None
        }
        expect = partial(load_fitted().expect, scanned=self.scanned)
        return make_promise(sure, self.rate, certain=list(dict.fromkeys(certain)), expect=expect)


def parse_values(trade: Json) -> dict[str, Any]:
    """The values of a result's JSON as the table has them."""
    return {field.name: _parse_value(field.kind, trade.get(field.name)) for field in FIELDS}


def _parse_value(kind: ValueKind, value: Any) -> str | Decimal | date | None:
    match kind:
        case ValueKind.AMOUNT:
            return parse_number(value)
        case ValueKind.DATE:
            return date.fromisoformat(value) if value else None
        case _:
            return value


def find_certain(data: Json, index: int) -> list[str]:
    """What of a trade in a result has to be looked at, however sure it is."""
    values = parse_values(data["trades"][index])
    evidence = list_evidence(data, index)
    return list(checks.find_certain(values, evidence, data["checks"][f"trades[{index}]"]))


def list_evidence(data: Json, index: int) -> dict[str, Any]:
    """What was seen of the values of one trade, by name."""
    evidence: Json = data["evidence"]
    start = f"trades[{index}]."
    found = {name: evidence.get(start + name) for name in NAMES}
    return {name: seen for name, seen in found.items() if seen}


def explain_doubts(
    values: Json, evidence: Json, raw: Json, threshold: float | None
) -> dict[str, str]:
    """A sentence for each value that a person should look at, as the trade stands now."""
    promise: Json | None = raw.get("promise")
    if promise is None:
        least = checks.THRESHOLD if threshold is None else threshold
        return checks.find_doubts(values, evidence, least)
    judge = TradeJudge(float(promise["rate"]), threshold, bool(promise.get("scanned")))
    told: Sequence[str] = raw.get("checks") or ()
    reasons = checks.find_certain(values, evidence, told)
    doubtful = judge.judge(values, evidence, told).doubtful
    return {
        name: reasons.get(name) or checks.say_confidence(checks.find_confidence(evidence, name))
        for name in NAMES
        if name in doubtful and not checks.is_checked(evidence, name)
    }


def _weigh_evidence(values: Json, evidence: Json, name: str) -> float | None:
    """How sure a value is; what a person said, or what follows from that, is certain."""
    settled = name in checks.PRODUCT and checks.is_settled(values, evidence)
    if settled or checks.is_checked(evidence, name) or checks.is_edited(evidence, name):
        return 1.0
    return checks.find_confidence(evidence, name)


def _list_unsure(values: Json, evidence: Json, threshold: float | None) -> Iterator[str]:
    """Values under a threshold that was set, and a name that must stand for an ISIN."""
    if values.get("isin") is None:
        others = [name for name in checks.IDENTIFIERS if values.get(name) is not None]
        sure = [_weigh_evidence(values, evidence, name) or 0.0 for name in others]
        if others and max(sure) < SURE_NAME:
            yield others[sure.index(max(sure))]
    least = 0.0 if threshold is None else threshold
    for name in checks.NEEDED:
        sure_of = _weigh_evidence(values, evidence, name)
        if values.get(name) is not None and sure_of is not None and sure_of < least:
            yield name
