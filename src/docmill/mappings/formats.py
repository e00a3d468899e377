"""Named formats: how a value is written into XML, and how the text is read back."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Final

from docmill.mappings import codes, npwp, units
from docmill.mappings.amounts import cents, number, plain
from docmill.mappings.texts import clean

_ISO: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_CURRENCY: Final = re.compile(r"[A-Z]{3}")


@dataclass(frozen=True, slots=True)
class Format:
    """`write` gives nothing for a value that is none of its kind: never a guess."""

    write: Callable[[object], str]
    read: Callable[[str], str] = str


def iso_date(value: object) -> str:
    text = clean(value)
    if not _ISO.fullmatch(text):
        return ""
    try:
        return date.fromisoformat(text).isoformat()
    except ValueError:
        return ""


def _date102(value: object) -> str:
    return iso_date(value).replace("-", "")


def _from_date102(text: str) -> str:
    return iso_date(f"{text[:4]}-{text[4:6]}-{text[6:]}")


def _currency(value: object) -> str:
    code = clean(value).upper()
    return code if _CURRENCY.fullmatch(code) else ""


def _decimal(value: object) -> Decimal | None:
    return value if isinstance(value, Decimal) else number(value)


def _money(value: object) -> str:
    """At most two decimals: 120, 120.5."""
    found = _decimal(value)
    return "" if found is None else plain(cents(found))


def _amount(value: object) -> str:
    """Exactly two decimals: 120.00."""
    found = _decimal(value)
    return "" if found is None else format(cents(found), "f")


def _number(value: object) -> str:
    found = _decimal(value)
    return "" if found is None else plain(found)


FORMATS: Final[Mapping[str, Format]] = {
    "text": Format(clean),
    "date": Format(iso_date),
    "date102": Format(_date102, _from_date102),
    "currency": Format(_currency),
    "money": Format(_money),
    "amount": Format(_amount),
    "number": Format(_number),
    "um": Format(units.coretax_code, units.name_of_coretax),
    "rec20": Format(units.rec20_code, units.name_of_rec20),
    "tin": Format(clean, lambda text: text if text.strip("0") else ""),
    "idtku": Format(clean, lambda text: "" if text.endswith(npwp.HEAD_OFFICE) else text),
    "document_number": Format(clean, lambda text: "" if text == "-" else text),
    "goods_code": Format(codes.goods_code, codes.read_goods_code),
}
