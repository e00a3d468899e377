"""Numbers as documents print them: either decimal mark, money glued on, minus before or behind.

`50.000` may be fifty or fifty thousand. Such a number has two readings, the likelier one first;
whoever knows more (quantity x price = amount) may take the other.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import Final, Literal

DecimalMark = Literal[".", ",", ""]

_CODES: Final = """
    EUR USD GBP CHF IDR JPY CNY INR CAD AUD NZD SGD HKD SEK NOK DKK PLN CZK HUF TRY ZAR BRL MXN MYR
    THB PHP VND KRW TWD AED SAR ILS RON BGN ISK CLP COP ARS PEN UAH EGP NGN KES PKR BDT LKR DEM FRF
    ITL ESP ATS
"""
CODES: Final = frozenset(_CODES.split())
SYMBOLS: Final = {
    "€": "EUR",
    "euro": "EUR",
    "euros": "EUR",
    "£": "GBP",
    "us$": "USD",
    "a$": "AUD",
    "c$": "CAD",
    "s$": "SGD",
    "hk$": "HKD",
    "r$": "BRL",
    "$": "USD",
    "¥": "JPY",
    "₹": "INR",
    "rs": "INR",
    "rs.": "INR",
    "rp": "IDR",
    "rp.": "IDR",
    "rupiah": "IDR",
    "fr.": "CHF",
    "sfr.": "CHF",
    "rm": "MYR",
    "zł": "PLN",
    "kč": "CZK",
    "₽": "RUB",
    "r": "ZAR",
    "฿": "THB",
    "₫": "VND",
}

_FIGURE: Final = re.compile(r"\d")
_MARKED: Final = re.compile(r"[.,]\d")
_APART: Final = re.compile(r"^[-−–]\s")  # a minus, or the empty cell before the number
_SPACES: Final = re.compile(r"['’ \xa0]")
_GROUPED: Final = re.compile(r"\d{1,3}(?:[.,]\d{2,3})*[.,]\d{3}")
_NO_CENTS: Final = re.compile(r"[.,][-–]{1,2}$")
_MONEY: Final = (
    r"(?:US\$|HK\$|[ACSR]\$|[$€£¥₹₽฿₫]|Rp\.?|Rs\.?|S?Fr\.|RM|zł|Kč|[Ee]uros?|EURO|"
    + "|".join(sorted(CODES))
    + ")"
)
_RAND: Final = r"R(?=\s?-?\d[\d ,.]*[.,]\d\d(?!\d))"  # a letter: only before cents
_DIGITS: Final = (
    r"(?:\d{1,3}(?:,\d{2})+,\d{3}(?:\.\d{1,4})?"  # 12,34,567.80 as in India
    r"|\d{1,3}(?:(?P<gap>[.,'’ \xa0])\d{3})(?:(?P=gap)\d{3})*(?:[.,]\d{1,12})?"
    r"|\d+(?:[.,]\d{1,12})?|[.,]\d{1,6})(?:[.,][-–]{1,2})?"
)
_NUMBER: Final = re.compile(
    rf"(?<![\w.,/#-])(?<!\d:)(?P<open>\()?(?P<sign>[-+−–])?\s?(?:(?P<before>{_MONEY}|{_RAND})\s?)?(?P<sign2>[-+−–])?"
    rf"\s?(?P<digits>{_DIGITS})"
    rf"(?P<minus>[-−–](?![\w]))?(?:\s?(?P<after>{_MONEY}(?![A-Za-z])))?(?:\s?(?P<percent>%))?"
    rf"(?P<close>\))?(?:(?<=%)|(?![\w/:@]|[.,-]\d))",
)


@dataclass(frozen=True, slots=True)
class Number:
    """A number in a text, with what it may mean, likeliest first, and where it stands."""

    readings: tuple[Decimal, ...]
    start: int
    end: int
    currency: str = ""
    percent: bool = False

    @property
    def value(self) -> Decimal:
        return self.readings[0]


@lru_cache(maxsize=8192)
def has_figure(text: str) -> bool:
    """Whether there is a figure in a text; most rules look for nothing where there is none."""
    return _FIGURE.search(text) is not None


def find_numbers(text: str, mark: DecimalMark = "") -> list[Number]:
    """Every number in a text that stands by itself, from left to right."""
    return list(_find_numbers(text, mark))


@lru_cache(maxsize=8192)  # first to find the page's decimal mark, then to read them by it
def _match_numbers(text: str) -> tuple[re.Match[str], ...]:
    return tuple(_NUMBER.finditer(text))


@lru_cache(maxsize=8192)
def _find_numbers(text: str, mark: DecimalMark) -> tuple[Number, ...]:
    if not has_figure(text):
        return ()
    found: list[Number] = []
    for match in _match_numbers(text):
        negative = bool(match["sign"] or match["sign2"] or match["minus"]) and "+" not in (
            match["sign"],
            match["sign2"],
        )
        if match["open"] and match["close"] and not match["percent"]:
            negative = True
        values = interpret_digits(match["digits"], mark)
        if values:
            signed = tuple(-value if negative else value for value in values)
            if negative and _APART.search(match[0]):
                signed += values
            money = currency_code(match["before"] or match["after"] or "")
            start = match.start() + bool(match["open"] and not match["close"])
            end = match.end() - bool(match["close"] and not match["open"])
            found.append(Number(signed, start, end, money, bool(match["percent"])))
    return tuple(found)


def read_number(text: str, mark: DecimalMark = "") -> Number | None:
    """The number that the text is, from end to end."""
    found = find_numbers(text.strip(), mark)
    if len(found) == 1 and found[0].end - found[0].start >= len(text.strip()):
        return found[0]
    return None


def interpret_digits(digits: str, mark: DecimalMark = "") -> tuple[Decimal, ...]:
    """What a run of figures and separators may mean, likeliest first; nothing when it is none."""
    plain = _NO_CENTS.sub("", _SPACES.sub("", digits))
    marks = [char for char in plain if char in ".,"]
    if not re.fullmatch(r"[\d.,]*\d", plain):
        return ()
    if len(set(marks)) == 2:
        return (_to_decimal(plain, marks[-1]),) if marks.count(marks[-1]) == 1 else ()
    if not marks:
        return (Decimal(plain),)
    if len(marks) > 1:
        return (_to_decimal(plain, ""),) if _GROUPED.fullmatch(plain) else ()
    return _interpret_one_mark(plain, marks[0], mark)


def _interpret_one_mark(plain: str, sign: str, mark: DecimalMark) -> tuple[Decimal, ...]:
    """One separator: a decimal mark, unless three figures follow and one to three stand before."""
    before, _, behind = plain.partition(sign)
    decimal = _to_decimal(plain, sign)
    if len(behind) != 3 or not 1 <= len(before) <= 3 or before.startswith("0"):
        return (decimal,)
    grouped = _to_decimal(plain, "")
    return (decimal, grouped) if mark == sign else (grouped, decimal)


def _to_decimal(plain: str, mark: str) -> Decimal:
    kept = "".join(char for char in plain if char.isdigit() or char == mark)
    return Decimal(kept.replace(mark, ".") if mark else kept)


def find_decimal_mark(texts: Iterable[str]) -> DecimalMark:
    """The decimal mark that most of the texts' plain numbers use; nothing where none tells."""
    votes = {".": 0, ",": 0}
    for text in filter(_MARKED.search, texts):
        for match in _match_numbers(text):
            sign, weight = _vote(_NO_CENTS.sub("", _SPACES.sub("", match["digits"])))
            if sign:
                votes[sign] += weight
    if votes["."] == votes[","]:
        return ""
    return "." if votes["."] > votes[","] else ","


def _vote(digits: str) -> tuple[str, int]:
    """What one number says of the decimal mark, and how loudly."""
    marks = [char for char in digits if char in ".,"]
    if not marks:
        return "", 0
    other = "," if marks[0] == "." else "."
    if len(set(marks)) == 2:
        return marks[-1], 3
    if len(marks) > 1:
        return other, 2
    behind = len(digits.partition(marks[0])[2])
    return ("", 0) if behind == 3 else (marks[0], 2 if behind == 2 else 1)


def currency_code(text: str) -> str:
    """The ISO code of a currency's sign or code; the empty string where it is none."""
    known = SYMBOLS.get(text.lower(), "")
    return known or (text.upper() if text.upper() in CODES else "")
