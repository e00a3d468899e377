"""Quick looks before slow patterns: by the first letters of what a pattern matches.

A pattern of hundreds of words is slow to search for, and hardly any text of a page has one of them.
Their first letters are found in one walk. Where none of them stands, no word does; only where some
stand the pattern is asked.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Final

from docmill.reading.label_sets import LETTERS, find_beginnings, split_choices
from docmill.reading.lexicon import join_choices

_UNKNOWN: Final = "\0" * LETTERS  # a letter that is not given, and whatever follows it
_EDGE: Final = re.compile(r"\\b|\(\?<[!=]\\[wd]\)")
_CLASS: Final = re.compile(r"\[(?![a-z]+\])[^\]]*\]|\\.|\.|\$")
_ANY_LETTERS: Final = r"\w*"
_WORD_EDGE: Final = r"\b"
FEWEST: Final = 4  # choices: fewer are as fast without a look


def make_screen(patterns: Iterable[str]) -> re.Pattern[str]:
    """A pattern that finds something wherever one of these finds something, and elsewhere too."""
    choices = [choice for pattern in patterns for choice in split_choices(pattern)]
    beginnings = [_begin(choice.removeprefix(_ANY_LETTERS)) for choice in choices]
    if "" in set[str]().union(*beginnings):
        raise ValueError("a pattern does not say how texts begin")
    return re.compile(_join_beginnings(beginnings))


def quicken(words: str) -> str:
    """A choice that looks at the first letters before it tries its parts.

    It matches at the same places, but of parts that match at one place it may take another.
    """
    begun = {choice: _begin(choice) for choice in split_choices(words)}
    known = {choice: firsts for choice, firsts in begun.items() if "" not in firsts}
    others = [choice for choice in begun if choice not in known]
    ends = [choice.removeprefix(_ANY_LETTERS) for choice in others if _ANY_LETTERS in choice[:3]]
    others = [choice for choice in others if _ANY_LETTERS not in choice[:3]]
    if len(known) < FEWEST:
        return words
    if ends:
        others.append(rf"\w*(?:{'|'.join(ends)})")
    quick = f"(?={_join_beginnings(known.values())})(?:{_group_by_letter(known)})"
    return f"(?:{'|'.join([quick, *others])})"


def _group_by_letter(begun: Mapping[str, set[str]]) -> str:
    """The choices that may begin with each letter, behind a look at that letter."""
    letters = sorted({beginning[0] for firsts in begun.values() for beginning in firsts})
    groups = (
        "|".join(
            [choice for choice, firsts in begun.items() if any(f[0] == letter for f in firsts)]
        )
        for letter in letters
    )
    pairs = zip(letters, groups, strict=True)
    return "|".join(f"(?={re.escape(letter)})(?:{group})" for letter, group in pairs)


def split_at_edges(words: str) -> tuple[re.Pattern[str], ...]:
    """Two patterns, for the choices that begin at the edge of a word and for the others.

    One of them finds something wherever the choice does, but not the same: the choices that begin
    with the same letter are put together, in any order.
    """
    choices = sorted(split_choices(words))
    edged = [choice.removeprefix(_WORD_EDGE) for choice in choices if _WORD_EDGE in choice[:2]]
    others = [choice for choice in choices if _WORD_EDGE not in choice[:2]]
    made = [rf"\b(?:{join_choices(edged)})"] if edged else []
    return tuple(map(re.compile, [*made, join_choices(others)] if others else made))


def find_any(patterns: Iterable[re.Pattern[str]], text: str) -> bool:
    """Whether any of some patterns finds something in a text."""
    return any(pattern.search(text) for pattern in patterns)


def _begin(choice: str) -> set[str]:
    """How texts begin that a choice matches, up to the first letter that is not given."""
    plain = _EDGE.sub("", choice).replace(r"\t", "\t")
    found = find_beginnings(_CLASS.sub(f"(?:{_UNKNOWN})", plain))
    return {one.partition("\0")[0] for one in found} if found else {""}


def _join_beginnings(beginnings: Iterable[set[str]]) -> str:
    """A choice of beginnings without those that begin with another one."""
    begun = set[str]().union(*beginnings)
    short = sorted(one for one in begun if not any(one[:at] in begun for at in range(len(one))))
    return f"(?:{join_choices([re.escape(one) for one in short])})"
