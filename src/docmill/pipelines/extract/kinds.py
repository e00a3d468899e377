"""What a value is, by its look alone."""

import re
from typing import Final

DATE: Final = "date"
AMOUNT: Final = "amount"
EMAIL: Final = "email"
ID: Final = "id"
TEXT: Final = "text"

MAX_ID: Final = 40
ID_FIGURES: Final = 4  # at least one character of so many is a figure

_CODES: Final = (
    "EUR|USD|GBP|CHF|IDR|JPY|CNY|INR|CAD|AUD|NZD|SGD|HKD|SEK|NOK|DKK|PLN|CZK|HUF|TRY|ZAR|BRL|MXN"
)
_MONEY: Final = rf"(?:[$€£¥₹]|Rp\.?|US\$|Euro|Fr\.|{_CODES})"
_NUMBER: Final = r"[-+−(]?\s?\d{1,3}(?:[.,'’ ]?\d{3})*(?:[.,]\d{1,4})?\s?[-)]?"
_LOOKS: Final = (
    (EMAIL, re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")),
    (DATE, re.compile(r"\d{1,2}[./-]\d{1,2}[./-](?:\d{4}|\d{2})|\d{4}[./-]\d{1,2}[./-]\d{1,2}")),
    (DATE, re.compile(r"\d{1,2}(?:st|nd|rd|th|er)?\.?[ -][^\W\d_]{3,10}\.?,?[ -]\d{4}")),
    (DATE, re.compile(r"[^\W\d_]{3,10}\.? \d{1,2}(?:st|nd|rd|th)?,? \d{4}")),
    (AMOUNT, re.compile(rf"{_MONEY}\s?{_NUMBER}|{_NUMBER}\s?{_MONEY}", re.IGNORECASE)),
    (AMOUNT, re.compile(r"[-+−(]?\d{1,3}(?:[.,'’ ]?\d{3})*[.,]\d{1,4}[-)]?")),
    (ID, re.compile(r"(?=.*\d)[A-Z0-9#][A-Z0-9 ./_#-]*[A-Z0-9]")),
)


def kind(text: str) -> str:
    """The kind of a value; plain text where nothing else fits it from end to end."""
    for name, look in _LOOKS:
        if look.fullmatch(text):
            return name if name != ID or _is_id(text) else TEXT
    return TEXT


def _is_id(text: str) -> bool:
    """Whether capitals and figures are a number of something, not words in capitals."""
    figures = sum(char.isdigit() for char in text)
    return 3 <= len(text) <= MAX_ID and figures * ID_FIGURES >= len(text.replace(" ", ""))
