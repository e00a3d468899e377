"""Sentences of the text that show a word in use."""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from docmill.pipelines.study.prose import Sentence
from docmill.pipelines.study.vocabulary import Word

EXAMPLES: Final = 3
BEST_WORDS: Final = (6, 28)
LONGEST_CHARS: Final = 400
Shown = tuple[Word, Sequence[Sentence]]
_CLAUSE: Final = re.compile(r"[,;:]\s+|[,;:]?(?:—|--)|\s+-\s+")


def examples(word: Word, sentences: Sequence[Sentence]) -> list[Sentence]:
    """The clearest first: whole sentences of a good length, as they are in the document."""
    rated: dict[str, tuple[tuple[bool, int, int], Sentence]] = {}
    for place in word.places:
        sentence = _excerpt(sentences[place], word)
        rated.setdefault(sentence.text, (_effort(sentence, place), sentence))
    best = [sentence for _, sentence in sorted(rated.values(), key=lambda pair: pair[0])]
    return [each for each in best if each.verbatim][:EXAMPLES] or best[:EXAMPLES]


def as_written(shown: Sequence[Shown], least: int) -> Sequence[Shown]:
    """Only words with a sentence exactly as the document has it, if that leaves enough words."""
    exact = [(word, found) for word, found in shown if all(each.verbatim for each in found)]
    return exact if len(exact) >= min(least, len(shown)) else shown


def _excerpt(sentence: Sentence, word: Word) -> Sentence:
    """Of a sentence that never ends, the clauses around the word."""
    text = sentence.text
    if len(text) <= LONGEST_CHARS:
        return sentence
    found = _pattern(word).search(text)
    middle = found.start() if found else 0
    before = [cut.end() for cut in _CLAUSE.finditer(text, 0, middle)]
    after = [cut.start() for cut in _CLAUSE.finditer(text, middle)]
    start = next((cut for cut in before if middle - cut < LONGEST_CHARS // 2), middle)
    end = next((cut for cut in reversed(after) if cut - start < LONGEST_CHARS), None)
    return replace(sentence, text=text[start : end or _space(text, middle + 200)].strip())


def _space(text: str, at: int) -> int:
    """The end of the word that is there."""
    end = text.find(" ", at)
    return end if end >= 0 else len(text)


def _effort(sentence: Sentence, place: int) -> tuple[bool, int, int]:
    length, (least, most) = len(sentence.text.split()), BEST_WORDS
    whole = sentence.text[-1] in ".!?…\"'”’)" and not sentence.text[0].islower()
    off = max(least - length, length - most, 0)
    return not sentence.verbatim, off + (0 if whole else 10), place


def without(word: Word, text: str, blank: str) -> tuple[str, str]:
    """The text with a blank for every form of the word, and the first form that stood there."""
    found = _pattern(word).search(text)
    return _pattern(word).sub(blank, text), found.group() if found else ""


def _pattern(word: Word) -> re.Pattern[str]:
    forms = sorted({word.lemma, *word.forms}, key=len, reverse=True)
    return re.compile(rf"\b(?:{'|'.join(map(re.escape, forms))})\b", re.IGNORECASE)
