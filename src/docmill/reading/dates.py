"""Dates as documents print them, with months in the languages of Indonesia and Europe's west."""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date
from typing import Final

YEARS: Final = (1970, 2099)

_MONTHS: Final = (
    "january januari januar jaenner janner janvier enero gennaio janeiro jan janv ene gen",
    "february februari februar fevrier febrero febbraio fevereiro feb fevr fev febr pebruari peb",
    "march maret maerz marz mars marzo maart marco mar mrt mrz mae",
    "april avril abril aprile apr avr abr",
    "may mei mai mayo maggio maio mag",
    "june juni juin junio giugno junho jun giu",
    "july juli juillet julio luglio julho jul juil lug",
    "august agustus augustus aout agosto aug agt agu ags agust ago aou",
    "september septembre septiembre setiembre settembre setembro sep sept set",
    "october oktober octobre octubre ottobre outubro oct okt ott out",
    "november novembre noviembre novembro nov nop nopember",
    "december desember dezember decembre diciembre dicembre dezembro dec des dez dic",
)
MONTHS: Final = {name: number for number, names in enumerate(_MONTHS, 1) for name in names.split()}

_FIGURE: Final = re.compile(r"\d")
_WORD: Final = r"[^\W\d_]{3,10}"
_ISO: Final = re.compile(r"(?<![\d.])(\d{4})([-/.])(\d{1,2})\2(\d{1,2})(?!\d)")
_NUMERIC: Final = re.compile(
    r"(?<![\d/.,])(\d{1,2})\s?([-/.])\s?(\d{1,2})\s?\2\s?(\d{4}|\d{2})(?![\d/]|[.,]\d)"
)
_DAY_FIRST: Final = re.compile(
    rf"(?<![\d.,])(\d{{1,2}})(?:st|nd|rd|th|er|º|°)?[\s.,/-]*(?:of\s|de\s|den\s)?\s*({_WORD})"
    rf"[\s.,/'’-]*(?:del?\s)?(\d{{4}}|\d{{2}})(?!\d)",
    re.IGNORECASE,
)
_MONTH_FIRST: Final = re.compile(
    rf"(?<!\w)({_WORD})[\s./-]*(\d{{1,2}})(?:st|nd|rd|th)?[\s.,/-]+(\d{{4}})(?!\d)", re.IGNORECASE
)
_YEAR_MONTH: Final = re.compile(rf"(?<!\d)(\d{{4}})[\s./-]({_WORD})[\s./-](\d{{1,2}})(?!\d)")
_PACKED: Final = re.compile(r"(?<!\d)(\d{4})(\d\d)(\d\d)(?!\d)")
_CHINESE: Final = re.compile(r"(\d{4})\s?年\s?(\d{1,2})\s?月\s?(\d{1,2})\s?日")


@dataclass(frozen=True, slots=True)
class Found:
    """A date in a text. `other` is what it would be with day and month the other way round."""

    day: date
    start: int
    end: int
    other: date | None = None
    slashed: bool = False


def find(text: str, *, month_first: bool = False, packed: bool = False) -> list[Found]:
    """Every date in a text, from left to right; `packed` ones (20250314) only when asked for."""
    found: list[Found] = []
    if not _FIGURE.search(text):
        return found
    for date_found in sorted(_all(text, packed), key=lambda item: (item.start, -item.end)):
        if found and date_found.start < found[-1].end:
            continue
        found.append(_turned(date_found) if month_first else date_found)
    return found


def read(text: str, *, month_first: bool = False) -> date | None:
    """The date that the text is, from end to end."""
    found = find(text, month_first=month_first, packed=True)
    whole = len(found) == 1 and found[0].start == 0 and found[0].end == len(text)
    return found[0].day if whole else None


def month_first(texts: Iterable[str]) -> bool | None:
    """Whether slashed dates put the month first; None where none of them tells."""
    votes = 0
    for text in texts:
        for match in _NUMERIC.finditer(text):
            if match[2] != ".":
                votes += (int(match[3]) > 12) - (int(match[1]) > 12)
    return votes > 0 if votes else None


def _turned(found: Found) -> Found:
    if not (found.slashed and found.other):
        return found
    return Found(found.other, found.start, found.end, found.day, slashed=True)


def _all(text: str, packed: bool) -> Iterator[Found]:
    for match in _ISO.finditer(text):
        yield from _made(match, match[1], match[3], match[4])
    yield from _numeric(text)
    for match in _DAY_FIRST.finditer(text):
        yield from _made(match, match[3], _month(match[2]), match[1])
    for match in _MONTH_FIRST.finditer(text):
        yield from _made(match, match[3], _month(match[1]), match[2])
    for match in _YEAR_MONTH.finditer(text):
        yield from _made(match, match[1], _month(match[2]), match[3])
    for match in _CHINESE.finditer(text):
        yield from _made(match, match[1], match[2], match[3])
    for match in _PACKED.finditer(text) if packed else ():
        yield from _made(match, match[1], match[2], match[3])


def _numeric(text: str) -> Iterator[Found]:
    for match in _NUMERIC.finditer(text):
        normal = _date(match[4], match[3], match[1])
        turned = _date(match[4], match[1], match[3])
        day = normal or turned
        if day:
            other = turned if normal and turned != normal else None
            yield Found(day, match.start(), match.end(), other, slashed=match[2] != ".")


def _made(match: re.Match[str], year: str, month: str, day: str) -> Iterator[Found]:
    made = _date(year, month, day)
    if made:
        yield Found(made, match.start(), match.end())


def _date(year: str, month: str, day: str) -> date | None:
    if not month:
        return None
    full = int(year) + (2000 if int(year) < 70 else 1900) if len(year) == 2 else int(year)
    try:
        made = date(full, int(month), int(day))
    except ValueError:
        return None
    return made if YEARS[0] <= made.year <= YEARS[1] else None


def _month(word: str) -> str:
    plain = word.lower().replace("ä", "ae").replace("ß", "ss")
    known = MONTHS.get(folded(plain)) or MONTHS.get(folded(word))
    return str(known or _begun(folded(word)) or "")


def _begun(word: str) -> int:
    """The month that a word of four letters or more begins, if it can be no other."""
    begun = {number for name, number in MONTHS.items() if name.startswith(word)}
    return begun.pop() if len(word) > 3 and len(begun) == 1 else 0


def folded(text: str) -> str:
    """Lower case without accents."""
    if text.isascii():
        return text.lower()
    parts = unicodedata.normalize("NFKD", text.lower())
    return "".join(char for char in parts if not unicodedata.combining(char))
