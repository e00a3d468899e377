"""What a value is, by its look alone."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

from docmill.core.fields import ValueKind
from docmill.reading import dates, numbers
from docmill.reading.labels import fold_accents
from docmill.reading.lexicon import lexicon

DATE: Final = "date"
AMOUNT: Final = "amount"
EMAIL: Final = "email"
ID: Final = "id"
TEXT: Final = "text"

MAX_ID: Final = 40
ID_FIGURES: Final = 4  # at least one character of so many is a figure

_EMAIL: Final = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_ID: Final = re.compile(r"(?=.*\d)[A-Z0-9#][A-Z0-9 ./_#-]*[A-Z0-9]")
_BIC: Final = re.compile(r"(?=.*\d)[A-Z]{6}[A-Z0-9]{2}(?:[A-Z0-9]{3})?")
_DECIMALS: Final = re.compile(r"\d[.,]\d{1,4}\D?$")


def kind_of(text: str) -> str:
    """The kind of a value; plain text where nothing else fits it from end to end."""
    if _EMAIL.fullmatch(text):
        return EMAIL
    if any(found.start == 0 and found.end == len(text) for found in dates.find_dates(text)):
        return DATE
    if _is_amount(text):
        return AMOUNT
    if _BIC.fullmatch(text):
        return ID
    return ID if _ID.fullmatch(text) and _is_id(text) else TEXT


def _is_amount(text: str) -> bool:
    """Whether a number is money: it says so, or it has decimals."""
    number = numbers.read_number(text)
    return bool(number and not number.percent and (number.currency or _DECIMALS.search(text)))


def _is_id(text: str) -> bool:
    """Whether capitals and figures are a number of something, not words in capitals."""
    figures = sum(char.isdigit() for char in text)
    return 3 <= len(text) <= MAX_ID and figures * ID_FIGURES >= len(text.replace(" ", ""))


@dataclass(frozen=True, slots=True)
class Conventions:
    """How one document writes numbers and dates."""

    mark: numbers.DecimalMark = ""
    month_first: bool = False


def find_conventions(texts: Iterable[str]) -> Conventions:
    known = list(texts)
    return Conventions(numbers.find_decimal_mark(known), dates.has_month_first(known) or False)


def normalize(value: str, kind: str, conventions: Conventions) -> dict[str, Any]:
    """What a value of this kind means; nothing where that can't be told."""
    if kind == DATE:
        day = dates.find_dates(value, month_first=conventions.month_first)
        return {"date": day[0].day.isoformat()} if len(day) == 1 else {}
    if kind == AMOUNT:
        return _normalize_amount(value, conventions)
    if kind == EMAIL:
        return {"text": value.lower()}
    return {"text": "".join(value.split())} if kind == ID else {}


def _normalize_amount(value: str, conventions: Conventions) -> dict[str, Any]:
    found = numbers.find_numbers(value, conventions.mark)
    if len(found) != 1:
        return {}
    money = found[0].currency
    return {"amount": str(found[0].value), **({"currency": money} if money else {})}


MAX_TEXT: Final = 500
ID_WORDS: Final = 4
PARTLY_SURE: Final = 0.85  # the value is in the text, and something else

_MEANS: Final = {word: answer == "yes" for word, answer in lexicon().words("answer").items()}
_SIGN: Final = re.compile(r"[^\W\d_]+\.?|[$€£¥₹₽฿₫]")


@dataclass(frozen=True, slots=True)
class FittedValue:
    """The value as JSON; `sure` is less than 1 where the text holds more than it."""

    value: Any
    sure: float = 1.0
    currency: str = ""


def fit_value(text: str, kind: ValueKind, conventions: Conventions) -> FittedValue | None:
    """None where the text is no such thing."""
    text = " ".join(text.split())
    if not text:
        return None
    match kind:
        case ValueKind.TEXT:
            return FittedValue(text[:MAX_TEXT])
        case ValueKind.DATE:
            return _fit_date(text, conventions)
        case ValueKind.AMOUNT | ValueKind.NUMBER | ValueKind.INTEGER:
            return _fit_number(text, kind, conventions)
        case ValueKind.ID:
            return _fit_id(text)
        case ValueKind.CURRENCY:
            return _fit_currency(text)
        case ValueKind.YES_NO:
            return _fit_yes_no(text)


def _fit_date(text: str, conventions: Conventions) -> FittedValue | None:
    whole = dates.read_date(text, month_first=conventions.month_first)
    if whole:
        return FittedValue(whole.isoformat())
    found = {one.day for one in dates.find_dates(text, month_first=conventions.month_first)}
    return FittedValue(found.pop().isoformat(), PARTLY_SURE) if len(found) == 1 else None


def _fit_number(text: str, kind: ValueKind, conventions: Conventions) -> FittedValue | None:
    if kind_of(text) == DATE:
        return None
    found = numbers.find_numbers(text, conventions.mark)
    if kind is ValueKind.AMOUNT:
        found = [one for one in found if not one.percent]
    if len(found) != 1:
        return None
    (one,) = found
    whole = one.value == one.value.to_integral_value()
    if kind is ValueKind.INTEGER and not whole:
        return None
    sure = 1 if one.end - one.start >= len(text) else PARTLY_SURE
    if kind is ValueKind.AMOUNT:
        return FittedValue(format_decimal(one.value), sure, one.currency)
    return FittedValue(int(one.value) if whole else float(one.value), sure)


def format_decimal(value: Decimal) -> str:
    """With a point and no grouping, and as many decimals as were printed."""
    return f"{value:f}"


def _fit_id(text: str) -> FittedValue | None:
    joined = "".join(text.split())
    if kind_of(text) in {DATE, AMOUNT, EMAIL}:
        return None
    short = len(joined) <= MAX_ID and len(text.split()) <= ID_WORDS
    return FittedValue(joined) if short and any(char.isdigit() for char in joined) else None


def _fit_currency(text: str) -> FittedValue | None:
    whole = numbers.currency_code(text)
    if whole:
        return FittedValue(whole)
    codes = {one.currency for one in numbers.find_numbers(text)} - {""}
    codes |= {numbers.currency_code(sign) for sign in _SIGN.findall(text) if len(sign) != 2} - {""}
    return FittedValue(codes.pop(), PARTLY_SURE) if len(codes) == 1 else None


def _fit_yes_no(text: str) -> FittedValue | None:
    word = fold_accents(text).rstrip(".,;!")
    if word in _MEANS:
        return FittedValue(_MEANS[word])
    first = re.split(r"[\s,.;]", word)[0]
    return FittedValue(_MEANS[first], PARTLY_SURE) if first in _MEANS else None
