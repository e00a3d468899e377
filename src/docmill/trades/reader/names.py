"""The name of a security: words beside its ISIN or behind a label, and none that are labels."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from docmill.reading.labels import fold
from docmill.reading.numbers import currency_code
from docmill.reading.pages import Value
from docmill.trades.reader import facts, lexicon
from docmill.trades.reader.rows import NoteRow, make_value

LONGEST: Final = 80
LETTERS: Final = 4  # a name has more of them
PROSE: Final = 12  # words: more are a sentence
# Rows from the ISIN, and what they count; the last ones only where a word names a kind of security.
NEAR: Final = ((0, 2.0), (-1, 1.2), (1, 0.8), (-2, 0.6), (-3, 0.4), (-4, 0.3))
LABELLED: Final = 2.2
LEAST: Final = 0.5
SURE: Final = 3.0
BESIDE: Final = 1.1  # in the row of the quantity
OVER: Final = 1.45  # in the row above it, where no ISIN is printed; a single word is not enough
VENUE: Final = 1.5  # behind a word for where a trade was done
FAR: Final = 0.02  # for each row between a labelled name and the quantity
FEW: Final = 1 / 3  # of the words may start small, or they are a sentence
WORDY: Final = 3  # letters of a word that counts for that
SHARE_CLASS: Final = "R"  # at the end of a fund's name; elsewhere it may mean rand
_CODE: Final = re.compile(r"^\(?(?=\w*\d)[A-Z0-9]{6,}\)?[,;]?$|^[X.*#\-/|()]+$")
_FIGURE: Final = re.compile(r"^[-+(]?[€$£]?\d[\d.,'’%:/-]*\)?$")
_EDGES: Final = " ,;:.-–/|()*"
_PARTING: Final = re.compile(
    r"^[-+(]?[€$£]?\d[\d']*[.,'’]\d[\d.,'’]*\)?$"
)  # an amount, not `STOXX 50`
_GLUED: Final = re.compile(r"(?<=[a-zà-ÿ])(?=[A-ZÀ-Þ][a-zà-ÿ]{2})")
_FORMS: Final = frozenset({"corp", "inc", "plc", "ltd", "gmbh", "limited", "company", "llc"})
_LINKS: Final = frozenset({"&", "and", "und", "et", "e", "y", "en", "de", "di", "of", "the", "für"})


@dataclass(frozen=True, slots=True)
class NameCandidate:
    """Words that may be a name, where they stand, and how well they do."""

    row: NoteRow
    text: str
    score: float


def find_name(
    rows: Sequence[NoteRow], code: Value | None, near: int, *, broker: str = ""
) -> Value | None:
    """The best name, also in the row of the quantity; none where all there is are labels, or the
    name of the broker itself."""
    found = [*_find_labelled(rows, near), *_find_beside_code(rows, code)]
    found += _find_beside_quantity(rows, near, named=code is not None)
    own = fold(broker)
    able = [one for one in found if not own or fold(one.text) not in own]
    best = max(able, key=lambda one: one.score, default=None)
    if best is None or best.score < LEAST:
        return None
    sure = 0.85 if best.score >= SURE else 0.6
    return make_value(best.row, 0, len(best.row.text), best.text, sure)


def _find_beside_quantity(
    rows: Sequence[NoteRow], near: int, *, named: bool
) -> Iterator[NameCandidate]:
    for row in rows:
        weight = {near: BESIDE, near - 1: 0.0 if named else OVER}.get(row.index, 0.0)
        if weight and (made := _make_candidate(row, row.text, weight)):
            yield made


def _find_labelled(rows: Sequence[NoteRow], near: int) -> Iterator[NameCandidate]:
    for at, row in enumerate(rows):
        far = FAR * abs(row.index - near)
        match = lexicon.SECURITY.match(row.text)
        if not match or row.word_count > PROSE:
            continue
        text = row.text[match.end() :]
        whole = ":" in match[0] and not row.numbers and not row.days
        made = _make_candidate(row, text, LABELLED - far, whole=whole)
        if made:
            yield made
        elif at + 1 < len(rows) and not row.numbers:
            below = _make_candidate(rows[at + 1], rows[at + 1].text, LABELLED - 0.6 - far)
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


def _make_candidate(
    row: NoteRow, text: str, weight: float, *, whole: bool = False
) -> NameCandidate | None:
    """The longest run of words between labels, without codes, and figures at its ends; all words
    where a colon says that a name follows."""
    runs = [text.split()] if whole and not facts.ISIN.search(text) else _split_at_labels(text)
    record = len(row.numbers) > 1 and bool(row.days)
    kept = [_trim_words(run) for run in runs]
    kept = [_drop_code(run) for run in kept] if record else kept
    able = [run for run in kept if not _is_sentence(run)] or kept
    words = max(able, key=lambda run: len("".join(run)))
    shown = " ".join(words)[:LONGEST].strip(_EDGES)
    shown += ")" * (shown.count("(") - shown.count(")") == 1)
    if not _may_be_name(shown, words):
        return None
    kind = any(pattern.search(fold(shown)) for _, pattern in lexicon.ASSETS)
    score = weight + (1.2 if kind else 0.0) - (0.9 if len(words) == 1 else 0.0)
    score -= VENUE if lexicon.EXCHANGE.match(row.plain) else 0.0
    return NameCandidate(row, shown, score)


def _may_be_name(shown: str, words: Sequence[str]) -> bool:
    """Whether words are neither a sentence, nor a cost, nor letters torn apart."""
    letters = sum(char.isalpha() for char in shown)
    if letters < LETTERS or len(words) > PROSE or words[0].islower():
        return False
    figures = sum(any(char.isdigit() for char in word) for word in words)
    if all(len(word) <= 2 for word in words) or figures > 2 or _is_sentence(words):
        return False
    if len(words) == 1 and (figures or fold(words[0]) in _FORMS):  # a number of a security
        return False
    return not (lexicon.COST.search(shown) or lexicon.NOT_NAMES.search(fold(shown)))


def _is_sentence(words: Sequence[str]) -> bool:
    """Whether many words start small, as those of a sentence do."""
    small = [word for word in words if word.islower() and len(word.strip(_EDGES)) >= WORDY]
    plain = [word for word in small if word.isalpha() and word not in _LINKS]
    return len(plain) > FEW * len(words)


def _split_at_labels(text: str) -> list[list[str]]:
    runs: list[list[str]] = [[]]
    for word in text.split():
        if is_label(word) or _PARTING.match(word):
            runs.append([])
        elif not _CODE.match(word):
            runs[-1].append(word)
    return runs


def _drop_code(words: list[str]) -> list[str]:
    """The words without a letter before them that tells the direction of a record."""
    codes = lexicon.BUY_CODES | lexicon.SELL_CODES
    return words[1:] if len(words) > 1 and len(words[0]) == 1 and words[0] in codes else words


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
        or bool(currency_code(bare) and not bare.islower() and bare != SHARE_CLASS)
        or bare.lower() in _LINKS
    )


def is_label(word: str) -> bool:
    """Whether a word is one that notes use for their columns, titles and units."""
    plain = fold(word)
    if not plain:
        return False
    parts = fold(_GLUED.sub(" ", word)).split()
    labels = all(lexicon.NAME_LABEL.fullmatch(part) for part in parts)
    return labels or bool(lexicon.NAME_LABEL.fullmatch(plain)) or word.endswith(":")
