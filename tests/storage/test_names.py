"""Names of files as keys that can be stored anywhere, and back."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from docmill.storage.names import display_name, is_hidden, key_of, name_of


@given(st.binary())
@example(b"M\xfcller.pdf")
@example("\uef80\uef00\uefff".encode())
@example(b"\xee\xbe\x80\x80\0")
def test_every_name_has_a_key_that_can_be_stored_and_leads_back_to_it(name: bytes) -> None:
    key = key_of(name)
    key.encode()
    assert "\0" not in key
    assert name_of(key) == name


@given(st.text(st.characters(exclude_categories=["Cs", "Co"], exclude_characters="\0")))
def test_ordinary_names_are_their_own_keys(name: str) -> None:
    assert key_of(name.encode()) == name == display_name(name)


@given(st.binary(max_size=4), st.binary(max_size=4))
def test_two_names_never_share_a_key(one: bytes, other: bytes) -> None:
    assert (key_of(one) == key_of(other)) == (one == other)


@pytest.mark.parametrize(
    ("name", "hidden"),
    [("a.pdf", False), (".a.pdf", False), ("..PDF", False), (".DS_Store", True), ("._a.pdf", True)],
)
def test_a_pdf_is_never_hidden_but_what_programs_hide_is(name: str, hidden: bool) -> None:
    assert is_hidden(name) is hidden
