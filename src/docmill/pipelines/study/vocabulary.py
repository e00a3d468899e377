"""The English words of a text that are worth learning, each as the part of speech it has there."""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Final

from docmill.pipelines.study import frequencies, lexicon, senses, tagger, wordnet
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
_DEGREES: Final = frozenset({"how", "so", "very", "too", "quite", "rather", "as", "more", "most"})
_TAGS: Final[Mapping[str, Part]] = {
    "NN": Part.NOUN,
    "VB": Part.VERB,
    "JJ": Part.ADJECTIVE,
    "RB": Part.ADVERB,
}
# A participle that the dictionary has only as a verb, or a verb's name that it has as a noun.
_INSTEAD: Final[Mapping[Part, tuple[Part, ...]]] = {
    Part.ADJECTIVE: (Part.VERB,),
    Part.VERB: (),
    Part.NOUN: (Part.VERB,),
    Part.ADVERB: (),
}


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
    words = [word for lemma, parts in seen.items() if (word := _word(lemma, parts, total))]
    best = sorted(words, key=lambda word: (-word.score, word.lemma))
    topic = senses.topic_of({form: count.plain for form, count in counts.items()})
    return [_defined(word, sentences, topic) for word in _once(best)[:wanted]]


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
        alive(done / len(places))
        for form, tag in _mended(tagger.tag(sentences[place].text)):
            if form in wanted and (found := _lemma(form, tag)):
                tagged[form][found].append(place)
    seen: dict[str, dict[Part, _Found]] = defaultdict(lambda: defaultdict(_Found))
    for form, kinds in tagged.items():
        sure = sum(map(len, kinds.values()))
        for (lemma, part), where in kinds.items():
            found = seen[lemma][part]
            found.count += wanted[form].plain * len(where) / sure
            found.forms[form] += len(where)
            found.places += where
    return seen


def _mended(tagged: Sequence[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Tags put right where the tagger, which knows newspapers, takes an adjective for a noun."""
    before = ""
    for at, (form, tag) in enumerate(tagged):
        after = tagged[at + 1][1] if at + 1 < len(tagged) else ""
        described = tag == "NN" and (before in _DEGREES or after.startswith("NN"))
        yield form, "JJ" if described and _rather_adjective(form) else tag
        before = form.lower()


def _rather_adjective(form: str) -> bool:
    """Whether a form is met as an adjective more often than as a noun."""
    return _met(form, Part.ADJECTIVE) > _met(form, Part.NOUN)


def _met(form: str, part: Part) -> int:
    return sum(sense.count for sense in wordnet.senses(form, part))


def _lemma(form: str, tag: str) -> tuple[str, Part] | None:
    """The word and part of speech of a form that was tagged, if the dictionary agrees."""
    meant = _TAGS.get(tag[:2])
    if meant is None or tag.startswith(("NNP", "RBR", "RBS")):
        return None
    for part in (meant, *_INSTEAD[meant]):
        if part is not meant and not form.endswith(("ed", "ing", "en", "n", "t")):
            continue
        lemmas = [each for each in wordnet.lemmas(form, part) if wordnet.senses(each, part)]
        if lemmas:
            lemma = _likeliest(lemmas, tag)
            return None if lexicon.is_plain(lemma) else (lemma, part)
    return None


def _likeliest(lemmas: Sequence[str], tag: str) -> str:
    """Of the words a form may be of: `elements` is of element, but `tears` is its own word."""
    if tag in {"JJR", "JJS"}:
        return lemmas[-1]
    first, *others = lemmas
    close = [each for each in others if each in first or first in each]
    return max([first, *close], key=lambda each: frequencies.zipf(each, ENGLISH))


def _word(lemma: str, parts: Mapping[Part, _Found], total: int) -> Word | None:
    """The word as what it is most of the time."""
    part = max(parts, key=lambda each: (parts[each].count, each))
    found, whole = parts[part], sum(each.count for each in parts.values())
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


def _defined(word: Word, sentences: Sequence[Sentence], topic: Mapping[str, float]) -> Word:
    part = Part(word.part)
    near = senses.context_of((sentences[place].text for place in word.places), word.lemma, topic)
    chosen = senses.choose(wordnet.senses(word.lemma, part), near)
    return replace(
        word,
        part=part.shown,
        definition=chosen.sense.definition,
        synonyms=chosen.sense.synonyms,
        confidence=chosen.confidence,
        source=wordnet.NAME,
    )
