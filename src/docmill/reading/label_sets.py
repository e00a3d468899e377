"""Whether a folded text is one of many labels: by how labels begin first, then by their patterns.

A page has hundreds of texts that could be a label, and hardly any is one. Of each pattern it is
worked out once how the texts begin that it matches, so that the others are told by one look.
"""

import re
from collections.abc import Iterable
from functools import cache
from typing import Final

LETTERS: Final = 4  # of the beginning: with more there are too many beginnings, with fewer too few
MOST: Final = 1000  # beginnings of a choice: more say nothing
MOST_KEYS: Final = 20_000
ALPHABET: Final = frozenset("abcdefghijklmnopqrstuvwxyz0123456789#% ")  # of folded texts
_ATOM: Final = re.compile(
    r"(?P<look>\(\?<?[!=])|(?P<group>\((?:\?:)?)|(?P<chars>\[[^\]]*\]|\\.|.)", re.DOTALL
)
_AFTER_ANY: Final = re.compile(r"\\w\*([a-z]{4,})(?![?*+{])")
_NOTHING: Final = "(?!)"
_REPEAT: Final = re.compile(r"[?*+]|\{\d*,?\d*\}")


class LabelSet:
    """The texts that any of some patterns matches from end to end."""

    def __init__(self, patterns: Iterable[re.Pattern[str]]) -> None:
        self._by_beginning: dict[str, list[re.Pattern[str]]] = {}
        self._known: dict[str, bool] = {}
        self._by_word: dict[str, list[re.Pattern[str]]] = {}
        anyhow: list[str] = []
        for pattern in patterns:
            for choice in split_choices(pattern.pattern):
                # What has any letters before it may begin in all ways, but stands in the text.
                strict = _AFTER_ANY.sub(_NOTHING, choice)
                beginnings = find_beginnings(strict)
                if beginnings is None:
                    anyhow.append(choice)
                    continue
                for beginning in beginnings:
                    _add_once(self._by_beginning, beginning, pattern)
                for word in _AFTER_ANY.findall(choice):
                    _add_once(self._by_word, word, pattern)
        self._others: re.Pattern[str] = re.compile("|".join(dict.fromkeys(anyhow)) or "(?!)")

    def __contains__(self, key: str) -> bool:
        known = self._known.get(key)
        if known is None:
            if len(self._known) > MOST_KEYS:
                self._known.clear()
            known = self._known[key] = self._matches(key)
        return known

    def _matches(self, key: str) -> bool:
        for pattern in self._by_beginning.get(key[:LETTERS], ()):
            if pattern.fullmatch(key):
                return True
        for word, patterns in self._by_word.items():
            if word in key and any(pattern.fullmatch(key) for pattern in patterns):
                return True
        return self._others.fullmatch(key) is not None


def _add_once(known: dict[str, list[re.Pattern[str]]], text: str, pattern: re.Pattern[str]) -> None:
    near = known.setdefault(text, [])
    near += [pattern] if pattern not in near else []


def split_choices(pattern: str) -> list[str]:
    """What a regular expression chooses from, where it is nothing but a choice."""
    whole = pattern.startswith("(?:") and _find_end(pattern, 3) == len(pattern) - 1
    inner = pattern[3:-1] if whole else pattern
    depth, parts = 0, [""]
    for sign in _ATOM.finditer(inner):
        depth += (sign["chars"] is None) - (sign[0] == ")")
        if sign[0] == "|" and not depth:
            parts.append("")
        else:
            parts[-1] += sign[0]
    return parts


def _find_end(pattern: str, at: int) -> int:
    """Where the bracket closes that was opened before a place."""
    depth = 1
    for sign in _ATOM.finditer(pattern, at):
        depth += (sign["chars"] is None) - (sign[0] == ")")
        if not depth:
            return sign.start()
    return len(pattern)


class _TooManyError(Exception):
    """A pattern that says little of how texts begin."""


@cache
def find_beginnings(pattern: str) -> frozenset[str] | None:
    """How folded texts may begin that a regular expression matches; shorter ones stand whole.

    Looks ahead and behind are taken to hold: there may be too many beginnings, never too few.
    None where there are too many to tell anything.
    """
    try:
        return frozenset(_read_choice(pattern, 0)[0])
    except _TooManyError:
        return None


def _read_choice(pattern: str, at: int) -> tuple[set[str], int]:
    """The beginnings of what stands up to a closing bracket or the end, and where that is."""
    found, parts = set[str](), {""}
    while at < len(pattern) and pattern[at] != ")":
        if pattern[at] == "|":
            found |= parts
            parts, at = {""}, at + 1
            continue
        options, at = _read_atom(pattern, at)
        repeat = _REPEAT.match(pattern, at)
        parts = _join_often(parts, options, repeat[0]) if repeat else _join(parts, options)
        at = repeat.end() if repeat else at
    return found | parts, at


def _read_atom(pattern: str, at: int) -> tuple[set[str], int]:
    atom = _ATOM.match(pattern, at)
    assert atom is not None
    if atom["chars"]:
        return _read_chars(atom["chars"]), atom.end()
    inner, end = _read_choice(pattern, atom.end())
    return {""} if atom["look"] else inner, end + 1


@cache
def _read_chars(chars: str) -> set[str]:
    if len(chars) == 1 and chars != ".":
        return {chars}
    return {letter for letter in ALPHABET if re.fullmatch(chars, letter)}


def _join_often(parts: set[str], options: set[str], sign: str) -> set[str]:
    """Every beginning with options behind it that may come once or not at all, or often."""
    found = longer = parts
    for _ in range(1 if sign == "?" else LETTERS):
        longer = _join(longer, options)
        found = found | longer
    return found


def _join(parts: set[str], options: set[str]) -> set[str]:
    """Every beginning with every option behind it."""
    short = {part for part in parts if len(part) < LETTERS}
    if len(short) * len(options) > MOST:
        raise _TooManyError
    return (parts - short) | {(part + option)[:LETTERS] for part in short for option in options}
