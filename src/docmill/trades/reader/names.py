"""The name of a security: words beside its ISIN or behind a label, and none that are labels."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from docmill.reading.labels import fold
from docmill.reading.numbers import currency_code
from docmill.reading.pages import Value
from docmill.trades.reader import lexicon
from docmill.trades.reader.rows import NoteRow, make_value

LONGEST: Final = 80
LETTERS: Final = 4  # a name has more of them
PROSE: Final = 12  # words: more are a sentence
NEAR: Final = ((0, 2.0), (-1, 1.2), (1, 0.8), (-2, 0.6))  # rows from the ISIN, and what they count
LABELLED: Final = 2.2
LEAST: Final = 0.5
SURE: Final = 3.0
BESIDE: Final = 1.1  # in the row of the quantity
_CODE: Final = re.compile(r"^\(?(?=\w*\d)[A-Z0-9]{6,}\)?[,;]?$|^[X.*#\-/|()]+$")
_FIGURE: Final = re.compile(r"^[-+(]?\d[\d.,'’%:/-]*\)?$")
_EDGES: Final = " ,;:.-–/|()*"
_LINKS: Final = frozenset({"&", "and", "und", "et", "e", "y", "en", "de", "di", "of", "the", "für"})


@dataclass(frozen=True, slots=True)
class NameCandidate:
    """Words that may be a name, where they stand, and how well they do."""

    row: NoteRow
    text: str
    score: float


def find_name(rows: Sequence[NoteRow], code: Value | None, near: int) -> Value | None:
    """The best name, also in the row of the quantity; none where all there is are labels."""
    found = [*_find_labelled(rows), *_find_beside_code(rows, code)]
    beside = next((row for row in rows if row.index == near), None)
    if beside is not None and (made := _make_candidate(beside, beside.text, BESIDE)):
        found.append(made)
    best = max(found, key=lambda one: one.score, default=None)
    if best is None or best.score < LEAST:
        return None
    sure = 0.85 if best.score >= SURE else 0.6
    return make_value(best.row, 0, len(best.row.text), best.text, sure)


def _find_labelled(rows: Sequence[NoteRow]) -> Iterator[NameCandidate]:
    for at, row in enumerate(rows):
        match = lexicon.SECURITY.match(row.text)
        if not match or row.word_count > PROSE:
            continue
        made = _make_candidate(row, row.text[match.end() :], LABELLED)
        if made:
            yield made
        elif at + 1 < len(rows) and not row.numbers:
            below = _make_candidate(rows[at + 1], rows[at + 1].text, LABELLED - 0.6)
            if below:
                yield below


def _find_beside_code(rows: Sequence[NoteRow], code: Value | None) -> Iterator[NameCandidate]:
    """What stands in the row of the ISIN and in those around it."""
    if code is None:
        return
    at = next((i for i, r in enumerate(rows) if r.page == code.page and code.text in r.text), None)
    if at is None:
        return
    around = [(rows[at + step], weight) for step, weight in NEAR if 0 <= at + step < len(rows)]
    parts = [(row, part, weight) for row, weight in around for part in row.text.split(code.text)]
    yield from (made for part in parts if (made := _make_candidate(*part)))


def _make_candidate(row: NoteRow, text: str, weight: float) -> NameCandidate | None:
    """The longest run of words between labels, without codes, and figures at its ends."""
    words = max(map(_trim_words, _split_at_labels(text)), key=lambda run: len("".join(run)))
    shown = " ".join(words)[:LONGEST].strip(_EDGES)
    shown += ")" * (shown.count("(") - shown.count(")") == 1)
    if not _may_be_name(shown, words):
        return None
    kind = any(pattern.search(fold(shown)) for _, pattern in lexicon.ASSETS)
    score = weight + (1.2 if kind else 0.0) - (0.9 if len(words) == 1 else 0.0)
    return NameCandidate(row, shown, score)


def _may_be_name(shown: str, words: Sequence[str]) -> bool:
    """Whether words are neither a sentence, nor a cost, nor letters torn apart."""
    letters = sum(char.isalpha() for char in shown)
    if letters < LETTERS or len(words) > PROSE or words[0].islower():
        return False
    figures = sum(any(char.isdigit() for char in word) for word in words)
    if all(len(word) <= 2 for word in words) or figures > 2:
        return False
    return not (lexicon.COST.search(shown) or lexicon.NOT_NAMES.search(fold(shown)))


def _split_at_labels(text: str) -> list[list[str]]:
    runs: list[list[str]] = [[]]
    for word in text.split():
        if is_label(word):
            runs.append([])
        elif not _CODE.match(word):
            runs[-1].append(word)
    return runs


def _trim_words(words: Sequence[str]) -> list[str]:
    """The longest run without figures at its ends; a figure inside belongs to the name."""
    kept = list(words)
    while kept and _is_edge(kept[0]):
        kept.pop(0)
    while kept and _is_edge(kept[-1]):
        kept.pop()
    return kept


def _is_edge(word: str) -> bool:
    bare = word.strip(_EDGES)
    return (
        not bare
        or bool(_FIGURE.match(bare))
        or bool(currency_code(bare) and bare.isupper())
        or bare.lower() in _LINKS
    )


def is_label(word: str) -> bool:
    """Whether a word is one that notes use for their columns, titles and units."""
    plain = fold(word)
    if not plain:
        return False
    return bool(lexicon.NAME_LABEL.fullmatch(plain)) or word.endswith(":")
