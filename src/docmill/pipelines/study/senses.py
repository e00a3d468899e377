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

OVERLAP: Final = 0.5  # what a shared word is worth beside the sense's own frequency
ABOUT: Final = 1.0  # what a word of the topic is worth
TOPIC: Final = 120
RELATED: Final = 12
TELLING: Final = 5.8  # words commoner than this on the Zipf scale tell nothing
MET: Final = 0.7
LINKED: Final = 0.3
HEAD: Final = 0.5
LABELLED: Final = 0.4  # how much rarer a sense is that belongs to one trade: (theology) ...
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


def context_of(
    texts: Iterable[str], word: str, topic: Mapping[str, float] | None = None
) -> Mapping[str, float]:
    """The telling words of some sentences, each weighed by how rare it is, and of the topic."""
    near = [telling(text) for text in texts]
    counts = Counter(each for stems in near for each in stems)
    context = dict(topic or {})
    for each, count in counts.items():
        context[each] = context.get(each, 0.0) + weight(each) * count / math.sqrt(len(near))
    context.pop(word, None)
    return context


def topic_of(counts: Mapping[str, int]) -> Mapping[str, float]:
    """What a whole text is about: the words it has more often than others have."""
    total = sum(counts.values())
    stems: Counter[str] = Counter()
    for form, count in counts.items():
        if len(form) > 2 and form.isascii() and not lexicon.is_plain(form):
            stems[stem(form)] += count
    excess = {each: keyness(count, total, each) for each, count in stems.items()}
    rated = sorted(excess, key=lambda each: (-excess[each] * math.log2(1 + stems[each]), each))
    return {each: ABOUT * min(max(excess[each], 0.0), 2.0) for each in rated[:TOPIC]}


def keyness(count: int, total: int, word: str) -> float:
    """How many powers of ten more often than in general a word stands in a text."""
    expected = total * 10 ** (max(frequencies.zipf(word, "en"), 1.2) - 9)
    return math.log10((count + 0.5) / (expected + 0.5))


def _prior(sense: Sense) -> float:
    """How likely a sense is anywhere: met often, named by this word first, and well connected."""
    said = sense.definition
    odd = COARSE * (_COARSE.search(said) is not None) + LABELLED * said.startswith("(")
    known = MET * math.log(sense.count + 1) + LINKED * math.log(1 + len(sense.related))
    return known + (HEAD if sense.heads else 0.0) - odd - 0.1 * (sense.number - 1)


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
