"""The words worth learning of a text that is not English: by frequency, without definitions."""

from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import Final

from docmill.pipelines.study import frequencies, languages
from docmill.pipelines.study.counting import Count
from docmill.pipelines.study.vocabulary import COMMONEST, Word, score

SHORTEST: Final = 4


def words(counts: Mapping[str, Count], language: str, wanted: int) -> list[Word]:
    """The best words, best first; nothing says what part of speech they are."""
    total = sum(count.plain for count in counts.values())
    forms: dict[str, Counter[str]] = defaultdict(Counter)
    for form, count in counts.items():
        if _may_be(count, language):
            forms[languages.lemma(form, language)][form] += count.plain
    found = [_word(lemma, shapes, counts, (language, total)) for lemma, shapes in forms.items()]
    kept = [word for word in found if word]
    return sorted(kept, key=lambda word: (-word.score, word.lemma))[:wanted]


def _may_be(count: Count, language: str) -> bool:
    form = count.form
    if len(form) < SHORTEST or form.lower() in languages.SMALL[language] or not form.isalpha():
        return False
    return not count.is_name and languages.known(form, language)


def _word(
    lemma: str, shapes: Mapping[str, int], counts: Mapping[str, Count], where: tuple[str, int]
) -> Word | None:
    language, total = where
    frequency = max(frequencies.zipf(form, language) for form in (lemma, *shapes))
    if not 0 < frequency < COMMONEST:
        return None
    count = sum(shapes.values())
    places = sorted({place for form in shapes for place in counts[form].places})
    rank = round(score(count, total, frequency), 3)
    return Word(lemma, "", count, frequency, rank, tuple(sorted(shapes)), tuple(places))
