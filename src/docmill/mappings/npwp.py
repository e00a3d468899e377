"""Indonesian tax numbers: NPWP of 15 or 16 digits, and NITKU/IDTKU, which add a branch of six."""

import re
from typing import Final

from docmill.mappings.texts import clean

HEAD_OFFICE: Final = "000000"
TIN_LENGTH: Final = 16
IDTKU_LENGTH: Final = 22
_LABEL: Final = re.compile(
    r"^(?:npwp|nitku|idtku|tin|no|nomor)(?:\s*1[56])?\b[\s.:#/-]*", re.IGNORECASE
)
_PRINTED: Final = re.compile(r"[0-9][0-9 .,/\-–]*")


def _digits(value: object) -> str:
    """The digits of a number printed with points, dashes and spaces; words make it no number."""
    text = clean(value)
    while found := _LABEL.match(text):
        text = text[found.end() :]
    if not _PRINTED.fullmatch(text):
        return ""
    digits = re.sub(r"[^0-9]", "", text)
    return digits if digits.strip("0") else ""


def tin(value: object) -> str:
    """16 digits, or nothing: 15 get a leading zero, 22 lose their branch."""
    digits = _digits(value)
    if len(digits) == IDTKU_LENGTH:
        return digits[:TIN_LENGTH]
    return digits.zfill(TIN_LENGTH) if len(digits) in (TIN_LENGTH - 1, TIN_LENGTH) else ""


def idtku(value: object) -> str:
    """22 digits, or nothing: an NPWP alone stands for its head office."""
    digits = _digits(value)
    if len(digits) == IDTKU_LENGTH:
        return digits
    number = tin(value)
    return number + HEAD_OFFICE if number else ""
