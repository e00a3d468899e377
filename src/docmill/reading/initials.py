"""Initials over several lines, put back before the word that they begin."""

from collections.abc import Sequence
from dataclasses import replace
from statistics import median
from typing import Final

from docmill.reading.pages import Box, Word

TALL: Final = 1.7  # times the usual height
NEAR: Final = 0.8  # of the usual height
WORDS: Final = frozenset("AIOY")  # initials that are words by themselves


def with_initials(words: Sequence[Word]) -> Sequence[Word]:
    """The words, with each large initial and the rest of its word made one."""
    tall = [word for word in words if len(word.text) == 1 and word.text.isupper()]
    usual = median(word.box.height for word in words) if tall else 0.0
    tall = [word for word in tall if word.box.height > TALL * usual]
    found = list(words)
    for initial in tall:
        rest = _rest(initial.box, found, usual)
        if rest is None or not rest.text[0].isalpha():
            continue
        box = Box(initial.box.x0, rest.box.y0, rest.box.x1, rest.box.y1)
        at = found.index(rest)
        if initial.text in WORDS:
            aside = replace(box, x1=initial.box.x1)
            found[found.index(initial)] = replace(initial, box=aside)
        else:
            found[at] = replace(rest, text=initial.text + rest.text, box=box)
            found.remove(initial)
    return found


def _rest(initial: Box, words: Sequence[Word], usual: float) -> Word | None:
    """The uppermost of the words that stand right behind an initial."""
    behind = [
        word
        for word in words
        if -2 <= word.box.x0 - initial.x1 <= NEAR * usual
        and initial.y0 < word.box.middle < initial.y1
    ]
    return min(behind, key=lambda word: word.box.y0, default=None)
