"""Definitions as a learner reads them, and whether words give one another away."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from docmill.pipelines.study import wordnet
from docmill.pipelines.study.wordnet import Part, Sense

SHORTEST: Final = 4  # letters of a root
_ASIDE: Final = re.compile(r"\s*\([^()]*`[^()]*\)")
_SPACED: Final = re.compile(r"\s+([;,])")
_WORD: Final = re.compile(r"[^\W\d_]+")
_ENDINGS: Final = (
    "ically", "ation", "ition", "ness", "ment", "sion", "tion", "able", "ible", "ance", "ence",
    "ity", "ing", "ily", "ied", "ies", "ion", "ful", "ous", "ive", "ism", "ist", "est",
    "al", "ly", "ed", "er", "or", "es", "ic", "y", "e", "s",
)  # fmt: skip


def said(word: str, sense: Sense) -> str:
    """A sense's definition, without parts that use the word itself if others are left.

    An adverb that is only led back to its adjective gets that one's too: `in a polite manner` says
    nothing to who does not know `polite`.
    """
    text = _tidy(sense.definition)
    telling = [part for part in text.split("; ") if not re.search(rf"\b{word}\b", part)]
    text = "; ".join(telling) or text
    if sense.part is not Part.ADVERB or not gives_away(text, word):
        return text
    for adjective in _adjectives(word):
        for meaning in _nearest_first(wordnet.senses(adjective, Part.ADJECTIVE), sense):
            if not gives_away(meaning.definition, word):
                return f"{text} ({adjective}: {_tidy(meaning.definition)})"
    return text


def _adjectives(adverb: str) -> Iterator[str]:
    """What an adverb may be made of: hasty of hastily, gentle of gently, tragic of tragically."""
    for ending, instead in (("ily", "y"), ("ically", "ic"), ("ly", ""), ("ly", "le")):
        if adverb.endswith(ending):
            yield adverb.removesuffix(ending) + instead


def _nearest_first(meanings: Sequence[Sense], sense: Sense) -> list[Sense]:
    return sorted(meanings, key=lambda each: (each.part, each.offset) not in sense.related)


def gives_away(text: str, word: str) -> bool:
    """Whether a text has the word, a form of it or one made of the same root."""
    own = root(word)
    return any(_kin(root(each), own) for each in _WORD.findall(text.lower()))


def root(word: str) -> str:
    """What is left of a word without its endings."""
    while True:
        for ending in _ENDINGS:
            if word.endswith(ending) and len(word) - len(ending) >= SHORTEST:
                word = word.removesuffix(ending)
                break
        else:
            break
    doubled = len(word) > SHORTEST and word[-1] == word[-2]
    return word[:-1] if doubled else word


def _kin(one: str, other: str) -> bool:
    short, long = sorted((one, other), key=len)
    if len(short) < SHORTEST:
        return short == long
    return long.startswith(short) or (len(short) > SHORTEST and short in long)


def _tidy(text: str) -> str:
    return _SPACED.sub(r"\1", _ASIDE.sub("", text)).strip(" ,;")
