"""Pages as rows of text, across columns, with what stands in them: numbers, dates, securities."""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import lru_cache
from typing import Final

from docmill.reading import dates, numbers
from docmill.reading.numbers import Mark, Number
from docmill.reading.order import rows_of
from docmill.reading.pages import Box, Page, Word, around

SPACED: Final = 4  # so many single letters in a row are one word, spaced out
_PARTS: Final = re.compile(r"\d[\d.,'’]*|[^\d]+?(?=\d|(?<=[a-zäöü])[A-ZÄÖÜ]|$)")
_KEPT: Final = re.compile(r"[^a-z0-9]+")
_TIME: Final = re.compile(r"\b\d{1,2}[:.]\d{2}[:.]\d{2}(?:[.:]\d+)?\b|\b\d{1,2}:\d{2}\b")
_IBAN: Final = re.compile(
    r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){3,7}(?: [A-Z0-9]{1,4}(?![.,\dA-Z]))?\b"
)
_CODE: Final = re.compile(r"\b(?=[A-Z0-9]*[A-Z])(?=[A-Z0-9]*\d)[A-Z0-9]{6,}\b")
_LINKED: Final = re.compile(r"\d+(?:[-/]\d+){1,}[-/]?\d*")
_DAY_MONTH: Final = re.compile(r"^(?:[^\d\s]\S*\s)?(\d{1,2})\.\s?(\d{1,2})\.?(?=\s)")
_YEAR: Final = re.compile(r"\b20\d\d\b")
_ACCOUNT: Final = re.compile(r"\d{6,} [A-Z]{3} [-+]?\d")
_FOLLOWED: Final = re.compile(r"\s*[-+]?\d")
_OWN_MONEY: Final = re.compile(r"\s*(?:[A-Z]{3}|[€$£])$")
_AMERICAN: Final = re.compile(
    r"\b(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]* \d{1,2}, \d{4}\b"
)
_BEFORE_SUM: Final = re.compile(
    r"(?<=\s)(\d{2})\.(\d{2})\.?(?=\s+[-+]?[\d.]*\d,\d\d[-+]?(?:\s[A-Z]{1,3})?$)"
)
_MONTH_DAY: Final = re.compile(r"^([A-Z][a-z]{2,8})\.? (\d{1,2})(?=[\s,])")


@dataclass(frozen=True, slots=True)
class Day:
    """A date in a row."""

    day: date
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Row:
    """Words on one level of one page; `plain` is the text as labels are compared."""

    words: tuple[Word, ...]
    page: int
    index: int
    text: str
    plain: str
    numbers: tuple[Number, ...] = ()
    days: tuple[Day, ...] = ()

    def place(self, start: int, end: int) -> Box | None:
        """The box of a part of the text; of half a word, the half by its share of letters."""
        at, boxes = 0, list[Box]()
        for word in self.words:
            first, last = max(start, at), min(end, at + len(word.text))
            if first < last:
                step = word.box.width / len(word.text)
                left, right = word.box.x0 + step * (first - at), word.box.x0 + step * (last - at)
                boxes.append(Box(left, word.box.y0, right, word.box.y1))
            at += len(word.text) + 1
        return around(boxes) if boxes else None

    @property
    def wordy(self) -> int:
        """How many words of letters it has."""
        return sum(word.text[:1].isalpha() and len(word.text) > 1 for word in self.words)


@dataclass(frozen=True, slots=True)
class Sheet:
    """All rows of a document, and how it writes numbers and dates."""

    rows: tuple[Row, ...]
    mark: Mark
    month_first: bool
    page_count: int


@lru_cache(maxsize=16384)
def fold(text: str) -> str:
    """Text as labels are compared: small letters and figures; letters with marks are left out,
    so that a word reads the same where a font has lost them."""
    lower = unicodedata.normalize("NFC", text).lower().replace("ß", "ss")
    kept = "".join(char if char.isascii() else "" if char.isalpha() else " " for char in lower)
    kept = re.sub(r"(?<=[a-z])[{}|~\[\]»\ufffd](?=[a-z])", "", kept.replace("\ufffd", ""))
    return _KEPT.sub(" ", kept).strip()


def sheet_of(pages: Iterable[Page]) -> Sheet:
    """The rows of all pages, from top to bottom."""
    raw = [(page.number, words) for page in pages for words in _rows(page)]
    texts = [" ".join(word.text for word in words) for _, words in raw]
    mark, first = numbers.mark_of(texts), _month_first(texts)
    dollar = _dollar(texts)
    year = _year(texts, month_first=first)
    made: list[Row] = []
    for index, ((page, words), text) in enumerate(zip(raw, texts, strict=True)):
        days = _days(text, year, month_first=first)
        found = _numbers(_masked(text, days), mark)
        found = tuple(_local(number, text, dollar) for number in found)
        made.append(Row(tuple(words), page, index, text, fold(text), found, days))
    return Sheet(tuple(made), mark, first, raw[-1][0] if raw else 0)


def _dollar(texts: Sequence[str]) -> str:
    """Whose dollar a bare sign means."""
    words = Counter(word for text in texts for word in re.findall(r"\b[A-Z]{2}D\b", text))
    home = max(("CAD", "AUD", "NZD", "SGD", "HKD"), key=lambda code: words[code])
    told = words[home] > 1 or not words["USD"]
    return home if words[home] and told and words[home] >= words["USD"] else "USD"


def _local(number: Number, text: str, dollar: str) -> Number:
    shown = text[number.start : number.end]
    bare = number.currency == "USD" and "USD" not in shown and "US$" not in shown
    return replace(number, currency=dollar) if bare else number


def _month_first(texts: Sequence[str]) -> bool:
    """Whether 04-10-2025 is in April: where dates do not tell, `April 30, 2025` does."""
    told = dates.month_first(texts)
    return any(_AMERICAN.search(text) for text in texts) if told is None else told


def _rows(page: Page) -> list[list[Word]]:
    upright = [word for word in page.words if not word.angle]
    rows = [_joined(line.words) for line in rows_of(upright, (page.width, page.height))]
    return [row for row in rows if row]


def _joined(words: Sequence[Word]) -> list[Word]:
    """Words, with those spaced out letter by letter put together."""
    done: list[Word] = []
    run: list[Word] = []
    for word in [*words, None]:
        if word is not None and (len(word.text) == 1 or (run and word.text[0] in ".,")):
            run.append(word)
            continue
        done += _merged(run) if len(run) >= SPACED else run
        run = []
        done += [word] if word is not None else []
    return done


def _merged(run: Sequence[Word]) -> list[Word]:
    """One word of several, cut between letters and figures."""
    text = "".join(word.text for word in run)
    owner = [word for word in run for _ in word.text]
    parts = [match.span() for match in _PARTS.finditer(text)]
    return [
        Word(text[start:end], around([word.box for word in owner[start:end]]))
        for start, end in parts
    ]


def _year(texts: Sequence[str], *, month_first: bool) -> int | None:
    """The year that rows without one mean: the latest that most dates of the paper name."""
    years = [
        found.day.year for text in texts for found in dates.find(text, month_first=month_first)
    ]
    if not years:
        years = [int(match[0]) for text in texts for match in _YEAR.finditer(text)]
    return max(years, key=years.count) if years else None


def _days(text: str, year: int | None, *, month_first: bool) -> tuple[Day, ...]:
    found = [
        Day(item.day, item.start, item.end) for item in dates.find(text, month_first=month_first)
    ]
    if year and not (found and found[0].start < 4):
        found += [day for day in (_short(text, year),) if day]
    if (
        year
        and (match := _BEFORE_SUM.search(text))
        and not any(d.end > match.start() for d in found)
    ):
        found += [day for day in (_made(match, year, match[2], match[1]),) if day]
    return tuple(sorted(found, key=lambda item: item.start))


def _short(text: str, year: int) -> Day | None:
    """A date without a year at the head of a row: `10.03 Kauf`, `Mar 11 Sold`."""
    match = _DAY_MONTH.match(text)
    day, month = (match[1], match[2]) if match else ("", "")
    if not match and (match := _MONTH_DAY.match(text)):
        day, month = match[2], str(dates.MONTHS.get(match[1].lower(), ""))
    if not match or not month:
        return None
    return _made(match, year, month, day)


def _made(match: re.Match[str], year: int, month: str, day: str) -> Day | None:
    try:
        return Day(date(year, int(month), int(day)), match.start(), match.end())
    except ValueError:
        return None


def _masked(text: str, days: Sequence[Day]) -> str:
    """The text with dates, times and codes blotted out, letter for letter."""
    for day in days:
        text = text[: day.start] + "D" * (day.end - day.start) + text[day.end :]
    for pattern in (_IBAN, _TIME, _CODE, _LINKED):
        text = pattern.sub(lambda match: "D" * len(match[0]), text)
    return text


def _numbers(text: str, mark: Mark) -> tuple[Number, ...]:
    """Every number, and where spaces may part two as well as group one, the parts too."""
    found: list[Number] = []
    for number in numbers.find(text, mark):
        if number.currency and _ACCOUNT.match(text, number.start):
            found += _unpaid(text, number)
            continue
        found.append(number)
        inside = text[number.start : number.end]
        if re.search(r"\d[ \xa0]\d", inside):
            found += _split(text, number, mark)
        if number.currency and _FOLLOWED.match(text, number.end):
            found += _unpaid(text, number)
    return tuple(found)


def _unpaid(text: str, number: Number) -> list[Number]:
    """The number without the currency behind it, which may belong to the next number."""
    bare = _OWN_MONEY.sub("", text[number.start : number.end])
    end = number.start + len(bare)
    return [Number(number.readings, number.start, end)] if end < number.end else []


def _split(text: str, number: Number, mark: Mark) -> list[Number]:
    """The parts of a number that is written with spaces, each as a number by itself.

    The currency belongs to the part next to it.
    """
    shown = text[number.start : number.end]
    found = [m for m in re.finditer(r"[\d.,'’]+", shown) if numbers.readings(m[0], mark)]
    owner = found[0] if found and not shown[:1].isdigit() else found[-1] if found else None
    return [
        Number(
            numbers.readings(match[0], mark),
            number.start + match.start(),
            number.start + match.end(),
            number.currency if match is owner else "",
        )
        for match in found
    ]
