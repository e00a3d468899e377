"""Amounts in the notation of their document."""

import pytest

from docmill.core.amounts import NARROW_SPACE, NOTATIONS, Notation, find_group, show_amount


@pytest.mark.parametrize(
    ("printed", "mark", "group"),
    [
        (["1.234,50", "12,00"], ",", "."),
        (["1 234,50", "12 000,00"], ",", NARROW_SPACE),
        (["1\u00a0234,50"], ",", NARROW_SPACE),
        (["CHF 1’234.50"], ".", "'"),
        (["$1,234,567.50"], ".", ","),
        (["12,50"], ",", "."),
        (["12.50"], ".", ","),
    ],
)
def test_what_parts_thousands_is_what_is_printed(printed: list[str], mark: str, group: str) -> None:
    assert find_group(printed, mark) == group


def test_a_summary_is_shown_as_its_document_writes_amounts() -> None:
    about = {"amount": "1234567.5", "currency": "EUR"}
    assert show_amount(about) == "1.234.567,5"
    assert show_amount({**about, "notation": "1,234.50"}) == "1,234,567.5"
    assert show_amount({**about, "notation": "1 234,50"}) == "1\u202f234\u202f567,5"
    assert show_amount({**about, "notation": "what"}) == "1.234.567,5"


def test_a_sample_names_its_notation() -> None:
    assert all(NOTATIONS[each.sample] == each for each in NOTATIONS.values())
    assert NOTATIONS["1'234.50"] == Notation(".", "'")
