"""Flashcards of three kinds: what a word means, which word means this, which word is missing."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, zip_longest
from typing import Any, Final

from docmill.pipelines.study.examples import Shown, without
from docmill.pipelines.study.prose import Sentence
from docmill.pipelines.study.vocabulary import Word
from docmill.pipelines.study.wording import gives_away

BLANK: Final = "_____"
CLOZE_WORDS: Final = (5, 40)


def cards(words: Sequence[Shown]) -> list[Mapping[str, Any]]:
    """In rounds, so that a word's cards lie apart: one would give away the next.

    No front twice: where two words share a meaning, only the better one asks for it.
    """
    made: dict[str, Mapping[str, Any]] = {}
    rows = [_turned([*_cards(word, said)], at) for at, (word, said) in enumerate(words)]
    for card in chain.from_iterable(zip_longest(*rows)):
        if card:
            made.setdefault(card["front"].casefold(), card)
    return list(made.values())


def _turned(row: Sequence[Mapping[str, Any]], by: int) -> list[Mapping[str, Any]]:
    """Another kind first for each word."""
    start = by % len(row) if row else 0
    return [*row[start:], *row[:start]]


def _card(kind: str, front: str, back: str, word: Word) -> Mapping[str, Any]:
    name = hashlib.sha256(f"{kind}\n{front}".encode()).hexdigest()[:16]
    return {"id": name, "kind": kind, "front": front, "back": back, "word": word.lemma}


def _cards(word: Word, sentences: Sequence[Sentence]) -> Iterator[Mapping[str, Any]]:
    if said := word.definition:
        back = _with_example(said, sentences)
        yield _card("definition", f"{word.lemma} ({word.part})", back, word)
        if not gives_away(said, word.lemma):
            yield _card("term", f"{said} ({word.part})", word.lemma, word)
    for sentence in sentences:
        gap, form = without(word, sentence.text, BLANK)
        least, most = CLOZE_WORDS
        if form and least <= len(gap.split()) <= most and not gives_away(gap, word.lemma):
            yield _card("cloze", gap, _as_it_stood(form, word.lemma), word)
            return


def _as_it_stood(form: str, lemma: str) -> str:
    return lemma if form.lower() == lemma.lower() else f"{form} ({lemma})"


def _with_example(said: str, sentences: Sequence[Sentence]) -> str:
    return f"{said}\n{sentences[0].text}" if sentences else said
