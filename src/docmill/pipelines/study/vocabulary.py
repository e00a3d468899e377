"""The English words of a text that are worth learning, each as the part of speech it has there."""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Final

from docmill.pipelines.study import frequencies, lexicon, parts, senses, wording, wordnet
from docmill.pipelines.study.counting import Count
from docmill.pipelines.study.languages import ENGLISH
from docmill.pipelines.study.prose import Sentence
from docmill.pipelines.study.wordnet import Part

COMMONEST: Final = 4.95  # on the Zipf scale: everybody knows what is commoner
RAREST: Final = 1.2
LOOKED_AT: Final = 6  # times as many words as are wanted are looked at closely
TAGGED: Final = 10  # sentences of each
FITS: Final = 0.5  # of a word's places have the part of speech it is given
# How useful a word is to know, by its frequency: neither what all know nor what nobody says.
USEFUL: Final = ((1.2, 0.3), (2.4, 0.7), (3.0, 1.0), (4.1, 1.0), (4.5, 0.5), (4.95, 0.1))


@dataclass(frozen=True, slots=True)
class Word:
    """One word to learn. `places` are the numbers of the sentences it stands in as this part."""

    lemma: str
    part: str
    count: int
    frequency: float
    score: float
    forms: tuple[str, ...]
    places: tuple[int, ...]
    definition: str = ""
    synonyms: tuple[str, ...] = ()
    confidence: float = 0.0
    source: str = ""


@dataclass(slots=True)
class _Found:
    """What was seen of a lemma as one part of speech."""

    count: float = 0
    forms: Counter[str] = field(default_factory=Counter[str])
    places: list[int] = field(default_factory=list[int])


def score(count: int, total: int, frequency: float) -> float:
    """More often than in other texts, and of a level at which people learn words."""
    expected = total * 10 ** (max(frequency, RAREST) - 9)
    excess = math.log10((count + 0.5) / (expected + 0.5))
    return _useful(frequency) * math.log2(1 + count) * (0.5 + max(excess, 0.0))


def _useful(frequency: float) -> float:
    """Read off USEFUL, on straight lines between its points."""
    if frequency <= USEFUL[0][0]:
        return USEFUL[0][1]
    for (low, least), (high, most) in pairwise(USEFUL):
        if frequency <= high:
            return least + (most - least) * (frequency - low) / (high - low)
    return USEFUL[-1][1]


def english(
    sentences: Sequence[Sentence],
    counts: Mapping[str, Count],
    wanted: int,
    alive: Callable[[float], None],
) -> list[Word]:
    """The best words, best first. `alive` is told how far it is, from 0 to 1."""
    total = sum(count.plain for count in counts.values())
    candidates = _candidates(counts, total)[: LOOKED_AT * wanted]
    seen = _looked_at(sentences, candidates, alive)
    words = [word for lemma, kinds in seen.items() if (word := _word(lemma, kinds, total))]
    best = sorted(words, key=lambda word: (-word.score, word.lemma))
    topic = senses.topic_of({form: count.plain for form, count in counts.items()})
    chosen = _once(best)[:wanted]
    defined: list[Word] = []
    for word in chosen:
        alive(0.5 + 0.5 * len(defined) / len(chosen))
        defined.append(_defined(word, sentences, topic))
    return defined


def _candidates(counts: Mapping[str, Count], total: int) -> list[Count]:
    """Forms that may be of a word to learn, the likeliest first."""
    rated = [
        (score(count.plain, total, frequencies.zipf(form, ENGLISH)), count)
        for form, count in counts.items()
        if _may_be(count)
    ]
    return [count for _, count in sorted(rated, key=lambda pair: (-pair[0], pair[1].form))]


def _may_be(count: Count) -> bool:
    form = count.form
    if count.is_name or lexicon.is_plain(form) or not (form.isascii() and form.isalpha()):
        return False
    if not RAREST <= frequencies.zipf(form, ENGLISH) < COMMONEST:
        return False
    return any(wordnet.lemmas(form, part) for part in Part)


def _looked_at(
    sentences: Sequence[Sentence], candidates: Sequence[Count], alive: Callable[[float], None]
) -> Mapping[str, Mapping[Part, _Found]]:
    """Every lemma with what it is in the sentences where it stands."""
    wanted = {count.form: count for count in candidates}
    places = sorted({place for count in candidates for place in count.places[:TAGGED]})
    tagged: dict[str, dict[tuple[str, Part], list[int]]] = defaultdict(lambda: defaultdict(list))
    for done, place in enumerate(places):
        alive(0.5 * done / len(places))
        for form, lemma, part in parts.found(sentences[place].text):
            if form in wanted:
                tagged[form][lemma, part].append(place)
    seen: dict[str, dict[Part, _Found]] = defaultdict(lambda: defaultdict(_Found))
    for form, kinds in tagged.items():
        sure = sum(map(len, kinds.values()))
        for (lemma, part), where in kinds.items():
            found = seen[lemma][part]
            found.count += wanted[form].plain * len(where) / sure
            found.forms[form] += len(where)
            found.places += where
    return seen


def _word(lemma: str, kinds: Mapping[Part, _Found], total: int) -> Word | None:
    """The word as what it is most of the time."""
    part = max(kinds, key=lambda each: (kinds[each].count, each))
    found, whole = kinds[part], sum(each.count for each in kinds.values())
    shapes = {lemma, *found.forms}
    frequency = max(frequencies.zipf(form, ENGLISH) for form in shapes)
    if found.count < FITS * whole or not RAREST <= frequency < COMMONEST:
        return None
    count = max(1, round(found.count))
    rank = round(score(count, total, frequency), 3)
    forms, places = tuple(sorted(found.forms)), tuple(dict.fromkeys(sorted(found.places)))
    return Word(lemma, part, count, frequency, rank, forms, places)


def _once(words: Iterable[Word]) -> list[Word]:
    """Without words that differ from a better one by an ending alone: `quick` and `quickly`."""
    kept: dict[str, Word] = {}
    for word in words:
        kept.setdefault(_root(word.lemma), word)
    return list(kept.values())


def _root(lemma: str) -> str:
    for ending in ("ness", "ly"):
        base = lemma.removesuffix(ending)
        if base != lemma and wordnet.lemmas(base, Part.ADJECTIVE):
            return base
    one = lemma.removesuffix("s")
    return one if wordnet.senses(one, Part.NOUN) else lemma


def _defined(word: Word, sentences: Sequence[Sentence], topic: senses.Topic) -> Word:
    part = Part(word.part)
    texts = [sentences[place].text for place in word.places]
    chosen = senses.meant(word.lemma, part, texts, topic)
    return replace(
        word,
        part=part.shown,
        definition=wording.said(word.lemma, chosen.sense),
        synonyms=chosen.sense.synonyms,
        confidence=chosen.confidence,
        source=wordnet.NAME,
    )
