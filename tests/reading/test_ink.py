import numpy as np

from docmill.reading.ink import MOST_SQUARES, STEP, find_ink
from docmill.reading.pages import Box


def test_ink_outside_of_words_is_boxed_by_what_stands_together() -> None:
    ink = np.zeros((300, 400), np.bool_)
    ink[20:40, 30:50] = ink[20:40, 60:70] = True  # two figures of one word
    ink[200:230, 300:306] = True
    ink[100:120, 100:180] = True  # known already

    boxes = sorted(find_ink(ink, [Box(100, 100, 180, 120)]), key=lambda box: box.y0)

    assert boxes == [Box(30, 20, 70, 40), Box(300, 200, 306, 230)]


def test_a_page_full_of_a_picture_is_not_searched() -> None:
    side = (int(MOST_SQUARES**0.5) + 1) * STEP

    assert not list(find_ink(np.ones((side, side), np.bool_), []))
