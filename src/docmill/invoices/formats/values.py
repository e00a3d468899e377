"""The tables in data/: tab-separated rows, `#` for comments."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from importlib.resources import files
from typing import Final

from docmill.invoices import values
from docmill.invoices.values import clean, format_plain, parse_iso_date, parse_number, round_cents

DATA: Final = files("docmill.invoices.formats") / "data"


def read_table(name: str) -> Iterator[list[str]]:
    for line in (DATA / name).read_text("utf-8").splitlines():
        if line and not line.startswith("#"):
            yield line.split("\t")


_END: Final = re.compile(r"[\s,;.]+$")
_COUNTRIES: Final = tuple(read_table("countries.tsv"))
ALPHA3: Final[Mapping[str, str]] = {alpha2: alpha3 for alpha2, alpha3, _ in _COUNTRIES}
_BY_NAME: Final[Mapping[str, str]] = {
    _END.sub("", name).casefold(): alpha2
    for alpha2, alpha3, names in _COUNTRIES
    for name in (alpha2, alpha3, *names.split("; "))
}
_LAST: Final = 4  # no country's name is longer than its last four words, as printed
_SHORT: Final = 3  # codes inside an address are too often something else: "CA", "DE", "LA"
_KNOWN_SHORT: Final = ("usa", "uk", "uae", "prc", "u.k")
_STATES: Final = ("georgia", "new jersey", "new mexico")  # of the United States


def find_country(value: object) -> str:
    """Alpha-2 of a code or a name, or nothing."""
    return _BY_NAME.get(_END.sub("", clean(value)).casefold(), "")


def find_ending_country(address: object) -> str:
    """Alpha-2 of the country that an address ends with, or nothing."""
    words = re.split(r"[\s,;]+", _END.sub("", clean(address)))
    for count in range(min(_LAST, len(words)), 0, -1):
        last = " ".join(words[-count:])
        if last.casefold() in _STATES:
            return ""
        is_name = len(last) > _SHORT or last.casefold() in _KNOWN_SHORT
        if is_name and (found := find_country(last)):
            return found
    return ""


def country_of_vat_id(tax_id: str) -> str:
    """Alpha-2 of the country whose VAT number this is: EL is Greece's, XI Northern Ireland's."""
    prefix = {"EL": "GR", "XI": "GB"}.get(tax_id[:2], tax_id[:2])
    return prefix if prefix in ALPHA3 else ""


@dataclass(frozen=True, slots=True)
class Unit:
    coretax: str
    rec20: str
    name: str
    synonyms: tuple[str, ...]


def _read_units() -> tuple[Unit, ...]:
    return tuple(
        Unit(coretax, rec20, name, tuple(word.strip() for word in synonyms.split(",")))
        for coretax, rec20, name, synonyms in read_table("units.tsv")
    )


UNITS: Final = _read_units()


def find_unit(printed: object) -> Unit | None:
    """The unit a document prints, or None when the word means none we know."""
    return _BY_WORD.get(_unit_key(clean(printed)))


OTHER_UNIT: Final = next(unit for unit in UNITS if unit.name == "Lainnya")

_TRAILING: Final = re.compile(r"\(s\)$|[.,:;]+$")


def _unit_key(text: str) -> str:
    return re.sub(r"[\s._]+", "", _TRAILING.sub("", text.casefold()))


def _index_words() -> dict[str, Unit]:
    """The first row that claims a word keeps it; names and codes claim theirs before synonyms."""
    found: dict[str, Unit] = {}
    for unit in UNITS:
        for word in (unit.name, unit.coretax):
            found.setdefault(_unit_key(word), unit)
    for unit in UNITS:
        for word in unit.synonyms:
            found.setdefault(_unit_key(word), unit)
    return found


_BY_WORD: Final[Mapping[str, Unit]] = _index_words()
_BY_CORETAX: Final[Mapping[str, Unit]] = {unit.coretax: unit for unit in reversed(UNITS)}
_BY_REC20: Final[Mapping[str, Unit]] = {unit.rec20: unit for unit in reversed(UNITS)}


def coretax_code(printed: object) -> str:
    return (find_unit(printed) or OTHER_UNIT).coretax


def name_of_coretax(code: str) -> str:
    return _BY_CORETAX[code].name if code in _BY_CORETAX else code


def rec20_code(printed: object) -> str:
    return (find_unit(printed) or OTHER_UNIT).rec20


def name_of_rec20(code: str) -> str:
    return _BY_REC20[code].name if code in _BY_REC20 else code


GENERIC: Final = "000000"
CODE_LENGTH: Final = 6
_CODE_LABEL: Final = re.compile(
    r"^(?:hs(?:\s*code)?|kode\s*hs|pos\s*tarif)\s*[:.#-]?\s*", re.IGNORECASE
)
_HS: Final = re.compile(r"[0-9]{2}(?:[. ]?[0-9]{1,2}){0,4}")
_DIGITS: Final = range(4, 11)  # heading 4, subheading 6, national 8 or 10


def write_goods_code(value: object) -> str:
    """Digits only, padded right; a supplier's own article number is no HS code: generic."""
    text = _CODE_LABEL.sub("", clean(value))
    digits = re.sub(r"[. ]", "", text)
    if not _HS.fullmatch(text) or len(digits) not in _DIGITS or digits.startswith("00"):
        return GENERIC
    return digits[:CODE_LENGTH].ljust(CODE_LENGTH, "0")


def read_goods_code(text: str) -> str:
    return "" if text == GENERIC else text


_CURRENCY: Final = re.compile(r"[A-Z]{3}")


@dataclass(frozen=True, slots=True)
class ValueFormat:
    """`write` gives nothing for a value that is none of its kind: never a guess."""

    write: Callable[[object], str]
    read: Callable[[str], str] = str


def _write_date102(value: object) -> str:
    return parse_iso_date(value).replace("-", "")


def _read_date102(text: str) -> str:
    return parse_iso_date(f"{text[:4]}-{text[4:6]}-{text[6:]}")


def _write_currency(value: object) -> str:
    code = clean(value).upper()
    return code if _CURRENCY.fullmatch(code) else ""


def _to_decimal(value: object) -> Decimal | None:
    return value if isinstance(value, Decimal) else parse_number(value)


def _write_money(value: object) -> str:
    """At most two decimals: 120, 120.5."""
    found = _to_decimal(value)
    return "" if found is None else format_plain(round_cents(found))


def _write_amount(value: object) -> str:
    """Exactly two decimals: 120.00."""
    found = _to_decimal(value)
    return "" if found is None else format(round_cents(found), "f")


def _write_number(value: object) -> str:
    found = _to_decimal(value)
    return "" if found is None else format_plain(found)


FORMATS: Final[Mapping[str, ValueFormat]] = {
    "text": ValueFormat(clean),
    "date": ValueFormat(parse_iso_date),
    "date102": ValueFormat(_write_date102, _read_date102),
    "currency": ValueFormat(_write_currency),
    "money": ValueFormat(_write_money),
    "amount": ValueFormat(_write_amount),
    "number": ValueFormat(_write_number),
    "um": ValueFormat(coretax_code, name_of_coretax),
    "rec20": ValueFormat(rec20_code, name_of_rec20),
    "tin": ValueFormat(clean, lambda text: text if text.strip("0") else ""),
    "idtku": ValueFormat(clean, lambda text: "" if text.endswith(values.HEAD_OFFICE) else text),
    "document_number": ValueFormat(clean, lambda text: "" if text == "-" else text),
    "goods_code": ValueFormat(write_goods_code, read_goods_code),
}
