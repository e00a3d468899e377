"""The arithmetic of one GoodService, recomputed with whole numbers of sen: no Decimal, no float."""

import re
from collections.abc import Iterator
from typing import Final

from docmill.mappings import xml
from docmill.mappings.checkers.problems import Problem

_NUMBER: Final = re.compile(r"(\d+)(?:\.(\d{1,2}))?", re.ASCII)
_NAMES: Final = (
    "Price", "Qty", "TotalDiscount", "TaxBase", "OtherTaxBase", "VATRate", "VAT", "STLGRate",
    "STLG",
)  # fmt: skip
_EXACT: Final = ("01", "04", "09")  # for these the importer itself refuses a wrong VAT


def _sen(text: str) -> int | None:
    found = _NUMBER.fullmatch(text)
    return int(found[1]) * 100 + int((found[2] or "").ljust(2, "0")) if found else None


def _half_up(numerator: int, denominator: int) -> int:
    return (2 * numerator + denominator) // (2 * denominator)


def wrong_sums(good: xml.Element, code: str, at: str) -> Iterator[Problem]:
    found = {name: _sen(good.findtext(name) or "") for name in _NAMES}
    sen = {name: value for name, value in found.items() if value is not None}
    if len(sen) < len(_NAMES):
        return  # the shape of some number is wrong, and was told
    base = _half_up(sen["Price"] * sen["Qty"] - sen["TotalDiscount"] * 100, 100)
    yield from _unequal("TaxBase", sen, base, at)
    if code == "04":
        yield from _unequal("OtherTaxBase", sen, _half_up(sen["TaxBase"] * 11, 12), at)
    if code == "01":
        yield from _unequal("OtherTaxBase", sen, sen["TaxBase"], at)
    if code in _EXACT:
        vat = _half_up(sen["OtherTaxBase"] * sen["VATRate"], 10_000)
        yield from _unequal("VAT", sen, vat, at)
    luxury = _half_up(sen["OtherTaxBase"] * sen["STLGRate"], 10_000)
    yield from _unequal("STLG", sen, luxury, at)


def _unequal(name: str, sen: dict[str, int], made: int, at: str) -> Iterator[Problem]:
    if sen[name] != made:
        says = f"{name} should be {made // 100}.{made % 100:02}"
        yield Problem("CT-SUM", says, at + name, f"{sen[name] // 100}.{sen[name] % 100:02}")
