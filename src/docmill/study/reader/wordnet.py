"""WordNet as its files are: sorted indexes and records found by offset, so nothing is parsed ahead.

Proper names are left out: a sense counts only where its record spells the word in small letters
and does not say that it is one particular thing.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache, lru_cache
from typing import Final

from docmill.study.reader import lexicon

WORDNET: Final = "WordNet 3.0"


class PartOfSpeech(StrEnum):
    """A part of speech that a dictionary defines, by the name of its files."""

    NOUN = "noun"
    VERB = "verb"
    ADJECTIVE = "adj"
    ADVERB = "adv"

    @property
    def label(self) -> str:
        return {"adj": "adjective", "adv": "adverb"}.get(self.value, self.value)


# How a form ends, and how the word it may be of ends.
_ENDINGS: Final[Mapping[PartOfSpeech, tuple[tuple[str, str], ...]]] = {
    PartOfSpeech.NOUN: (
        ("ses", "s"),
        ("xes", "x"),
        ("zes", "z"),
        ("ches", "ch"),
        ("shes", "sh"),
        ("ies", "y"),
        ("s", ""),
        ("men", "man"),
    ),
    PartOfSpeech.VERB: (
        ("ies", "y"),
        ("es", "e"),
        ("es", ""),
        ("s", ""),
        ("ed", "e"),
        ("ed", ""),
        ("ing", "e"),
        ("ing", ""),
    ),
    PartOfSpeech.ADJECTIVE: (("er", ""), ("est", ""), ("er", "e"), ("est", "e")),
    PartOfSpeech.ADVERB: (),
}
_LETTERS: Final = {
    "n": PartOfSpeech.NOUN,
    "v": PartOfSpeech.VERB,
    "a": PartOfSpeech.ADJECTIVE,
    "s": PartOfSpeech.ADJECTIVE,
}
_KINDS: Final = {
    1: PartOfSpeech.NOUN,
    2: PartOfSpeech.VERB,
    3: PartOfSpeech.ADJECTIVE,
    4: PartOfSpeech.ADVERB,
    5: PartOfSpeech.ADJECTIVE,
}
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

    part: PartOfSpeech
    offset: int
    number: int
    count: int
    definition: str
    quotations: str
    synonyms: tuple[str, ...]
    related: tuple[tuple[PartOfSpeech, int], ...]
    heads: bool
    trades: tuple[int, ...]


@cache
def _read_files() -> Mapping[str, bytes]:
    parts = tuple(PartOfSpeech)
    names = [f"{kind}.{part}" for kind in ("index", "data") for part in parts]
    names += [f"{part}.exc" for part in parts]
    return lexicon.read_members("corpora/wordnet.zip", (*names, "cntlist.rev"))


@cache
def _read_exceptions() -> Mapping[tuple[PartOfSpeech, str], tuple[str, ...]]:
    found: dict[tuple[PartOfSpeech, str], tuple[str, ...]] = {}
    for part in PartOfSpeech:
        for line in _read_files()[f"{part}.exc"].decode("ascii").splitlines():
            form, *words = line.split()
            found[part, form] = tuple(words)
    return found


@cache
def _read_counts() -> Mapping[tuple[str, PartOfSpeech, int], int]:
    """How often each sense was met in the texts that WordNet's makers marked up."""
    found: dict[tuple[str, PartOfSpeech, int], int] = {}
    for line in _read_files()["cntlist.rev"].decode("ascii").splitlines():
        key, number, count = line.split()
        word, _, rest = key.partition("%")
        found[word, _KINDS[int(rest[0])], int(number)] = int(count)
    return found


def warm_wordnet() -> None:
    """Read the files now, so that the children of this process share them."""
    _read_exceptions()
    _read_counts()


@lru_cache(maxsize=200_000)
def find_lemmas(form: str, part: PartOfSpeech) -> tuple[str, ...]:
    """The words a form may be of, as that part of speech; those of irregular forms first."""
    found = list(_read_exceptions().get((part, form), ()))
    found.append(form)
    for ending, instead in _ENDINGS[part]:
        if form.endswith(ending) and len(form) > len(ending) + 1:
            found += _make_stems(form[: -len(ending)] + instead, ending)
    return tuple(word for word in dict.fromkeys(found) if _find_entry(word, part))


def _make_stems(stem: str, ending: str) -> Iterator[str]:
    """Also with its doubled consonant made single: `stopp` of `stopped` is `stop`."""
    yield stem
    if ending in {"ed", "ing", "er", "est"} and len(stem) > 3 and stem[-1] == stem[-2]:
        yield stem[:-1]


@lru_cache(maxsize=50_000)
def find_senses(word: str, part: PartOfSpeech) -> tuple[Sense, ...]:
    """Every meaning of a word that is no name, the commonest first."""
    found: list[Sense] = []
    for number, offset in enumerate(_find_entry(word, part), 1):
        sense = _read_sense(word, part, offset, number)
        if sense:
            found.append(sense)
    return tuple(found)


def read_gloss(part: PartOfSpeech, offset: int) -> str:
    """The definition and quotations of a record."""
    return _read_record(part, offset).partition(" | ")[2].strip()


@lru_cache(maxsize=200_000)
def _find_entry(word: str, part: PartOfSpeech) -> tuple[int, ...]:
    """The offsets of a word's records, by binary search over the index's lines."""
    index, wanted = _read_files()[f"index.{part}"], word.encode("ascii", "replace") + b" "
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


def _read_record(part: PartOfSpeech, offset: int) -> str:
    data = _read_files()[f"data.{part}"]
    return data[offset : data.index(b"\n", offset)].decode("ascii", "replace")


def _read_sense(word: str, part: PartOfSpeech, offset: int, number: int) -> Sense | None:
    facts, _, said = _read_record(part, offset).partition(" | ")
    fields = facts.split()
    count = int(fields[3], 16)
    spelt = [_MARK.sub("", name) for name in fields[4 : 4 + 2 * count : 2]]
    pointers = _read_pointers(fields[4 + 2 * count :])
    if word not in spelt or any(kind == "@i" for kind, _, _ in pointers):
        return None
    definition, *quotations = _EXAMPLE.split(said.strip(), maxsplit=1)
    if _COMPARED.match(definition):
        return None
    return Sense(
        part,
        offset,
        number,
        _read_counts().get((word, part, number), 0),
        definition.strip(" ;:"),
        " ".join(quotations),
        tuple(name.replace("_", " ") for name in spelt if name != word),
        tuple((to, at) for kind, to, at in pointers if kind in _NEAR),
        spelt[0] == word,
        tuple(at for kind, _, at in pointers if kind == ";c"),
    )


def _read_pointers(fields: list[str]) -> list[tuple[str, PartOfSpeech, int]]:
    count = int(fields[0])
    found: list[tuple[str, PartOfSpeech, int]] = []
    for at in range(1, 1 + 4 * count, 4):
        kind, offset, letter = fields[at : at + 3]
        found.append((kind, _LETTERS.get(letter, PartOfSpeech.ADVERB), int(offset)))
    return found


SHORTEST: Final = 4  # letters of a root
_ASIDE: Final = re.compile(r"\s*\([^()]*`[^()]*\)")
_SPACED: Final = re.compile(r"\s+([;,])")
_WORD: Final = re.compile(r"[^\W\d_]+")
_SUFFIXES: Final = (
    "ically", "ation", "ition", "ness", "ment", "sion", "tion", "able", "ible", "ance", "ence",
    "ity", "ing", "ily", "ied", "ies", "ion", "ful", "ous", "ive", "ism", "ist", "est",
    "al", "ly", "ed", "er", "or", "es", "ic", "y", "e", "s",
)  # fmt: skip


def write_definition(word: str, sense: Sense) -> str:
    """A sense's definition, without parts that use the word itself if others are left.

    An adverb that is only led back to its adjective gets that one's too: `in a polite manner` says
    nothing to who does not know `polite`.
    """
    text = _tidy(sense.definition)
    telling = [part for part in text.split("; ") if not re.search(rf"\b{word}\b", part)]
    text = "; ".join(telling) or text
    if sense.part is not PartOfSpeech.ADVERB or not gives_away(text, word):
        return text
    for adjective in _guess_adjectives(word):
        for meaning in _sort_nearest_first(find_senses(adjective, PartOfSpeech.ADJECTIVE), sense):
            if not gives_away(meaning.definition, word):
                return f"{text} ({adjective}: {_tidy(meaning.definition)})"
    return text


def _guess_adjectives(adverb: str) -> Iterator[str]:
    """What an adverb may be made of: hasty of hastily, gentle of gently, tragic of tragically."""
    for ending, instead in (("ily", "y"), ("ically", "ic"), ("ly", ""), ("ly", "le")):
        if adverb.endswith(ending):
            yield adverb.removesuffix(ending) + instead


def _sort_nearest_first(meanings: Sequence[Sense], sense: Sense) -> list[Sense]:
    return sorted(meanings, key=lambda each: (each.part, each.offset) not in sense.related)


def gives_away(text: str, word: str) -> bool:
    """Whether a text has the word, a form of it or one made of the same root."""
    own = find_root(word)
    return any(_are_kin(find_root(each), own) for each in _WORD.findall(text.lower()))


def find_root(word: str) -> str:
    """What is left of a word without its endings."""
    while True:
        for ending in _SUFFIXES:
            if word.endswith(ending) and len(word) - len(ending) >= SHORTEST:
                word = word.removesuffix(ending)
                break
        else:
            break
    doubled = len(word) > SHORTEST and word[-1] == word[-2]
    return word[:-1] if doubled else word


def _are_kin(one: str, other: str) -> bool:
    short, long = sorted((one, other), key=len)
    if len(short) < SHORTEST:
        return short == long
    return long.startswith(short) or (len(short) > SHORTEST and short in long)


def _tidy(text: str) -> str:
    return _SPACED.sub(r"\1", _ASIDE.sub("", text)).strip(" ,;")
