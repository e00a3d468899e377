"""Labels are told by how they begin, and choices by their letters, with no other result."""

import re

import pytest

from docmill.invoices.reader import lexicon as labels
from docmill.reading.label_sets import LabelSet, find_beginnings, split_choices
from docmill.reading.lexicon import join_choices

PATTERNS = (labels.NUMBER, labels.DATE, labels.DATE_LOOSE, labels.DUE, labels.TAX_ID, labels.BUYER)
WORDS = [
    *("invoiceno", "rechnungsnr", "schlussrechnungnr", "numerodefacture", "duedate", "faelligam"),
    *("datum", "xdatex", "le", "a", "billto", "ustidnr", "npwp", "total", "description", "", "#"),
    *("nummer", "invoicenox", "facturen", "tanggal", "99", "datede", "vatno", "datedefacture"),
]


def test_a_set_knows_the_texts_that_one_of_its_patterns_matches() -> None:
    known = LabelSet(PATTERNS)
    expected = [any(pattern.fullmatch(word) for pattern in PATTERNS) for word in WORDS]
    assert [word in known for word in WORDS] == expected
    assert [word in known for word in WORDS] == expected, "from memory it is the same"
    assert any(expected)
    assert not all(expected)


@pytest.mark.parametrize(
    ("pattern", "beginnings"),
    [
        ("le", {"le"}),
        ("invoices?", {"invo"}),
        ("(?:no|nr)x?", {"no", "nr", "nox", "nrx"}),
        ("[ab]c(?!d)", {"ac", "bc"}),
        ("a+b", {"ab", "aab", "aaab", "aaaa", "b"}),
    ],
)
def test_beginnings_of_a_pattern(pattern: str, beginnings: set[str]) -> None:
    assert find_beginnings(pattern) == beginnings


def test_a_pattern_that_may_begin_anyhow_has_no_beginnings() -> None:
    assert find_beginnings(r"\w*rechnung") is None
    assert "schlussrechnung" in LabelSet([re.compile(r"(?:\w*rechnung|bill)")])


def test_what_stands_behind_any_letters_is_found_by_its_own() -> None:
    pattern = re.compile(r"(?:my)?(?:\w*rechnungs?|\w*billing|fee)(?:no)?|due")
    known = LabelSet([pattern])
    words = ["rechnung", "myxrechnungsno", "somebilling", "billingno", "mybilling", "feeno", "due"]
    others = ["rechnun", "xfee", "dueno", "billin", "no", "", "rechnungx", "mydue"]
    assert [word for word in (*words, *others) if word in known] == words
    assert all(pattern.fullmatch(word) for word in words)


def test_a_pattern_is_split_only_where_it_is_a_choice() -> None:
    assert split_choices("(?:a|b(?:c|d)|[|])") == ["a", "b(?:c|d)", "[|]"]
    assert split_choices(".(?:a|b)") == [".(?:a|b)"]
    assert split_choices("(?:a|b)(?:c|d)") == ["(?:a|b)(?:c|d)"]


@pytest.mark.parametrize(
    "parts",
    [
        ["total due", "tax", "total", "t[ao]x"],
        ["ab", "a?c", "abc", "ac"],
        ["a", "ab", r"\w+", "abc"],
        ["(?:b|a)x", "axy", "bx", "ax"],
    ],
)
def test_joined_choices_match_as_far_as_plain_ones(parts: list[str]) -> None:
    joined, plain = re.compile(join_choices(parts)), re.compile("|".join(parts))
    for text in ("total due", "tax", "tox", "total", "abc", "ac", "c", "axy", "bx", "x"):
        found, expected = joined.match(text), plain.match(text)
        assert (found and found.span()) == (expected and expected.span()), text
