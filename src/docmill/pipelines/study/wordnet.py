"""WordNet as its files are: sorted indexes and records found by offset, so nothing is parsed ahead.

Proper names are left out: a sense counts only where its record spells the word in small letters
and does not say that it is one particular thing.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache, lru_cache
from typing import Final

from docmill.pipelines.study import carrier

NAME: Final = "WordNet 3.0"


class Part(StrEnum):
    """A part of speech that a dictionary defines, by the name of its files."""

    NOUN = "noun"
    VERB = "verb"
    ADJECTIVE = "adj"
    ADVERB = "adv"

    @property
    def shown(self) -> str:
        return {"adj": "adjective", "adv": "adverb"}.get(self.value, self.value)


# How a form ends, and how the word it may be of ends.
_ENDINGS: Final[Mapping[Part, tuple[tuple[str, str], ...]]] = {
    Part.NOUN: (
        ("ses", "s"),
        ("xes", "x"),
        ("zes", "z"),
        ("ches", "ch"),
        ("shes", "sh"),
        ("ies", "y"),
        ("s", ""),
        ("men", "man"),
    ),
    Part.VERB: (
        ("ies", "y"),
        ("es", "e"),
        ("es", ""),
        ("s", ""),
        ("ed", "e"),
        ("ed", ""),
        ("ing", "e"),
        ("ing", ""),
    ),
    Part.ADJECTIVE: (("er", ""), ("est", ""), ("er", "e"), ("est", "e")),
    Part.ADVERB: (),
}
_LETTERS: Final = {"n": Part.NOUN, "v": Part.VERB, "a": Part.ADJECTIVE, "s": Part.ADJECTIVE}
_KINDS: Final = {1: Part.NOUN, 2: Part.VERB, 3: Part.ADJECTIVE, 4: Part.ADVERB, 5: Part.ADJECTIVE}
_NEAR: Final = frozenset({"@", "&", "\\", "+", ";c", "~"})
_EXAMPLE: Final = re.compile(r'[;:]?\s*"')
_COMPARED: Final = re.compile(r"\((?:comparative|superlative) of")
_MARK: Final = re.compile(r"\((?:a|p|ip)\)$")


@dataclass(frozen=True, slots=True)
class Sense:
    """One meaning of a word. `number` is its rank among them, `count` how often it was met.

    `heads`: among the words that share this meaning, it is the one named first. `trades`: the
    records of what it belongs to, such as baseball or law.
    """

    part: Part
    offset: int
    number: int
    count: int
    definition: str
    quotations: str
    synonyms: tuple[str, ...]
    related: tuple[tuple[Part, int], ...]
    heads: bool
    trades: tuple[int, ...]


@cache
def _files() -> Mapping[str, bytes]:
    parts = tuple(Part)
    names = [f"{kind}.{part}" for kind in ("index", "data") for part in parts]
    names += [f"{part}.exc" for part in parts]
    return carrier.members("corpora/wordnet.zip", (*names, "cntlist.rev"))


@cache
def _exceptions() -> Mapping[tuple[Part, str], tuple[str, ...]]:
    found: dict[tuple[Part, str], tuple[str, ...]] = {}
    for part in Part:
        for line in _files()[f"{part}.exc"].decode("ascii").splitlines():
            form, *words = line.split()
            found[part, form] = tuple(words)
    return found


@cache
def _counts() -> Mapping[tuple[str, Part, int], int]:
    """How often each sense was met in the texts that WordNet's makers marked up."""
    found: dict[tuple[str, Part, int], int] = {}
    for line in _files()["cntlist.rev"].decode("ascii").splitlines():
        key, number, count = line.split()
        word, _, rest = key.partition("%")
        found[word, _KINDS[int(rest[0])], int(number)] = int(count)
    return found


def warm() -> None:
    """Read the files now, so that the children of this process share them."""
    _exceptions()
    _counts()


@lru_cache(maxsize=200_000)
def lemmas(form: str, part: Part) -> tuple[str, ...]:
    """The words a form may be of, as that part of speech; those of irregular forms first."""
    found = list(_exceptions().get((part, form), ()))
    found.append(form)
    for ending, instead in _ENDINGS[part]:
        if form.endswith(ending) and len(form) > len(ending) + 1:
            found += _stems(form[: -len(ending)] + instead, ending)
    return tuple(word for word in dict.fromkeys(found) if _entry(word, part))


def _stems(stem: str, ending: str) -> Iterator[str]:
    """Also with its doubled consonant made single: `stopp` of `stopped` is `stop`."""
    yield stem
    if ending in {"ed", "ing", "er", "est"} and len(stem) > 3 and stem[-1] == stem[-2]:
        yield stem[:-1]


@lru_cache(maxsize=50_000)
def senses(word: str, part: Part) -> tuple[Sense, ...]:
    """Every meaning of a word that is no name, the commonest first."""
    found: list[Sense] = []
    for number, offset in enumerate(_entry(word, part), 1):
        sense = _sense(word, part, offset, number)
        if sense:
            found.append(sense)
    return tuple(found)


def gloss(part: Part, offset: int) -> str:
    """The definition and quotations of a record."""
    return _record(part, offset).partition(" | ")[2].strip()


@lru_cache(maxsize=200_000)
def _entry(word: str, part: Part) -> tuple[int, ...]:
    """The offsets of a word's records, by binary search over the index's lines."""
    index, wanted = _files()[f"index.{part}"], word.encode("ascii", "replace") + b" "
    low, high = 0, len(index)
    while low < high:
        start = index.rfind(b"\n", low, (low + high) // 2) + 1 or low
        end = index.find(b"\n", start)
        line = index[start:end]
        if line.startswith(wanted):
            fields = line.split()
            return tuple(int(offset) for offset in fields[-int(fields[2]) :])
        if line < wanted:
            low = end + 1
        else:
            high = start
    return ()


def _record(part: Part, offset: int) -> str:
    data = _files()[f"data.{part}"]
    return data[offset : data.index(b"\n", offset)].decode("ascii", "replace")


def _sense(word: str, part: Part, offset: int, number: int) -> Sense | None:
    facts, _, said = _record(part, offset).partition(" | ")
    fields = facts.split()
    count = int(fields[3], 16)
    spelt = [_MARK.sub("", name) for name in fields[4 : 4 + 2 * count : 2]]
    pointers = _pointers(fields[4 + 2 * count :])
    if word not in spelt or any(kind == "@i" for kind, _, _ in pointers):
        return None
    definition, *quotations = _EXAMPLE.split(said.strip(), maxsplit=1)
    if _COMPARED.match(definition):
        return None
    return Sense(
        part,
        offset,
        number,
        _counts().get((word, part, number), 0),
        definition.strip(" ;:"),
        " ".join(quotations),
        tuple(name.replace("_", " ") for name in spelt if name != word),
        tuple((to, at) for kind, to, at in pointers if kind in _NEAR),
        spelt[0] == word,
        tuple(at for kind, _, at in pointers if kind == ";c"),
    )


def _pointers(fields: list[str]) -> list[tuple[str, Part, int]]:
    count = int(fields[0])
    found: list[tuple[str, Part, int]] = []
    for at in range(1, 1 + 4 * count, 4):
        kind, offset, letter = fields[at : at + 3]
        found.append((kind, _LETTERS.get(letter, Part.ADVERB), int(offset)))
    return found
