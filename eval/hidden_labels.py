"""Pages whose labels of parties are words that nobody knows: what a lexicon does not have.

A weight that is fitted on them, too, says what place and surroundings tell where no label does.
"""

from collections.abc import Collection, Sequence
from dataclasses import replace
from random import Random
from typing import Final

from docmill.invoices.reader import detect_notation, lexicon
from docmill.invoices.reader.layout import make_sheet
from docmill.reading.labels import Phrase, find_phrases, match_labels, squeeze
from docmill.reading.pages import Line, Page, Word, make_line

LETTERS: Final = ("bcdfghklmnprstvz", "aeiou")


def hide_labels(pages: Sequence[Page], seed: str, names: Collection[str]) -> list[Page] | None:
    """The pages with invented words for the labels of buyers; none where there is no label.

    `names`, squeezed, stay as they are: a name left open may look like a label.
    """
    sheet = detect_notation(make_sheet(pages))
    phrases = find_phrases(sheet, lexicon.LABELS)
    labels = [phrase for phrase in match_labels(phrases, lexicon.BUYER) if _is_label(phrase)]
    hidden = {
        id(word)
        for phrase in labels
        if squeeze(phrase.cell.text) not in names
        for word, at in zip(phrase.cell.words, phrase.cell.starts, strict=True)
        if phrase.start <= at < phrase.end
    }
    return [_rewrite(page, hidden, seed) for page in pages] if hidden else None


def _is_label(phrase: Phrase) -> bool:
    colon = phrase.cell.text[phrase.end - 1] == ":"
    titled = lexicon.NUMBER_TITLE.fullmatch(phrase.key)
    return phrase.first and not titled and (colon or phrase.is_closed or phrase.is_translated)


def _rewrite(page: Page, hidden: Collection[int], seed: str) -> Page:
    lines = tuple(
        _rewrite_line(line, hidden, seed)
        if any(id(word) in hidden for word in line.words)
        else line
        for line in page.lines
    )
    return replace(page, lines=lines)


def _rewrite_line(line: Line, hidden: Collection[int], seed: str) -> Line:
    words = (_invent(word, seed) if id(word) in hidden else word for word in line.words)
    return make_line(list(words))


def _invent(word: Word, seed: str) -> Word:
    """A word of as many letters, the same one on the whole page."""
    random = Random(f"{seed} {word.text.lower()}")
    letters = [random.choice(LETTERS[at % 2]) for at in range(len(word.text))]
    text = "".join(
        new.upper() if old.isupper() else new if old.isalpha() else old
        for old, new in zip(word.text, letters, strict=True)
    )
    return replace(word, text=text)
