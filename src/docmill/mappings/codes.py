"""Codes of goods: an HS code as the six digits that Coretax takes."""

import re
from typing import Final

from docmill.mappings.texts import clean

GENERIC: Final = "000000"
LENGTH: Final = 6
_LABEL: Final = re.compile(r"^(?:hs(?:\s*code)?|kode\s*hs|pos\s*tarif)\s*[:.#-]?\s*", re.IGNORECASE)
_HS: Final = re.compile(r"[0-9]{2}(?:[. ]?[0-9]{1,2}){0,4}")
_DIGITS: Final = range(4, 11)  # heading 4, subheading 6, national 8 or 10


def goods_code(value: object) -> str:
    """Digits only, padded right; a supplier's own article number is no HS code: generic."""
    text = _LABEL.sub("", clean(value))
    digits = re.sub(r"[. ]", "", text)
    if not _HS.fullmatch(text) or len(digits) not in _DIGITS or digits.startswith("00"):
        return GENERIC
    return digits[:LENGTH].ljust(LENGTH, "0")


def read_goods_code(text: str) -> str:
    return "" if text == GENERIC else text
