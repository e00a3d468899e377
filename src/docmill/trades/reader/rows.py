"""Pages as rows of text, across columns, with what stands in them: numbers, dates, securities."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from decimal import Decimal
from typing import Final

from docmill.reading import dates, numbers
from docmill.reading.labels import TextCell, fold, make_cell
from docmill.reading.numbers import DecimalMark, Number
from docmill.reading.order import find_rows
from docmill.reading.pages import Box, Page, Value, Word, bounding_box
from docmill.reading.second_opinion import Dispute
from docmill.trades.fields import NAMES

MAX_ROW_WORDS: Final = (
    150  # words: no document has more in a row, and numbers are compared with each other
)
SPACED: Final = 4  # so many single letters in a row are one word, spaced out
_PARTS: Final = re.compile(r"\d[\d.,'’]*|[^\d]+?(?=\d|(?<=[a-zäöü])[A-ZÄÖÜ]|$)")
_TIME: Final = re.compile(r"\b\d{1,2}[:.]\d{2}[:.]\d{2}(?:[.:]\d+)?\b|\b\d{1,2}:\d{2}\b")
_IBAN: Final = re.compile(  # a word of twelve is an ISIN: `LU0963198774 XLUX 500`
    r"\b[A-Z]{2}\d{2}(?![A-Z0-9]{8}\b)(?: ?[A-Z0-9]{4}){3,7}(?: [A-Z0-9]{1,4}(?![.,\dA-Z]))?\b"
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
_OTHER_MONEY: Final = re.compile(
    r"[€£¥]|\b(?:[ACNH]\$|EUR|GBP|CHF|CAD|AUD|NZD|SGD|HKD|JPY|SEK|NOK|DKK|PLN|BRL|MXN|INR|ZAR)\b"
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
class NoteRow:
    """Words on one level of one page; `plain` is their text as labels are compared."""

    cell: TextCell
    index: int
    plain: str
    numbers: tuple[Number, ...] = ()
    days: tuple[Day, ...] = ()

    @property
    def words(self) -> tuple[Word, ...]:
        return self.cell.words

    @property
    def page(self) -> int:
        return self.cell.page

    @property
    def text(self) -> str:
        return self.cell.text

    @property
    def word_count(self) -> int:
        """How many words of letters it has."""
        return sum(word.text[:1].isalpha() and len(word.text) > 1 for word in self.words)

    def place(self, start: int, end: int) -> Box:
        return self.cell.place(start, end)


@dataclass(frozen=True, slots=True)
class NoteSheet:
    """All rows of a document, and how it writes numbers and dates."""

    rows: tuple[NoteRow, ...]
    mark: DecimalMark
    month_first: bool
    page_count: int


def make_sheet(pages: Iterable[Page]) -> NoteSheet:
    """The rows of all pages, from top to bottom."""
    return read_cells(
        [make_cell(words, page.number, wide=" ") for page in pages for words in _rows_of_page(page)]
    )


def read_cells(cells: Sequence[TextCell]) -> NoteSheet:
    """Rows of text with their numbers and days."""
    texts = [cell.text for cell in cells]
    mark, first = numbers.find_decimal_mark(texts), _has_month_first(texts)
    dollar = _find_dollar(texts)
    year = _find_year(texts, month_first=first)
    made: list[NoteRow] = []
    for index, cell in enumerate(cells):
        days = _find_days(cell.text, year, month_first=first)
        found = _find_numbers(_mask_codes(cell.text, days), mark)
        found = tuple(_localise(number, cell.text, dollar) for number in found)
        made.append(NoteRow(cell, index, fold(cell.text), found, days))
    return NoteSheet(tuple(made), mark, first, cells[-1].page if cells else 0)


def _find_dollar(texts: Sequence[str]) -> str:
    """Whose dollar a bare sign means."""
    words = Counter(word for text in texts for word in re.findall(r"\b[A-Z]{2}D\b", text))
    home = max(("CAD", "AUD", "NZD", "SGD", "HKD"), key=lambda code: words[code])
    told = words[home] > 1 or not words["USD"]
    return home if words[home] and told and words[home] >= words["USD"] else "USD"


def _localise(number: Number, text: str, dollar: str) -> Number:
    shown = text[number.start : number.end]
    bare = number.currency == "USD" and "USD" not in shown and "US$" not in shown
    return replace(number, currency=dollar) if bare else number


def _has_month_first(texts: Sequence[str]) -> bool:
    """Whether 04-10-2025 is in April: where dates do not tell, `April 30, 2025` does."""
    told = dates.has_month_first(texts)
    if told is None:
        return any(_AMERICAN.search(text) for text in texts) or _is_american(texts)
    return told


def _is_american(texts: Sequence[str]) -> bool:
    """Whether there is no money but American dollars, and the days stand no further apart with the
    month first than with the day first: a trade and its settlement are days apart, not months."""
    if not any("$" in text or "USD" in text for text in texts):
        return False
    if any(_OTHER_MONEY.search(text) for text in texts):
        return False
    spans = [
        [found.day for found in _list_slashed(texts, month_first=first)] for first in (True, False)
    ]
    american, other = (max(days) - min(days) if days else timedelta() for days in spans)
    return american <= other


def _list_slashed(texts: Sequence[str], *, month_first: bool) -> list[dates.FoundDate]:
    every = (one for text in texts for one in dates.find_dates(text, month_first=month_first))
    return [one for one in every if one.slashed and one.other]


def _rows_of_page(page: Page) -> list[list[Word]]:
    upright = [word for word in page.words if not word.angle]
    rows = [
        _join_spaced_letters(line.words) for line in find_rows(upright, (page.width, page.height))
    ]
    return [
        row[at : at + MAX_ROW_WORDS] for row in rows for at in range(0, len(row), MAX_ROW_WORDS)
    ]


def _join_spaced_letters(words: Sequence[Word]) -> list[Word]:
    """Words, with those spaced out letter by letter put together."""
    done: list[Word] = []
    run: list[Word] = []
    for word in [*words, None]:
        if word is not None and (len(word.text) == 1 or (run and word.text[0] in ".,")):
            run.append(word)
            continue
        done += _merge_letters(run) if len(run) >= SPACED else run
        run = []
        done += [word] if word is not None else []
    return done


def _merge_letters(run: Sequence[Word]) -> list[Word]:
    """One word of several, cut between letters and figures."""
    text = "".join(word.text for word in run)
    owner = [word for word in run for _ in word.text]
    parts = [match.span() for match in _PARTS.finditer(text)]
    return [
        Word(text[start:end], bounding_box([word.box for word in owner[start:end]]))
        for start, end in parts
    ]


def _find_year(texts: Sequence[str], *, month_first: bool) -> int | None:
    """The year that rows without one mean: the latest that most dates of the document name."""
    years = [
        found.day.year
        for text in texts
        for found in dates.find_dates(text, month_first=month_first)
    ]
    if not years:
        years = [int(match[0]) for text in texts for match in _YEAR.finditer(text)]
    return max(years, key=years.count) if years else None


def _find_days(text: str, year: int | None, *, month_first: bool) -> tuple[Day, ...]:
    found = [
        Day(item.day, item.start, item.end)
        for item in dates.find_dates(text, month_first=month_first)
    ]
    if year and not (found and found[0].start < 4):
        found += [day for day in (_find_short_day(text, year),) if day]
    if (
        year
        and (match := _BEFORE_SUM.search(text))
        and not any(d.end > match.start() for d in found)
    ):
        found += [day for day in (_make_day(match, year, match[2], match[1]),) if day]
    return tuple(sorted(found, key=lambda item: item.start))


def _find_short_day(text: str, year: int) -> Day | None:
    """A date without a year at the head of a row: `10.03 Kauf`, `Mar 11 Sold`."""
    match = _DAY_MONTH.match(text)
    day, month = (match[1], match[2]) if match else ("", "")
    if not match and (match := _MONTH_DAY.match(text)):
        day, month = match[2], str(dates.MONTHS.get(match[1].lower(), ""))
    if not match or not month:
        return None
    return _make_day(match, year, month, day)


def _make_day(match: re.Match[str], year: int, month: str, day: str) -> Day | None:
    try:
        return Day(date(year, int(month), int(day)), match.start(), match.end())
    except ValueError:
        return None


def _mask_codes(text: str, days: Sequence[Day]) -> str:
    """The text with dates, times and codes blotted out, letter for letter."""
    for day in days:
        text = text[: day.start] + "D" * (day.end - day.start) + text[day.end :]
    for pattern in (_IBAN, _TIME, _CODE, _LINKED):
        text = pattern.sub(lambda match: "D" * len(match[0]), text)
    return text


def _find_numbers(text: str, mark: DecimalMark) -> tuple[Number, ...]:
    """Every number, and where spaces may part two as well as group one, the parts too."""
    found: list[Number] = []
    for number in numbers.find_numbers(text, mark):
        if number.currency and _ACCOUNT.match(text, number.start):
            found += _drop_currency(text, number)
            continue
        found.append(number)
        inside = text[number.start : number.end]
        if re.search(r"\d[ \xa0]\d", inside):
            found += _split_number(text, number, mark)
        if number.currency and _FOLLOWED.match(text, number.end):
            found += _drop_currency(text, number)
    return tuple(found)


def _drop_currency(text: str, number: Number) -> list[Number]:
    """The number without the currency behind it, which may belong to the next number."""
    bare = _OWN_MONEY.sub("", text[number.start : number.end])
    end = number.start + len(bare)
    return [Number(number.readings, number.start, end)] if end < number.end else []


def _split_number(text: str, number: Number, mark: DecimalMark) -> list[Number]:
    """The parts of a number that is written with spaces, each as a number by itself.

    The currency belongs to the part next to it.
    """
    shown = text[number.start : number.end]
    found = [m for m in re.finditer(r"[\d.,'’]+", shown) if numbers.interpret_digits(m[0], mark)]
    led = shown[:1] and not shown.lstrip("+-−–( ")[:1].isdigit()
    owner = found[0] if found and led else found[-1] if found else None
    parts: list[Number] = []
    for match in found:
        signed = match is found[0] and number.value < 0
        readings = numbers.interpret_digits(match[0], mark)
        parts.append(
            Number(
                tuple(-value for value in readings) if signed else readings,
                number.start + (0 if signed else match.start()),
                number.start + match.end(),
                number.currency if match is owner else "",
            )
        )
    return parts


@dataclass(frozen=True, slots=True)
class FoundTrade:
    """One trade; a field that was not found is missing. `disputes` are for a person to decide."""

    values: dict[str, Value] = field(default_factory=dict[str, Value])
    checks: tuple[str, ...] = ()
    disputes: tuple[Dispute, ...] = ()

    def items(self) -> Iterator[tuple[str, Value]]:
        for name in NAMES:
            if name in self.values:
                yield name, self.values[name]

    def text(self, name: str) -> str:
        return self.values[name].value if name in self.values else ""


@dataclass(frozen=True, slots=True)
class FoundTrades:
    """What came of a document: its trades, or why there are none."""

    trades: tuple[FoundTrade, ...] = ()
    reason: str = ""
    kind: str = ""


def make_value(row: NoteRow, start: int, end: int, value: str, confidence: float) -> Value:
    """A value with the place of the letters it was read from."""
    box = row.place(start, end)
    return Value(value, round(confidence, 2), row.page, box, row.text[start:end])


def format_decimal(number: Decimal) -> str:
    """A decimal string with a point, no exponent, and no noughts behind the second place."""
    text = f"{number:f}"
    if "." not in text:
        return text
    whole, _, behind = text.partition(".")
    return f"{whole}.{behind[:2]}{behind[2:].rstrip('0')}"
