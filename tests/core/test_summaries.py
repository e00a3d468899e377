"""What may be kept of a summary that a reader of strangers' bytes tells."""

import json

from hypothesis import given
from hypothesis import strategies as st

from docmill.core.summaries import LONGEST, clean_summary

ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


def test_what_is_known_is_kept_and_the_rest_is_left_out() -> None:
    given = {"title": " Acme \n Ltd", "check": 3, "note": "2 lines", "path": "/etc", "amount": 5}
    assert clean_summary(given) == {"title": "Acme Ltd", "check": 3, "note": "2 lines"}


def test_nothing_is_nothing() -> None:
    assert clean_summary({"title": "", "check": -1}) is None
    assert clean_summary(["title"]) is None


def test_a_reader_cannot_say_that_somebody_approved_it() -> None:
    assert clean_summary({"title": "a", "state": "approved"}) == {"title": "a"}
    assert clean_summary({"state": "to check"}) == {"state": "to check"}


@given(
    st.dictionaries(st.sampled_from(["title", "number", "date", "check", "state", "x"]), ANYTHING)
)
def test_whatever_comes_can_be_stored(given: dict[str, object]) -> None:
    kept = clean_summary(given) or {}
    text = json.dumps(kept, ensure_ascii=False)
    assert text.encode()
    assert "\\u0000" not in json.dumps(kept)
    assert all(len(value) <= LONGEST for value in kept.values() if isinstance(value, str))


def test_how_amounts_are_written_is_one_of_few_samples() -> None:
    assert clean_summary({"notation": "1.234,50"}) == {"notation": "1.234,50"}
    assert clean_summary({"notation": "<script>"}) is None
