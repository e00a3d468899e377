import pytest

from docmill.reading.misread import mend_heading, mend_text, part_glued


@pytest.mark.parametrize(
    ("read", "printed"),
    [
        ("I'acheteur:", "l'acheteur:"),
        ("|’adresse", "l'adresse"),
        ("I'M", "I'M"),
        ("N’", "N°"),
        ("Dan's", "Dan's"),
        ("|12,5O", "12,50"),
        ("[12,50", "12,50"),
        ("l", "1"),
    ],
)
def test_what_no_page_prints_is_read_as_what_it_looks_like(read: str, printed: str) -> None:
    assert mend_text(read) == printed


@pytest.mark.parametrize(
    ("read", "parts"),
    [
        (":5,4900", [":", "5,4900"]),
        ("N°15", ["N°", "15"]),
        ("10:00", ["10:00"]),
        ("N°", ["N°"]),
        (":", [":"]),
    ],
)
def test_a_mark_before_a_word_is_a_word_of_its_own(read: str, parts: list[str]) -> None:
    assert part_glued(read) == parts


def test_the_french_heading_of_quantities_has_its_large_letter() -> None:
    assert mend_heading("até") == "Qté"
    assert mend_heading("date") == "date"
