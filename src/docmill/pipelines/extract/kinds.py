"""What a value is, by its look alone."""

import re
from typing import Final

from docmill.reading import dates, numbers

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


def kind(text: str) -> str:
    """The kind of a value; plain text where nothing else fits it from end to end."""
    if _EMAIL.fullmatch(text):
        return EMAIL
    if any(found.start == 0 and found.end == len(text) for found in dates.find(text)):
        return DATE
    if _is_amount(text):
        return AMOUNT
    if _BIC.fullmatch(text):
        return ID
    return ID if _ID.fullmatch(text) and _is_id(text) else TEXT


def _is_amount(text: str) -> bool:
    """Whether a number is money: it says so, or it has decimals."""
    number = numbers.read(text)
    return bool(number and not number.percent and (number.currency or _DECIMALS.search(text)))


def _is_id(text: str) -> bool:
    """Whether capitals and figures are a number of something, not words in capitals."""
    figures = sum(char.isdigit() for char in text)
    return 3 <= len(text) <= MAX_ID and figures * ID_FIGURES >= len(text.replace(" ", ""))
