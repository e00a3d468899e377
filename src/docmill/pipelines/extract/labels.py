"""What can be a label, and labels with their values inside one run of words."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from docmill.pipelines.extract.kinds import TEXT, kind
from docmill.reading.pages import Box, Line, Word, line_of

MAX_CHARS: Final = 40
MAX_WORDS: Final = 6

_GLUED: Final = re.compile(r"([^\W\d_][^:/\\]*:)([^:/\\][^:]*)")
_SHORT: Final = re.compile(r"(?:nr|no|num|nbr|ref|tel|tgl|art)\.$", re.IGNORECASE)
_NUMBERED: Final = re.compile(r"\d{4}|\d:\d\d")  # a place with its code, a time of the day
_SEPARATORS: Final = frozenset("-–—|·•,;/")


@dataclass(frozen=True, slots=True)
class Pair:
    """A label and the value that belongs to it; none where it must be looked for elsewhere."""

    label: Line
    value: Line | None


def is_label(text: str) -> bool:
    """Whether text is short and wordy enough to name something."""
    name = text.lstrip(" .…").rstrip(" :")
    ends = name.endswith((".", ",", ";", "!", "?")) and not _SHORT.search(name)
    letters = sum(char.isalpha() for char in name)
    return (
        1 < len(name) <= MAX_CHARS
        and len(name.split()) <= MAX_WORDS
        and letters * 2 >= len(name.replace(" ", ""))
        and not ends
        and not _NUMBERED.search(name)
        and kind(name) == TEXT
    )


def pairs(cell: Line) -> list[Pair]:
    """Every `label: value` in a run of words, from left to right."""
    words = _parted(cell.words)
    colons = [index for index, word in enumerate(words) if word.text.endswith(":")]
    starts = [_start(words, at, index) for index, at in enumerate(colons)]
    found: list[Pair] = []
    for index, at in enumerate(colons):
        end = starts[index + 1] if index + 1 < len(colons) else len(words)
        label, value = words[starts[index] : at + 1], _trimmed(words[at + 1 : end])
        if label and is_label(" ".join(word.text for word in label)):
            found.append(Pair(line_of(label), line_of(value) if value else None))
    return found


def _parted(words: Sequence[Word]) -> list[Word]:
    """Words, with those that are label and value in one (`No:123`) cut in two."""
    parted: list[Word] = []
    for word in words:
        match = _GLUED.fullmatch(word.text)
        parted += _cut(word, len(match[1])) if match else [word]
    return parted


def _cut(word: Word, at: int) -> list[Word]:
    box = word.box
    x = box.x0 + box.width * at / len(word.text)
    return [
        Word(word.text[:at], Box(box.x0, box.y0, x, box.y1)),
        Word(word.text[at:], Box(x, box.y0, box.x1, box.y1)),
    ]


def _start(words: Sequence[Word], colon: int, index: int) -> int:
    """Where the label before a colon starts: the first one with the run, a later one after the
    nearest separator or figure, and failing these one word back."""
    if index == 0:
        return 0
    own = colon - 1 if words[colon].text == ":" else colon
    for back in range(own, max(own - MAX_WORDS, 0), -1):
        if _ends_value(words[back - 1].text):
            return back
    return own


def _ends_value(text: str) -> bool:
    return text in _SEPARATORS or text[-1] in ",;" or any(char.isdigit() for char in text)


def _trimmed(words: Sequence[Word]) -> Sequence[Word]:
    first, last = 0, len(words)
    while first < last and words[first].text in _SEPARATORS:
        first += 1
    while last > first and words[last - 1].text in _SEPARATORS:
        last -= 1
    kept = list(words[first:last])
    if kept and len(kept[-1].text) > 1:
        kept[-1] = replace(kept[-1], text=kept[-1].text.rstrip(",;") or kept[-1].text)
    return kept
