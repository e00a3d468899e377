"""Text into the word pieces of an uncased BERT vocabulary.

The steps are BERT's own: clean, lower case, accents off, cut at spaces and punctuation and around
ideographs, then the longest pieces that the vocabulary knows.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Final

PAD, UNKNOWN, START, END = 0, 100, 101, 102
LONGEST_WORD: Final = 100
REMEMBERED: Final = 50_000

_IDEOGRAPHS: Final = (
    (0x4E00, 0x9FFF),
    (0x3400, 0x4DBF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2CEAF),
    (0xF900, 0xFAFF),
    (0x2F800, 0x2FA1F),
)
_PLAIN: Final = re.compile(r"[a-z0-9]+|[!-/:-@\[-`{-~]")


class WordPieces:
    """One vocabulary; words seen before are remembered."""

    def __init__(self, vocabulary: Mapping[str, int]) -> None:
        self._ids: Mapping[str, int] = vocabulary
        self._pieces = lru_cache(REMEMBERED)(self._cut)

    def encode(self, text: str, most: int) -> list[int]:
        """The ids of a text between its start and end marks, at most so many."""
        ids: list[int] = [START]
        for word in words(text):
            ids += self._pieces(word)
            if len(ids) >= most:
                break
        return [*ids[: most - 1], END]

    def count(self, text: str) -> int:
        """How many pieces a text has, without marks."""
        return sum(len(self._pieces(word)) for word in words(text))

    def _cut(self, word: str) -> tuple[int, ...]:
        """The longest known piece from the left, again and again; unknown where one is missing."""
        if len(word) > LONGEST_WORD:
            return (UNKNOWN,)
        ids: list[int] = []
        start = 0
        while start < len(word):
            piece = self._longest(word, start)
            if piece is None:
                return (UNKNOWN,)
            ids.append(piece[0])
            start = piece[1]
        return tuple(ids)

    def _longest(self, word: str, start: int) -> tuple[int, int] | None:
        mark = "##" if start else ""
        for end in range(len(word), start, -1):
            found = self._ids.get(mark + word[start:end])
            if found is not None:
                return found, end
        return None


def read(path: Path) -> WordPieces:
    """The vocabulary of a `vocab.txt`: one piece a line, numbered from 0."""
    lines = path.read_text("utf-8").split("\n")
    return WordPieces({piece: number for number, piece in enumerate(lines) if piece})


def words(text: str) -> Iterator[str]:
    """The words and single marks of a text, in lower case and without accents."""
    if text.isascii():
        yield from _PLAIN.findall(_without_controls(text).lower())
        return
    bare = "".join(
        char
        for char in unicodedata.normalize("NFD", _spaced(text).lower())
        if unicodedata.category(char) != "Mn"
    )
    for run in bare.split():
        yield from _cut_at_marks(run)


def _without_controls(text: str) -> str:
    return text if text.isprintable() else "".join(map(_shown, text))


def _shown(char: str) -> str:
    if char in "\t\n\r":
        return " "
    category = unicodedata.category(char)
    if category == "Zs":
        return " "
    return "" if category[0] == "C" or char == "\ufffd" else char


def _spaced(text: str) -> str:
    """Without control characters, and each ideograph a word of its own."""
    return "".join(f" {char} " if _is_ideograph(char) else _shown(char) for char in text)


def _is_ideograph(char: str) -> bool:
    code = ord(char)
    return code >= 0x3400 and any(low <= code <= high for low, high in _IDEOGRAPHS)


def _cut_at_marks(run: str) -> Iterator[str]:
    start = 0
    for at, char in enumerate(run):
        if _is_mark(char):
            if start < at:
                yield run[start:at]
            yield char
            start = at + 1
    if start < len(run):
        yield run[start:]


def _is_mark(char: str) -> bool:
    return unicodedata.category(char)[0] == "P" or char in "$+<=>^`|~"
