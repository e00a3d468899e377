"""Who sent the note: a bank's or broker's name in the letterhead or at the foot.

A label, a customer or a sentence that speaks of banks is no name; better none than one of those.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from docmill.reading.labels import COMPANY, fold
from docmill.reading.pages import Value
from docmill.trades.reader import lexicon
from docmill.trades.reader.rows import NoteRow, make_value

HEAD: Final = 25
FOOT: Final = 12
# Where a company that is called neither bank nor broker may still be the sender.
LETTERHEAD: Final = 3
LONGEST: Final = 60
MOST_WORDS: Final = 7
# What parts a name from the address, telephone or slogan beside it.
_APART: Final = re.compile(r"[·•|*,;=\"„“]|\s[-–]\s|\b\d{4,}|\b\d+[ /-]\d+|\(0|\s{2,}")
_ADDRESS: Final = re.compile(r"@|www\.|\.(?:com|de|ch|at|net|eu)\b")
_AMOUNT: Final = re.compile(r"\d[.,]\d{2}\b")
_SMALL: Final = frozenset(
    "and of the der für und von de du la le les et di della del e y do da van".split()  # noqa: SIM905
)


def find_counterparty(rows: Sequence[NoteRow]) -> Value | None:
    """The best of the names there are, of equals the first."""
    best, most = None, 0
    for place, row in enumerate([*rows[:HEAD], *reversed(rows[-FOOT:])]):
        if row.days or _AMOUNT.search(row.text) or _ADDRESS.search(row.text):
            continue
        for start, name in _list_names(row.text):
            weight = _weigh(name, letterhead=place < LETTERHEAD)
            if weight > most:
                best, most = make_value(row, start, start + len(name), name, 0.6), weight
    return best


def _list_names(text: str) -> Iterator[tuple[int, str]]:
    """What may be a name, and where it begins. Behind a colon stands somebody else."""
    start = 0
    told = text.partition(":")[0]
    for match in [*_APART.finditer(told), None]:
        end = match.start() if match else len(told)
        name = _cut(told[start:end])
        stripped = name.strip(" -–()")
        if stripped:
            yield start + told[start:end].index(stripped), stripped
        start = match.end() if match else end


def _cut(text: str) -> str:
    """Up to the company's form, or without the labels behind a name."""
    forms = list(COMPANY.finditer(text))
    if forms:
        return text[: forms[-1].end()]
    words = text.split(" ")
    while words and (not words[-1] or _is_label(words[-1])):
        words.pop()
    return " ".join(words)


def _weigh(name: str, *, letterhead: bool) -> int:
    words = name.split()
    company = bool(COMPANY.search(name) or COMPANY.fullmatch(words[-1].upper()))
    bank = bool(lexicon.BROKER.search(fold(name)))
    if not (bank or (company and letterhead)):
        return 0
    if not any(map(_is_own, words)):
        return 0
    if len(name) > LONGEST or not 0 < len(words) <= MOST_WORDS or any(map(_is_label, words)):
        return 0
    if not company and (not name[:1].isupper() or _count_small(words) > 0 or len(name) < 5):
        return 0
    return 1 + 2 * bank + 2 * company + letterhead


def _count_small(words: Sequence[str]) -> int:
    """Words that names don't have: a sentence speaks of a bank."""
    return sum(word[:1].islower() and word.lower() not in _SMALL for word in words)


def _is_own(word: str) -> bool:
    """Whether a word tells one bank from another, as `Bank` and `AG` do not."""
    plain = fold(word).strip(" .:()")
    return (
        len(plain) > 1 and not COMPANY.fullmatch(word) and not lexicon.ANY_BROKER.fullmatch(plain)
    )


def _is_label(word: str) -> bool:
    plain = fold(word).strip(" .:()")
    bank = lexicon.BROKER.fullmatch(plain)
    return bool(plain) and not bank and bool(lexicon.NAME_LABEL.fullmatch(plain))
