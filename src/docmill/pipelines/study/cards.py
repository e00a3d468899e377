"""Flashcards of three kinds: what a word means, which word means this, which word is missing."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from docmill.pipelines.study.examples import Shown, without
from docmill.pipelines.study.prose import Sentence
from docmill.pipelines.study.vocabulary import Word

BLANK: Final = "_____"
CLOZE_WORDS: Final = (5, 40)


def cards(words: Sequence[Shown]) -> list[Mapping[str, Any]]:
    """No front twice: where two words share a meaning, only the better one asks for it."""
    made: dict[str, Mapping[str, Any]] = {}
    for word, sentences in words:
        for kind, front, back in _cards(word, sentences):
            name = hashlib.sha256(f"{kind}\n{front}".encode()).hexdigest()[:16]
            card = {"id": name, "kind": kind, "front": front, "back": back, "word": word.lemma}
            made.setdefault(front.casefold(), card)
    return list(made.values())


def _cards(word: Word, sentences: Sequence[Sentence]) -> Iterator[tuple[str, str, str]]:
    if said := word.definition:
        yield "definition", f"{word.lemma} ({word.part})", _with_example(said, sentences)
        if without(word, said, "") == said:
            yield "term", f"{said} ({word.part})", word.lemma
    for sentence in sentences:
        gap = without(word, sentence.text, BLANK)
        least, most = CLOZE_WORDS
        if gap != sentence.text and least <= len(gap.split()) <= most:
            yield "cloze", gap, word.lemma
            return


def _with_example(said: str, sentences: Sequence[Sentence]) -> str:
    return f"{said}\n{sentences[0].text}" if sentences else said
