"""Text from a page as the kind of value somebody asks for, where it is one."""

import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

from docmill.core.asked import Kind
from docmill.pipelines.extract import kinds
from docmill.pipelines.extract.normal import Customs
from docmill.reading import dates, numbers
from docmill.reading.dates import folded

LONGEST: Final = 500
ID_WORDS: Final = 4
PARTLY: Final = 0.85  # the value is in the text, and something else

_ANSWERS: Final = {
    True: "yes y true x ✓ ✔ ☑ ☒ [x] checked ja oui si ya",
    False: "no n false none ☐ [] unchecked nein non tidak",
}
_MEANS: Final = {word: value for value, words in _ANSWERS.items() for word in words.split()}
_SIGN: Final = re.compile(r"[^\W\d_]+\.?|[$€£¥₹₽฿₫]")


@dataclass(frozen=True, slots=True)
class Fit:
    """The value as JSON; `sure` is less than 1 where the text holds more than it."""

    value: Any
    sure: float = 1.0
    currency: str = ""


def fit(text: str, kind: Kind, customs: Customs) -> Fit | None:
    """None where the text is no such thing."""
    text = " ".join(text.split())
    if not text:
        return None
    match kind:
        case Kind.TEXT:
            return Fit(text[:LONGEST])
        case Kind.DATE:
            return _date(text, customs)
        case Kind.AMOUNT | Kind.NUMBER | Kind.INTEGER:
            return _number(text, kind, customs)
        case Kind.ID:
            return _id(text)
        case Kind.CURRENCY:
            return _currency(text)
        case Kind.YES_NO:
            return _yes_no(text)


def _date(text: str, customs: Customs) -> Fit | None:
    whole = dates.read(text, month_first=customs.month_first)
    if whole:
        return Fit(whole.isoformat())
    found = {one.day for one in dates.find(text, month_first=customs.month_first)}
    return Fit(found.pop().isoformat(), PARTLY) if len(found) == 1 else None


def _number(text: str, kind: Kind, customs: Customs) -> Fit | None:
    if kinds.kind(text) == kinds.DATE:
        return None
    found = numbers.find(text, customs.mark)
    if kind is Kind.AMOUNT:
        found = [one for one in found if not one.percent]
    if len(found) != 1:
        return None
    (one,) = found
    whole = one.value == one.value.to_integral_value()
    if kind is Kind.INTEGER and not whole:
        return None
    sure = 1 if one.end - one.start >= len(text) else PARTLY
    if kind is Kind.AMOUNT:
        return Fit(plain(one.value), sure, one.currency)
    return Fit(int(one.value) if whole else float(one.value), sure)


def plain(value: Decimal) -> str:
    """With a point and no grouping, and as many decimals as were printed."""
    return f"{value:f}"


def _id(text: str) -> Fit | None:
    joined = "".join(text.split())
    if kinds.kind(text) in {kinds.DATE, kinds.AMOUNT, kinds.EMAIL}:
        return None
    short = len(joined) <= kinds.MAX_ID and len(text.split()) <= ID_WORDS
    return Fit(joined) if short and any(char.isdigit() for char in joined) else None


def _currency(text: str) -> Fit | None:
    whole = numbers.currency(text)
    if whole:
        return Fit(whole)
    codes = {one.currency for one in numbers.find(text)} - {""}
    codes |= {numbers.currency(sign) for sign in _SIGN.findall(text) if len(sign) != 2} - {""}
    return Fit(codes.pop(), PARTLY) if len(codes) == 1 else None


def _yes_no(text: str) -> Fit | None:
    word = folded(text).rstrip(".,;!")
    if word in _MEANS:
        return Fit(_MEANS[word])
    first = re.split(r"[\s,.;]", word)[0]
    return Fit(_MEANS[first], PARTLY) if first in _MEANS else None
