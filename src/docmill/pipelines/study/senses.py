"""Which meaning a word has in this text: the commonest, unless its neighbours speak for another."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from docmill.pipelines.study import frequencies, lexicon, wordnet
from docmill.pipelines.study.wordnet import Part, Sense

OVERLAP: Final = 0.35  # what a shared word is worth beside the sense's own frequency
RELATED: Final = 12
TELLING: Final = 5.8  # words commoner than this on the Zipf scale tell nothing
LABELLED: Final = 0.7  # how much rarer a sense is that belongs to one trade: (baseball) ...
COARSE: Final = 2.0
_COARSE: Final = re.compile(r"offensive|slang|obscene|vulgar|disparag|sexual|ethnic slur")
_WORD: Final = re.compile(r"[a-z]{3,}")


@dataclass(frozen=True, slots=True)
class Chosen:
    sense: Sense
    confidence: float


def choose(senses: Sequence[Sense], context: Mapping[str, float]) -> Chosen:
    """`context` weighs the words that stand near the word in the text."""
    scores = [_prior(sense) + OVERLAP * _overlap(sense, context) for sense in senses]
    best = max(range(len(scores)), key=lambda at: (scores[at], -at))
    total = sum(math.exp(score - scores[best]) for score in scores)
    return Chosen(senses[best], round(1 / total, 2))


def context_of(texts: Iterable[str], word: str) -> Mapping[str, float]:
    """The telling words of some sentences, each weighed by how rare it is."""
    near = [telling(text) for text in texts]
    counts = Counter(each for stems in near for each in stems)
    counts.pop(word, None)
    return {each: weight(each) * count / math.sqrt(len(near)) for each, count in counts.items()}


def _prior(sense: Sense) -> float:
    said = sense.definition
    odd = LABELLED * said.startswith("(") + COARSE * (_COARSE.search(said) is not None)
    return math.log(sense.count + 1.5 / sense.number**1.3) - odd


def _overlap(sense: Sense, context: Mapping[str, float]) -> float:
    own = telling(f"{sense.definition} {sense.quotations} {' '.join(sense.synonyms)}")
    near: set[str] = set()
    for part, offset in sense.related[:RELATED]:
        near |= telling(wordnet.gloss(part, offset))
    near -= own
    shared = sum(context.get(stem, 0.0) for stem in own)
    loosely = sum(context.get(stem, 0.0) for stem in near)
    return (shared + 0.4 * loosely) / math.sqrt(1 + len(own) / 10 + len(near) / 40)


@lru_cache(maxsize=100_000)
def telling(text: str) -> frozenset[str]:
    """The words of a text that say what it is about, in their dictionary form."""
    words = _WORD.findall(text.lower())
    return frozenset(stem(word) for word in words if not lexicon.is_plain(word))


@lru_cache(maxsize=100_000)
def stem(word: str) -> str:
    for part in (Part.NOUN, Part.VERB, Part.ADJECTIVE):
        if found := wordnet.lemmas(word, part):
            return min(found, key=len)
    return word


@lru_cache(maxsize=100_000)
def weight(word: str) -> float:
    return max(0.0, TELLING - max(frequencies.zipf(word, "en"), 2.0)) / 2
