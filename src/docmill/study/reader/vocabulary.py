"""The English words of a text that are worth learning, each as the part of speech it has there."""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Final

from docmill.study.reader import lexicon, senses, tagger, wordnet
from docmill.study.reader.lexicon import ENGLISH
from docmill.study.reader.prose import FormCount, Sentence
from docmill.study.reader.wordnet import PartOfSpeech

COMMONEST: Final = 4.95  # on the Zipf scale: everybody knows what is commoner
RAREST: Final = 1.2
LOOKED_AT: Final = 6  # times as many words as are wanted are looked at closely
TAGGED: Final = 10  # sentences of each
FITS: Final = 0.5  # of a word's places have the part of speech it is given
# How useful a word is to know, by its frequency: neither what all know nor what nobody says.
USEFUL: Final = ((1.2, 0.3), (2.4, 0.7), (3.0, 1.0), (4.1, 1.0), (4.5, 0.5), (4.95, 0.1))


@dataclass(frozen=True, slots=True)
class VocabularyWord:
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
class _Sightings:
    """What was seen of a lemma as one part of speech."""

    count: float = 0
    forms: Counter[str] = field(default_factory=Counter[str])
    places: list[int] = field(default_factory=list[int])


def score_word(count: int, total: int, frequency: float) -> float:
    """More often than in other texts, and of a level at which people learn words."""
    expected = total * 10 ** (max(frequency, RAREST) - 9)
    excess = math.log10((count + 0.5) / (expected + 0.5))
    return _rate_usefulness(frequency) * math.log2(1 + count) * (0.5 + max(excess, 0.0))


def _rate_usefulness(frequency: float) -> float:
    """Read off USEFUL, on straight lines between its points."""
    if frequency <= USEFUL[0][0]:
        return USEFUL[0][1]
    for (low, least), (high, most) in pairwise(USEFUL):
        if frequency <= high:
            return least + (most - least) * (frequency - low) / (high - low)
    return USEFUL[-1][1]


def find_english_words(
    sentences: Sequence[Sentence],
    counts: Mapping[str, FormCount],
    wanted: int,
    alive: Callable[[float], None],
) -> list[VocabularyWord]:
    """The best words, best first. `alive` is told how far it is, from 0 to 1."""
    total = sum(count.plain for count in counts.values())
    candidates = _rank_candidates(counts, total)[: LOOKED_AT * wanted]
    seen = _tag_candidates(sentences, candidates, alive)
    words = [
        word for lemma, kinds in seen.items() if (word := _make_english_word(lemma, kinds, total))
    ]
    best = sorted(words, key=lambda word: (-word.score, word.lemma))
    topic = senses.find_topic({form: count.plain for form, count in counts.items()})
    chosen = _drop_derived(best)[:wanted]
    defined: list[VocabularyWord] = []
    for word in chosen:
        alive(0.5 + 0.5 * len(defined) / len(chosen))
        defined.append(_define(word, sentences, topic))
    return defined


def _rank_candidates(counts: Mapping[str, FormCount], total: int) -> list[FormCount]:
    """Forms that may be of a word to learn, the likeliest first."""
    rated = [
        (score_word(count.plain, total, lexicon.zipf_frequency(form, ENGLISH)), count)
        for form, count in counts.items()
        if _may_be_english(count)
    ]
    return [count for _, count in sorted(rated, key=lambda pair: (-pair[0], pair[1].form))]


def _may_be_english(count: FormCount) -> bool:
    form = count.form
    if count.is_name or lexicon.is_plain(form) or not (form.isascii() and form.isalpha()):
        return False
    if not RAREST <= lexicon.zipf_frequency(form, ENGLISH) < COMMONEST:
        return False
    return any(wordnet.find_lemmas(form, part) for part in PartOfSpeech)


def _tag_candidates(
    sentences: Sequence[Sentence], candidates: Sequence[FormCount], alive: Callable[[float], None]
) -> Mapping[str, Mapping[PartOfSpeech, _Sightings]]:
    """Every lemma with what it is in the sentences where it stands."""
    wanted = {count.form: count for count in candidates}
    places = sorted({place for count in candidates for place in count.places[:TAGGED]})
    tagged: dict[str, dict[tuple[str, PartOfSpeech], list[int]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for done, place in enumerate(places):
        alive(0.5 * done / len(places))
        for form, lemma, part in tagger.find_words(sentences[place].text):
            if form in wanted:
                tagged[form][lemma, part].append(place)
    seen: dict[str, dict[PartOfSpeech, _Sightings]] = defaultdict(lambda: defaultdict(_Sightings))
    for form, kinds in tagged.items():
        sure = sum(map(len, kinds.values()))
        for (lemma, part), where in kinds.items():
            found = seen[lemma][part]
            found.count += wanted[form].plain * len(where) / sure
            found.forms[form] += len(where)
            found.places += where
    return seen


def _make_english_word(
    lemma: str, kinds: Mapping[PartOfSpeech, _Sightings], total: int
) -> VocabularyWord | None:
    """The word as what it is most of the time."""
    part = max(kinds, key=lambda each: (kinds[each].count, each))
    found, whole = kinds[part], sum(each.count for each in kinds.values())
    shapes = {lemma, *found.forms}
    frequency = max(lexicon.zipf_frequency(form, ENGLISH) for form in shapes)
    if found.count < FITS * whole or not RAREST <= frequency < COMMONEST:
        return None
    count = max(1, round(found.count))
    rank = round(score_word(count, total, frequency), 3)
    forms, places = tuple(sorted(found.forms)), tuple(dict.fromkeys(sorted(found.places)))
    return VocabularyWord(lemma, part, count, frequency, rank, forms, places)


def _drop_derived(words: Iterable[VocabularyWord]) -> list[VocabularyWord]:
    """Without words that differ from a better one by an ending alone: `quick` and `quickly`."""
    kept: dict[str, VocabularyWord] = {}
    for word in words:
        kept.setdefault(_base_of(word.lemma), word)
    return list(kept.values())


def _base_of(lemma: str) -> str:
    for ending in ("ness", "ly"):
        base = lemma.removesuffix(ending)
        if base != lemma and wordnet.find_lemmas(base, PartOfSpeech.ADJECTIVE):
            return base
    one = lemma.removesuffix("s")
    return one if wordnet.find_senses(one, PartOfSpeech.NOUN) else lemma


def _define(
    word: VocabularyWord, sentences: Sequence[Sentence], topic: senses.Topic
) -> VocabularyWord:
    part = PartOfSpeech(word.part)
    texts = [sentences[place].text for place in word.places]
    chosen = senses.choose_sense(word.lemma, part, texts, topic)
    return replace(
        word,
        part=part.label,
        definition=wordnet.write_definition(word.lemma, chosen.sense),
        synonyms=chosen.sense.synonyms,
        confidence=chosen.confidence,
        source=wordnet.WORDNET,
    )


SHORTEST: Final = 4


def find_foreign_words(
    counts: Mapping[str, FormCount], language: str, wanted: int
) -> list[VocabularyWord]:
    """The best words, best first; nothing says what part of speech they are."""
    total = sum(count.plain for count in counts.values())
    forms: dict[str, Counter[str]] = defaultdict(Counter)
    for form, count in counts.items():
        if _may_be_foreign(count, language):
            forms[lexicon.find_lemma(form, language)][form] += count.plain
    found = [
        _make_foreign_word(lemma, shapes, counts, (language, total))
        for lemma, shapes in forms.items()
    ]
    kept = [word for word in found if word]
    return sorted(kept, key=lambda word: (-word.score, word.lemma))[:wanted]


def _may_be_foreign(count: FormCount, language: str) -> bool:
    form = count.form
    if len(form) < SHORTEST or form.lower() in lexicon.SMALL_WORDS[language] or not form.isalpha():
        return False
    return not count.is_name and lexicon.is_known(form, language)


def _make_foreign_word(
    lemma: str, shapes: Mapping[str, int], counts: Mapping[str, FormCount], where: tuple[str, int]
) -> VocabularyWord | None:
    language, total = where
    frequency = max(lexicon.zipf_frequency(form, language) for form in (lemma, *shapes))
    if not 0 < frequency < COMMONEST:
        return None
    count = sum(shapes.values())
    places = sorted({place for form in shapes for place in counts[form].places})
    rank = round(score_word(count, total, frequency), 3)
    return VocabularyWord(lemma, "", count, frequency, rank, tuple(sorted(shapes)), tuple(places))
