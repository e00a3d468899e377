"""What a person should look at: as little as keeps the promise about errors, or nothing at all."""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, Final

from docmill.core.promise import RATE, Promise, make_promise
from docmill.invoices import checks
from docmill.invoices.confidence import KINDS, OPTIONAL, load_fitted, name_field
from docmill.invoices.fields import find_field, value_at
from docmill.invoices.values import look_up, parse_number

InvoiceJson = Mapping[str, Any]
COUNTRIES: Final = ("seller.country", "buyer.country")


def find_doubts(data: InvoiceJson, outcomes: Mapping[str, str]) -> list[str]:
    """By the promise that was made when it was read; by a threshold, of a reading before that."""
    if "promise" not in data:
        return checks.find_doubts(data, outcomes)
    return list(judge_promise(data, outcomes).doubtful)


def judge_promise(data: InvoiceJson, outcomes: Mapping[str, str]) -> Promise:
    """Whether the invoice as it stands can be approved by rule."""
    promise: InvoiceJson = data["promise"]
    rate = parse_number(promise.get("rate"))
    return make_promise(
        dict(_list_confidences(data)),
        RATE if rate is None else float(rate),
        certain=list(dict.fromkeys(_list_certain(data, outcomes))),
        expect=partial(load_fitted().expect, scanned=bool(data.get("scanned_pages"))),
    )


def judge_reading(
    data: dict[str, Any], rate: float, absent: Mapping[str, float]
) -> tuple[dict[str, Any], list[str]]:
    """What a result says of the promise, and what a person should look at.

    The rate promised, what is expected, and which rule approves it.
    """
    told = {**data, "promise": {"rate": rate, "absent": absent}}
    found = judge_promise(told, data["checks"])
    promise = {
        "rate": rate,
        "expected": found.expected,
        "approved_by": found.approved_by,
        "absent": dict(absent),
    }
    return promise, list(found.doubtful)


def _list_confidences(data: InvoiceJson) -> Iterator[tuple[str, float]]:
    """The values that the promise is about, and those of them that were not found."""
    evidence: InvoiceJson = data["evidence"]
    for path, seen in evidence.items():
        if name_field(path) in KINDS and value_at(data, path) is not None:
            yield path, seen["confidence"]
    absent: InvoiceJson = look_up(data["promise"], "absent") or {}
    for path in OPTIONAL:
        if path in absent and value_at(data, path) is None:
            yield path, absent[path]


def _list_certain(data: InvoiceJson, outcomes: Mapping[str, str]) -> Iterator[str]:
    yield from checks.find_certain(data, outcomes)
    evidence: InvoiceJson = data["evidence"]
    yield from _list_disputed(data, evidence)
    yield from _list_guesses(data)
    yield from _list_unlike(evidence)
    least = parse_number(data.get("review_threshold"))
    for path, seen in evidence.items() if least is not None else ():
        field = find_field(path)
        if field and field.doubted and seen["confidence"] < least:
            yield path


def _list_disputed(data: InvoiceJson, evidence: InvoiceJson) -> Iterator[str]:
    """What two readers tell differently; of lines in dispute each unsure figure as well."""
    disputed = [str(one["path"]) for one in checks.list_open(data)]
    yield from disputed
    for path, seen in evidence.items() if "lines" in disputed else ():
        unsure = seen["confidence"] < checks.DOUBT and name_field(path) in KINDS
        if unsure and path.startswith("lines[") and value_at(data, path) is not None:
            yield path


def _list_unlike(evidence: InvoiceJson) -> Iterator[str]:
    """Values found by a lesson that look unlike the one that was taught."""
    for path, seen in evidence.items():
        if seen.get("learned") and not seen.get("edited") and seen["confidence"] < checks.DOUBT:
            yield path


def _list_guesses(data: InvoiceJson) -> Iterator[str]:
    """Countries that nothing on the page names: formats write them, so a person looks at them.

    Not of an invoice in rupiah, which becomes Coretax: that has no countries.
    """
    evidence: InvoiceJson = data["evidence"]
    for path in COUNTRIES if data.get("currency") != "IDR" else ():
        seen: InvoiceJson = evidence.get(path) or {}
        if not seen.get("edited") and seen.get("confidence", 1.0) < checks.DOUBT:
            yield path
