"""What an owner's reviews say of confidence."""

from typing import Any

from docmill.core.experience import TRUST
from docmill.invoices.experience import apply_experience, count_reviews


def _read(number: str, sure: float) -> dict[str, Any]:
    return {
        "invoice_number": number,
        "lines": [],
        "evidence": {"invoice_number": {"confidence": sure, "page": 1}},
    }


def test_a_value_that_people_changed_was_wrong() -> None:
    pairs = [(_read("A", 0.96), _read("A", 0.96)), (_read("B", 0.96), _read("C", 0.96))]
    assert count_reviews(pairs) == {"invoice_number": {"0.95": (1, 2)}}


def test_a_line_put_in_before_others_makes_none_of_them_wrong() -> None:
    read: dict[str, Any] = {
        "lines": [{"amount": "5"}],
        "evidence": {"lines[0].amount": {"confidence": 0.9}},
    }
    approved: dict[str, Any] = {"lines": [{"amount": "3"}, {"amount": "5"}], "evidence": {}}
    assert count_reviews([(read, approved)]) == {"lines.amount": {"0.9": (1, 1)}}


def test_confidence_moves_towards_what_the_owner_saw() -> None:
    counts = {"invoice_number": {"0.95": (0, TRUST)}}
    found = apply_experience(_read("A", 0.96), counts)
    assert found["evidence"]["invoice_number"]["confidence"] == 0.48


def test_without_reviews_it_stays() -> None:
    data = _read("A", 0.96)
    assert apply_experience(data, {}) is data
