"""Which meaning a word has in this text: the commonest, unless its neighbours speak for another."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from docmill.pipelines.study import frequencies, lexicon, wordnet
from docmill.pipelines.study.nearness import nearness
from docmill.pipelines.study.wordnet import Part, Sense

OVERLAP: Final = 0.75  # what a shared word is worth beside the sense's own frequency
NEAR: Final = 10.0  # what nearness by the model of texts is worth
LIKELIEST: Final = 5  # senses of a word are compared by it
HOPELESS: Final = 2.5  # so far behind the likeliest, and nearness can't help
ABOUT: Final = 1.0  # what a word of the topic is worth
TOPIC: Final = 120
RELATED: Final = 12
TELLING: Final = 5.8  # words commoner than this on the Zipf scale tell nothing
MET: Final = 0.55
LATER: Final = 0.2
LINKED: Final = 0.3
HEAD: Final = 0.5
STRANGE: Final = 0.8  # how much rarer a sense is that belongs to one trade: (theology) ...
AT_HOME: Final = 1.0  # how much likelier where the text is of that trade
OF_A_TRADE: Final = 6  # words of the topic make a text one of a trade
ODD: Final = 2.0
# What is said of people, food and quantities by way of another meaning; and what is rude.
_ODD: Final = re.compile(
    r"offensive|slang|obscene|vulgar|disparag|sexual|ethnic slur|uncomplimentary|obnoxious"
    r"|^(?:the )?flesh of|^a person regarded|^as much as|^the quantity contained"
)
_LABEL: Final = re.compile(r"\((?!formerly|usually|plural|often|Latin)")
_WORD: Final = re.compile(r"[a-z]{3,}")


@dataclass(frozen=True, slots=True)
class Topic:
    """What a text is about: its telling words, each with its weight, and the trades it is of."""

    words: Mapping[str, float]
    trades: frozenset[int]


@dataclass(frozen=True, slots=True)
class Chosen:
    sense: Sense
    confidence: float


def meant(word: str, part: Part, texts: Sequence[str], topic: Topic) -> Chosen:
    """What a word means in some sentences of a text on a topic."""
    context = context_of(texts, word, topic.words)
    rated = [
        (_prior(sense, word, topic) + OVERLAP * _overlap(sense, context), sense)
        for sense in wordnet.senses(word, part)
    ]
    rated.sort(key=lambda pair: (-pair[0], pair[1].number))
    rated = [pair for pair in rated[:LIKELIEST] if rated[0][0] - pair[0] < HOPELESS]
    near = nearness(word, [sense for _, sense in rated], texts) if len(rated) > 1 else [0.0]
    return _best(
        [(score + NEAR * by, sense) for (score, sense), by in zip(rated, near, strict=True)]
    )


def _best(rated: Sequence[tuple[float, Sense]]) -> Chosen:
    highest, sense = max(rated, key=lambda pair: (pair[0], -pair[1].number))
    total = sum(math.exp(score - highest) for score, _ in rated)
    return Chosen(sense, round(1 / total, 2))


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


def topic_of(counts: Mapping[str, int]) -> Topic:
    """What a whole text is about: the words it has more often than others have."""
    total = sum(counts.values())
    stems: Counter[str] = Counter()
    for form, count in counts.items():
        if len(form) > 2 and form.isascii() and not lexicon.is_plain(form):
            stems[stem(form)] += count
    excess = {each: keyness(count, total, each) for each, count in stems.items()}
    rated = sorted(excess, key=lambda each: (-excess[each] * math.log2(1 + stems[each]), each))
    words = {each: ABOUT * min(max(excess[each], 0.0), 2.0) for each in rated[:TOPIC]}
    trades = Counter(trade for each in words for trade in _trades(each))
    return Topic(words, frozenset(one for one, count in trades.items() if count >= OF_A_TRADE))


def _trades(word: str) -> frozenset[int]:
    senses = (sense for part in Part for sense in wordnet.senses(word, part))
    return frozenset(trade for sense in senses for trade in sense.trades)


def keyness(count: int, total: int, word: str) -> float:
    """How many powers of ten more often than in general a word stands in a text."""
    expected = total * 10 ** (max(frequencies.zipf(word, "en"), 1.2) - 9)
    return math.log10((count + 0.5) / (expected + 0.5))


def _prior(sense: Sense, word: str, topic: Topic) -> float:
    """How likely a sense is here: met often, named by this word first, and well connected.

    Less likely is one whose full name is longer, as `chemical mechanism` is of a mechanism.
    """
    said = sense.definition
    odd = ODD * (_ODD.search(said) is not None)
    if topic.trades.intersection(sense.trades):
        odd -= AT_HOME
    elif sense.trades or _LABEL.match(said) or _is_short_for(sense, word):
        odd += STRANGE
    known = MET * math.log(sense.count + 1) + LINKED * math.log(1 + len(sense.related))
    return known + (HEAD if sense.heads else 0.0) - odd - LATER * (sense.number - 1)


def _is_short_for(sense: Sense, word: str) -> bool:
    return any(synonym.endswith(f" {word}") for synonym in sense.synonyms)


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
