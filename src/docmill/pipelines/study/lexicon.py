"""Words that nobody learns from a list: those that carry grammar, and numbers.

`grammar.txt` also has what the usual stop lists name, since people hold results against them.
"""

import re
from importlib.resources import files
from typing import Final


def words_of(name: str) -> frozenset[str]:
    """The words of a file beside this module."""
    return frozenset((files("docmill.pipelines.study") / "data" / name).read_text("utf-8").split())


GRAMMAR: Final = words_of("grammar.txt")
NUMBERS: Final = words_of("numbers.txt")
_ROMAN: Final = re.compile(r"m{0,3}(cm|cd|d?c{0,3})(xc|xl|l?x{0,3})(ix|iv|v?i{0,3})")
_NOT_ROMAN: Final = frozenset(
    {"mix", "mild", "civil", "vivid", "livid", "dim", "lid", "mid", "did"}
)


def is_plain(word: str) -> bool:
    """Whether a word in small letters is too much of a helper, or a number, to be learnt."""
    if len(word) < 3 or word in GRAMMAR or word in NUMBERS:
        return True
    return word not in _NOT_ROMAN and _ROMAN.fullmatch(word) is not None
