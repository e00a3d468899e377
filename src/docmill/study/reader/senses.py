"""How near meanings are to sentences that use a word, by the local model of texts."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from docmill.reading import embeddings
from docmill.study.reader import lexicon, wordnet
from docmill.study.reader.wordnet import PartOfSpeech, Sense

SENTENCES: Final = 3  # of a word are looked at
AROUND: Final = 80  # characters on each side of it


def warm_embedder() -> None:
    embeddings.load_embedder()


def rate_nearness(word: str, senses: Sequence[Sense], texts: Sequence[str]) -> list[float]:
    """From -1 to 1 for each sense; 0 for all of them where the model is not installed."""
    model = embeddings.load_embedder()
    if model is None or not texts:
        return [0.0] * len(senses)
    said = [
        _cut_around(text, word) for text in texts[:: max(1, len(texts) // SENTENCES)][:SENTENCES]
    ]
    vectors = model.embed([*said, *(_write_gloss(word, sense) for sense in senses)])
    return (vectors[len(said) :] @ vectors[: len(said)].T).mean(1).tolist()


def _cut_around(text: str, word: str) -> str:
    found = re.search(rf"\b{re.escape(word[: max(3, len(word) - 2)])}", text, re.IGNORECASE)
    middle = found.start() if found else 0
    return text[max(0, middle - AROUND) : middle + AROUND]


def _write_gloss(word: str, sense: Sense) -> str:
    names = ", ".join((word, *sense.synonyms))
    return f"{names}: {sense.definition}; {sense.quotations}"


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
class ChosenSense:
    sense: Sense
    confidence: float


def choose_sense(word: str, part: PartOfSpeech, texts: Sequence[str], topic: Topic) -> ChosenSense:
    """What a word means in some sentences of a text on a topic."""
    context = weigh_context(texts, word, topic.words)
    rated = [
        (_rate_prior(sense, word, topic) + OVERLAP * _rate_overlap(sense, context), sense)
        for sense in wordnet.find_senses(word, part)
    ]
    rated.sort(key=lambda pair: (-pair[0], pair[1].number))
    rated = [pair for pair in rated[:LIKELIEST] if rated[0][0] - pair[0] < HOPELESS]
    near = rate_nearness(word, [sense for _, sense in rated], texts) if len(rated) > 1 else [0.0]
    return _choose_best(
        [(score + NEAR * by, sense) for (score, sense), by in zip(rated, near, strict=True)]
    )


def _choose_best(rated: Sequence[tuple[float, Sense]]) -> ChosenSense:
    highest, sense = max(rated, key=lambda pair: (pair[0], -pair[1].number))
    total = sum(math.exp(score - highest) for score, _ in rated)
    return ChosenSense(sense, round(1 / total, 2))


def weigh_context(
    texts: Iterable[str], word: str, topic: Mapping[str, float] | None = None
) -> Mapping[str, float]:
    """The telling words of some sentences, each weighed by how rare it is, and of the topic."""
    near = [telling_words(text) for text in texts]
    counts = Counter(each for stems in near for each in stems)
    context = dict(topic or {})
    for each, count in counts.items():
        context[each] = context.get(each, 0.0) + weigh_word(each) * count / math.sqrt(len(near))
    context.pop(word, None)
    return context


def find_topic(counts: Mapping[str, int]) -> Topic:
    """What a whole text is about: the words it has more often than others have."""
    total = sum(counts.values())
    stems: Counter[str] = Counter()
    for form, count in counts.items():
        if len(form) > 2 and form.isascii() and not lexicon.is_plain(form):
            stems[find_stem(form)] += count
    excess = {each: rate_keyness(count, total, each) for each, count in stems.items()}
    rated = sorted(excess, key=lambda each: (-excess[each] * math.log2(1 + stems[each]), each))
    words = {each: ABOUT * min(max(excess[each], 0.0), 2.0) for each in rated[:TOPIC]}
    trades = Counter(trade for each in words for trade in _trades_of(each))
    return Topic(words, frozenset(one for one, count in trades.items() if count >= OF_A_TRADE))


def _trades_of(word: str) -> frozenset[int]:
    senses = (sense for part in PartOfSpeech for sense in wordnet.find_senses(word, part))
    return frozenset(trade for sense in senses for trade in sense.trades)


def rate_keyness(count: int, total: int, word: str) -> float:
    """How many powers of ten more often than in general a word stands in a text."""
    expected = total * 10 ** (max(lexicon.zipf_frequency(word, "en"), 1.2) - 9)
    return math.log10((count + 0.5) / (expected + 0.5))


def _rate_prior(sense: Sense, word: str, topic: Topic) -> float:
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


def _rate_overlap(sense: Sense, context: Mapping[str, float]) -> float:
    own = telling_words(f"{sense.definition} {sense.quotations} {' '.join(sense.synonyms)}")
    near: set[str] = set()
    for part, offset in sense.related[:RELATED]:
        near |= telling_words(wordnet.read_gloss(part, offset))
    near -= own
    shared = sum(context.get(stem, 0.0) for stem in own)
    loosely = sum(context.get(stem, 0.0) for stem in near)
    return (shared + 0.4 * loosely) / math.sqrt(1 + len(own) / 10 + len(near) / 40)


@lru_cache(maxsize=100_000)
def telling_words(text: str) -> frozenset[str]:
    """The words of a text that say what it is about, in their dictionary form."""
    words = _WORD.findall(text.lower())
    return frozenset(find_stem(word) for word in words if not lexicon.is_plain(word))


@lru_cache(maxsize=100_000)
def find_stem(word: str) -> str:
    for part in (PartOfSpeech.NOUN, PartOfSpeech.VERB, PartOfSpeech.ADJECTIVE):
        if found := wordnet.find_lemmas(word, part):
            return min(found, key=len)
    return word


@lru_cache(maxsize=100_000)
def weigh_word(word: str) -> float:
    return max(0.0, TELLING - max(lexicon.zipf_frequency(word, "en"), 2.0)) / 2
