import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from docmill.reading.cleaning import clean


@given(st.text(st.characters()) | st.text(st.characters(categories=["Cc", "Cs", "Cf", "Cn"])))
def test_no_text_keeps_control_characters_or_lone_surrogates(text: str) -> None:
    cleaned = clean(text)

    assert not [char for char in cleaned if unicodedata.category(char) in {"Cc", "Cs"}]
    cleaned.encode()


@given(st.text())
def test_cleaning_twice_changes_nothing_more(text: str) -> None:
    assert clean(clean(text)) == clean(text)


def test_ligatures_are_spelt_out() -> None:
    assert clean("oﬃce ﬁle") == "office file"


def test_a_soft_hyphen_shows_only_at_the_end() -> None:
    assert clean("Rech\xadnung") == "Rechnung"
    assert clean("Rech\xad") == "Rech-"


def test_marks_that_turn_the_direction_of_text_are_left_out() -> None:
    assert clean("invoice\u202efdp.exe") == "invoicefdp.exe"


def test_accents_written_apart_are_joined_to_their_letters() -> None:
    assert clean("Mu\u0308ller") == "Müller"


def test_odd_spaces_become_plain_ones() -> None:
    assert clean("1\u202f234\xa0€") == "1 234 €"
