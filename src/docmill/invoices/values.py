"""Values of an invoice: numbers are decimal strings with a point, Decimal from first to last."""

import re
import unicodedata
from collections.abc import Mapping
from datetime import date
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any, Final

from docmill.core.amounts import Notation, find_group, find_mark
from docmill.core.json_values import is_object
from docmill.core.texts import UNSEEN
from docmill.reading import numbers

# Wide enough that no product or quotient of two numbers read here is rounded before we round it.
CONTEXT: Final = Context(prec=160, rounding=ROUND_HALF_UP)
NOTHING: Final = Decimal(0)
ONE: Final = Decimal(1)
CENT: Final = Decimal("0.01")
HUNDRED: Final = Decimal(100)

_NUMBER: Final = re.compile(r"[+-]?[0-9]{1,30}(?:\.[0-9]{0,18})?")


def parse_number(value: object) -> Decimal | None:
    """The number a JSON value holds, or None; never from a word that only looks like one."""
    text = "" if value is None or isinstance(value, bool) else str(value).strip()
    return Decimal(text) + NOTHING if _NUMBER.fullmatch(text) else None


def round_cents(value: Decimal) -> Decimal:
    """Two decimals, half up (away from zero, as on paper)."""
    return value.quantize(CENT, rounding=ROUND_HALF_UP, context=CONTEXT) + NOTHING


def format_plain(value: Decimal) -> str:
    """Digits and a point: no exponent, no zeros at the end, no minus before zero."""
    text = format(value, "f")
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text in ("", "-0") else text


_AMOUNT_PATH: Final = re.compile(r"^totals\.|\.(?:amount|unit_price)$")


def find_notation(data: Mapping[str, Any]) -> Notation:
    """How a document writes amounts: as its printed numbers are."""
    evidence: Any = data.get("evidence") or {}
    read = {
        path: clean(look_up(seen, "text"))
        for path, seen in evidence.items()
        if not seen.get("edited")
    }
    mark = numbers.find_decimal_mark(read.values()) or find_mark(clean(data.get("currency")))
    amounts = [text for path, text in read.items() if _AMOUNT_PATH.search(path)]
    return Notation(mark, find_group(amounts, mark))


_GONE: Final = dict.fromkeys(UNSEEN)


def clean(value: object) -> str:
    """What a JSON value says as one line of text; nothing for null, lists and objects."""
    if not isinstance(value, str | int | float) or isinstance(value, bool):
        return ""
    text = str(value)
    if text.isascii() and text.isprintable():
        return " ".join(text.split())
    words = " ".join(text.translate(_GONE).split())
    shown = "".join([char for char in words if unicodedata.category(char) != "Cc"])
    return " ".join(shown.split())


def look_up(data: object, path: str) -> Any:
    """The value at a dotted path of objects and dataclasses, or None."""
    found = data
    for name in path.split("."):
        found = found.get(name) if is_object(found) else getattr(found, name, None)
    return found


HEAD_OFFICE: Final = "000000"
TIN_LENGTH: Final = 16
IDTKU_LENGTH: Final = 22
_TAX_LABEL: Final = re.compile(
    r"^(?:npwp|nitku|idtku|tin|no|nomor)(?:\s*1[56])?\b[\s.:#/-]*", re.IGNORECASE
)
_PRINTED_TAX_ID: Final = re.compile(r"[0-9][0-9 .,/\-–]*")


def _tax_digits(value: object) -> str:
    """The digits of a number printed with points, dashes and spaces; words make it no number."""
    text = clean(value)
    while found := _TAX_LABEL.match(text):
        text = text[found.end() :]
    if not _PRINTED_TAX_ID.fullmatch(text):
        return ""
    digits = re.sub(r"[^0-9]", "", text)
    return digits if digits.strip("0") else ""


def parse_tin(value: object) -> str:
    """16 digits, or nothing: 15 get a leading zero, 22 lose their branch."""
    digits = _tax_digits(value)
    if len(digits) == IDTKU_LENGTH:
        return digits[:TIN_LENGTH]
    return digits.zfill(TIN_LENGTH) if len(digits) in (TIN_LENGTH - 1, TIN_LENGTH) else ""


def parse_idtku(value: object) -> str:
    """22 digits, or nothing: an NPWP alone stands for its head office."""
    digits = _tax_digits(value)
    if len(digits) == IDTKU_LENGTH:
        return digits
    number = parse_tin(value)
    return number + HEAD_OFFICE if number else ""


_ISO_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


def parse_iso_date(value: object) -> str:
    text = clean(value)
    if not _ISO_DATE.fullmatch(text):
        return ""
    try:
        return date.fromisoformat(text).isoformat()
    except ValueError:
        return ""
