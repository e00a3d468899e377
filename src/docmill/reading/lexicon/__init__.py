"""The words of documents: one file per language, all of them loaded once.

A row of a `.tsv` file has a topic, a concept, phrases with ` | ` between them, and perhaps a note.
All languages together make a concept: whoever adds a language adds one file. In a phrase

- a letter with a mark also matches without it, spelt out (ü as ue), or where a font has lost it
  and enough others stay, unless a backslash stands before it,
- `*` stands for any letters, `(a|b)` for a choice, `?` after a letter or a choice for "or not",
- `{name}` stands for every phrase of another concept of the topic.
"""

import re
import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Final

from docmill.reading.label_sets import find_beginnings

FOLDER: Final = files(__name__)
SEPARATOR: Final = " | "
ENOUGH: Final = 4  # letters that stay where others are lost: with fewer, any word would match
_SPELT_OUT: Final = {"ä": "ae", "ö": "oe", "ü": "ue", "ø": "oe", "å": "aa"}
_BASES: Final = {"ø": "o", "æ": "ae", "ł": "l"}
_REFERENCE: Final = re.compile(r"\{(\w+)\}")
_GROUP: Final = re.compile(r"\((?!\?)")
_MARKED: Final = re.compile(r"\\?[^\W\d_a-zA-Z]")
_PLAIN: Final = re.compile(r"[a-z0-9 ](?![?*+{])")
_INSIDE: Final = re.compile(r"\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)|\[[^\]]*\]")  # brackets
_OPTIONAL: Final = re.compile(r"\([^()]*\)\?|\{\w+\}\?|.\?|\*")


@dataclass(frozen=True, slots=True)
class Lexicon:
    """Phrases by topic and concept, those of all languages in one row."""

    concepts: Mapping[tuple[str, str], tuple[str, ...]]

    def phrases(self, topic: str, concept: str) -> tuple[str, ...]:
        """As the files have them; a concept that no file names is a mistake of ours."""
        return self.concepts[topic, concept]

    def words(self, topic: str) -> dict[str, str]:
        """For each plain phrase of a topic its concept."""
        return {
            phrase: concept
            for (name, concept), phrases in self.concepts.items()
            if name == topic
            for phrase in phrases
        }

    def names(self, topic: str) -> list[str]:
        """The concepts of a topic, in the order in which the files name them."""
        return [concept for name, concept in self.concepts if name == topic]

    def pattern(self, topic: str, concept: str, *, squeezed: bool = False) -> str:
        """A regular expression that matches any phrase; `squeezed` ones have no spaces."""
        phrases = sorted(self.phrases(topic, concept), key=_lengths, reverse=True)
        parts = (self._compile(topic, phrase, squeezed) for phrase in phrases)
        return f"(?:{join_choices(list(dict.fromkeys(parts)))})"

    def _compile(self, topic: str, phrase: str, squeezed: bool) -> str:
        parts = _REFERENCE.split(phrase)
        return "".join(
            self.pattern(topic, part, squeezed=squeezed) if at % 2 else _translate(part, squeezed)
            for at, part in enumerate(parts)
        )


def join_choices(parts: Sequence[str]) -> str:
    """A choice of regular expressions, those that begin with the same letter put together.

    It matches what the plain choice matches, several times as fast: of parts that begin with
    different letters only one can match at a place, so that their order says nothing.
    """
    return "|".join(letter + _join_rests(rests) for letter, rests in _group_by_letter(parts))


def _join_rests(rests: Sequence[str]) -> str:
    """What may follow a letter."""
    if len(rests) == 1:
        return rests[0]
    bare = len(_group_by_letter(rests)) == 1  # all go on with the same letter
    return join_choices(rests) if bare else f"(?:{join_choices(rests)})"


def _group_by_letter(parts: Sequence[str]) -> list[tuple[str, list[str]]]:
    """A letter and what follows it in each part; no letter and the part where it begins otherwise.

    Parts stay in their order where they may match at the same place.
    """
    grouped: list[tuple[str, list[str]]] = []
    since: dict[str, int] = {}  # where the group of a letter is
    for part in parts:
        letter = part[0] if _PLAIN.match(part) and "|" not in _INSIDE.sub("", part) else ""
        if letter in since:
            grouped[since[letter]][1].append(part[1:])
            continue
        if letter:
            since[letter] = len(grouped)
        else:
            since = _without(since, find_beginnings(part))
        grouped.append((letter, [part[1:] if letter else part]))
    return grouped


def _without(since: dict[str, int], beginnings: Collection[str] | None) -> dict[str, int]:
    """The letters that none of the beginnings has; none where a text may begin anyhow."""
    if beginnings is None or "" in beginnings:
        return {}
    taken = {beginning[0].lower() for beginning in beginnings}
    return {letter: at for letter, at in since.items() if letter not in taken}


def _lengths(phrase: str) -> tuple[int, int]:
    """What must be there, and all: longer phrases are tried first, or a shorter one hides them."""
    return len(_OPTIONAL.sub("", phrase)), len(phrase)


def _translate(text: str, squeezed: bool) -> str:
    """A piece of a phrase as a regular expression."""
    plain = text.replace(" ", "") if squeezed else text
    plain = _GROUP.sub("(?:", plain).replace(".", r"\.").replace("*", r"\w*")
    whole = sum(char.isascii() and char.isalpha() for char in plain) >= ENOUGH
    return _MARKED.sub(lambda match: _letter(match, whole), plain)


def _letter(match: re.Match[str], lost: bool) -> str:
    """The ways to print a letter with a mark, none among them if it may be lost; only itself
    behind a backslash."""
    char = match[0]
    if char[0] == "\\":
        return char[1]
    if char == "ß":
        return "(?:ß|ss)"
    base = _BASES.get(char) or unicodedata.normalize("NFKD", char)[0]
    ways = dict.fromkeys(way for way in (char, _SPELT_OUT.get(char), base) if way)
    return f"(?:{'|'.join(ways)}){'?' if lost else ''}"


@cache
def lexicon() -> Lexicon:
    """The words of all languages."""
    return load(FOLDER)


def load(folder: Traversable) -> Lexicon:
    """The files of a folder, those of one concept put together."""
    found: dict[tuple[str, str], tuple[str, ...]] = {}
    tables = (file for file in folder.iterdir() if file.name.endswith(".tsv"))
    for file in sorted(tables, key=lambda file: file.name):
        for topic, concept, phrases in _rows(file.read_text("utf-8").splitlines(), file.name):
            found[topic, concept] = (*found.get((topic, concept), ()), *phrases)
    return Lexicon(found)


def _rows(lines: Iterable[str], name: str) -> Iterable[tuple[str, str, list[str]]]:
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith("#"):
            continue
        columns = line.split("\t")
        if len(columns) not in {3, 4} or not all(column.strip() for column in columns[:3]):
            raise ValueError(f"{name}:{number}: not a topic, a concept and phrases")
        yield columns[0], columns[1], [one.strip() for one in columns[2].split(SEPARATOR)]
