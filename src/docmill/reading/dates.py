"""Dates as documents print them, with months in the languages of Indonesia and Europe."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from typing import Final

from docmill.reading.labels import fold_accents
from docmill.reading.lexicon import lexicon

YEARS: Final = (1970, 2099)

MONTHS: Final = {name: int(number) for name, number in lexicon().words("month").items()}

_FIGURES: Final = re.compile(r"\d\D*\d\D*\d")  # as many as the shortest date has: `1 May 24`
_LETTERS: Final = re.compile(r"[^\W\d_]{3}")
_WORD: Final = r"[^\W\d_]{3,12}"
_ISO: Final = re.compile(r"(?<![\d.])(\d{4})([-/.])\s?(\d{1,2})\2\s?(\d{1,2})(?!\d)")
_NUMERIC: Final = re.compile(
    r"(?<![\d/.,])(\d{1,2})\s?([-/.])\s?(\d{1,2})\s?\2\s?(\d{4}|\d{2})(?![\d/]|[.,]\d)"
)
_SPACED: Final = re.compile(  # at the start or behind words: a telephone number has more figures
    r"(?:^|[^\W\d_]\.?\s?:?\s|:)(\d\d) (\d\d) ((?:19|20)\d\d)(?!\s?\d|[.,/-]\d)"
)
_DAY_FIRST: Final = re.compile(
    rf"(?<![\d.,])(\d{{1,2}})(?:st|nd|rd|th|er|º|°)?[\s.,/-]*(?:of\s|de\s|den\s)?\s*({_WORD})"
    rf"[\s.,/'’-]*(?:del?\s)?(\d{{4}}|\d{{2}})(?!\d)",
    re.IGNORECASE,
)
_MONTH_FIRST: Final = re.compile(
    rf"(?<!\w)({_WORD})[\s./-]*(\d{{1,2}})(?:st|nd|rd|th)?[\s.,/-]+(\d{{4}})(?!\d)", re.IGNORECASE
)
_YEAR_MONTH: Final = re.compile(
    rf"(?<!\d)(\d{{4}})[\s./-]{{1,2}}({_WORD})[\s./-]{{1,2}}(\d{{1,2}})(?!\d)"
)
_PACKED: Final = re.compile(r"(?<!\d)(\d{4})(\d\d)(\d\d)(?!\d)")
_CLOCK: Final = re.compile(r"\d{1,2}/\d{1,2}/\d{2,4},?\s+\d{1,2}:\d\d(?::\d\d)?\s?[AP]M\b")
_CHINESE: Final = re.compile(r"(\d{4})\s?年\s?(\d{1,2})\s?月\s?(\d{1,2})\s?日")


@dataclass(frozen=True, slots=True)
class FoundDate:
    """A date in a text. `other` is what it would be with day and month the other way round."""

    day: date
    start: int
    end: int
    other: date | None = None
    slashed: bool = False


def find_dates(text: str, *, month_first: bool = False, packed: bool = False) -> list[FoundDate]:
    """Every date in a text, from left to right; `packed` ones (20250314) only when asked for."""
    return list(_find_dates(text, month_first, packed))


@lru_cache(maxsize=8192)
def _find_dates(text: str, month_first: bool, packed: bool) -> tuple[FoundDate, ...]:
    if not _FIGURES.search(text):
        return ()
    found: list[FoundDate] = []
    for date_found in sorted(_find_all(text, packed), key=lambda item: (item.start, -item.end)):
        if found and date_found.start < found[-1].end:
            continue
        found.append(_swap_day_and_month(date_found) if month_first else date_found)
    return tuple(found)


def read_date(text: str, *, month_first: bool = False) -> date | None:
    """The date that the text is, from end to end."""
    found = find_dates(text, month_first=month_first, packed=True)
    whole = len(found) == 1 and found[0].start == 0 and found[0].end == len(text)
    return found[0].day if whole else None


def has_month_first(texts: Iterable[str]) -> bool | None:
    """Whether slashed dates put the month first; None where none of them tells."""
    votes = sum(map(_vote_for_month, texts))
    return votes > 0 if votes else None


@lru_cache(maxsize=8192)  # several rules ask, each of the whole page
def _vote_for_month(text: str) -> int:
    """What the slashed dates of a text say for the month first; against it where it is negative."""
    slashed = [match for match in _NUMERIC.finditer(text) if match[2] != "."]
    return sum((int(match[3]) > 12) - (int(match[1]) > 12) for match in slashed)


def has_clock(texts: Iterable[str]) -> bool:
    """Whether a slashed date has a clock of twelve hours: so they are written in America."""
    return any(_CLOCK.search(text) for text in texts)


def _swap_day_and_month(found: FoundDate) -> FoundDate:
    if not (found.slashed and found.other):
        return found
    return FoundDate(found.other, found.start, found.end, found.day, slashed=True)


def _find_all(text: str, packed: bool) -> Iterator[FoundDate]:
    for match in _ISO.finditer(text):
        yield from _make_found(match, match[1], match[3], match[4])
    yield from _find_numeric(text)
    yield from _find_spaced(text)
    if _LETTERS.search(text):
        yield from _find_named(text)
    for match in _CHINESE.finditer(text):
        yield from _make_found(match, match[1], match[2], match[3])
    for match in _PACKED.finditer(text) if packed else ():
        yield from _make_found(match, match[1], match[2], match[3])


def _find_named(text: str) -> Iterator[FoundDate]:
    """Days of a month that is written as a word."""
    for match in _find_day_first(text):
        yield from _make_found(match, match[3], _month_number(match[2]), match[1])
    for match in _MONTH_FIRST.finditer(text):
        yield from _make_found(match, match[3], _month_number(match[1]), match[2])
    for match in _YEAR_MONTH.finditer(text):
        yield from _make_found(match, match[1], _month_number(match[2]), match[3])


def _find_day_first(text: str) -> Iterator[re.Match[str]]:
    """Days with the name of a month behind them; in `No. 25 of 4 May 2024` the 25 takes no 4."""
    at = 0
    while match := _DAY_FIRST.search(text, at):
        known = bool(_month_number(match[2]))
        at = match.end() if known else match.end(1)
        if known:
            yield match


def _find_spaced(text: str) -> Iterator[FoundDate]:
    for match in _SPACED.finditer(text):
        if day := _make_date(match[3], match[2], match[1]):
            yield FoundDate(day, match.start(1), match.end())


def _find_numeric(text: str) -> Iterator[FoundDate]:
    for match in _NUMERIC.finditer(text):
        normal = _make_date(match[4], match[3], match[1])
        turned = _make_date(match[4], match[1], match[3])
        day = normal or turned
        if day:
            other = turned if normal and turned != normal else None
            yield FoundDate(day, match.start(), match.end(), other, slashed=match[2] != ".")


def _make_found(match: re.Match[str], year: str, month: str, day: str) -> Iterator[FoundDate]:
    made = _make_date(year, month, day)
    if made:
        yield FoundDate(made, match.start(), match.end())


def _make_date(year: str, month: str, day: str) -> date | None:
    if not month:
        return None
    full = int(year) + (2000 if int(year) < 70 else 1900) if len(year) == 2 else int(year)
    try:
        made = date(full, int(month), int(day))
    except ValueError:
        return None
    return made if YEARS[0] <= made.year <= YEARS[1] else None


def _month_number(word: str) -> str:
    plain = word.lower().replace("ä", "ae").replace("ß", "ss")
    known = MONTHS.get(fold_accents(plain)) or MONTHS.get(fold_accents(word))
    return str(known or _month_by_prefix(fold_accents(word)) or "")


def _month_by_prefix(word: str) -> int:
    """The month that a word of four letters or more begins, if it can be no other."""
    begun = {number for name, number in MONTHS.items() if name.startswith(word)}
    return begun.pop() if len(word) > 3 and len(begun) == 1 else 0
