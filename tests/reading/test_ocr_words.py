from dataclasses import replace

import pytest

from docmill.reading.ocr_words import OcrWord, join_numbers, mend_headings
from docmill.reading.pages import Box


def word(text: str, left: float, right: float, top: float = 100) -> OcrWord:
    return OcrWord(text, Box(left, top, right, top + 30), 90.0, 0.0, 500.0)


@pytest.mark.parametrize(("gap", "near"), [(28, True), (50, False)])
def test_groups_of_a_number_are_drawn_near_over_a_wide_space_but_no_column(
    gap: float, near: bool
) -> None:
    first, second = word("22", 100, 138), word("222,00", 138 + gap, 138 + gap + 120)

    joined = {each.text: each.box for each in join_numbers([first, second])}

    apart = joined["222,00"].x0 - joined["22"].x1
    assert (apart < 10) == near


def test_a_heading_is_mended_where_it_stands_alone_in_its_row() -> None:
    alone, below = word("até", 300, 340), word("até", 300, 340, top=400)
    others = [word("P.U.", 200, 250), word("valable", 230, 294, top=400)]

    mended = list(mend_headings([alone, below, *others]))

    assert mended == [replace(alone, text="Qté"), below, *others]
