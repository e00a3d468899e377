"""File names and texts, whatever was sent."""

import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from docmill.core.documents import clean_filename
from docmill.core.texts import clean_text, make_storable

ANYTHING = st.text(st.characters(exclude_categories=()))


@given(ANYTHING)
@example("a\x00b\ud800c\x1bd\x7f\ufffe")
def test_clean_text_can_be_stored_and_shown_anywhere(text: str) -> None:
    clean = clean_text(text)
    clean.encode()
    assert not any(ord(char) < 32 or unicodedata.category(char) == "Cs" for char in clean)
    assert clean_text(clean) == clean


@given(st.text(st.characters(min_codepoint=32, max_codepoint=126)))
def test_plain_text_stays_as_it_is(text: str) -> None:
    assert clean_text(text) == text


@given(ANYTHING)
@example("a\x00b\ud800c\nd")
def test_storable_text_keeps_its_lines_and_can_be_stored(text: str) -> None:
    kept = make_storable(text)
    kept.encode()
    assert "\0" not in kept
    assert kept.count("\n") == text.count("\n")
    assert make_storable(kept) == kept


@given(ANYTHING)
def test_a_shown_name_is_short_clean_never_empty_and_no_path(given_name: str) -> None:
    name = clean_filename(given_name)
    assert 1 <= len(name) <= 200
    assert clean_text(name) == name
    assert "/" not in name
    assert "\\" not in name
    assert clean_filename(name) == name


@pytest.mark.parametrize(
    ("sent", "shown"),
    [
        ("invoice.pdf", "invoice.pdf"),
        ("/etc/passwd", "passwd"),
        ("C:\\Users\\ann\\Rechnung März.pdf", "Rechnung März.pdf"),
        ("../../a.pdf", "a.pdf"),
        ("", "document"),
        ("/", "document"),
        ("  ", "document"),
        ("\x00\x01", "document"),
        ("発票.pdf", "発票.pdf"),
        ("invoice\u202efdp.exe", "invoicefdp.exe"),
        ("\u2066a\u2069\u200fb\u061c\u200b.pdf", "ab.pdf"),
        ("\u202e", "document"),
        ("x" * 300, "x" * 200),
        ("x" * 300 + ".pdf", "x" * 180 + ".pdf"),
        (".pdf", ".pdf"),
    ],
)
def test_a_name_is_the_last_part_of_what_was_sent(sent: str, shown: str) -> None:
    assert clean_filename(sent) == shown
