"""Units of measure: what invoices print, Coretax's UM codes, and UN/ECE Recommendation 20."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from docmill.mappings import tables
from docmill.mappings.texts import clean


@dataclass(frozen=True, slots=True)
class Unit:
    coretax: str
    rec20: str
    name: str
    synonyms: tuple[str, ...]


def _read() -> tuple[Unit, ...]:
    return tuple(
        Unit(coretax, rec20, name, tuple(word.strip() for word in synonyms.split(",")))
        for coretax, rec20, name, synonyms in tables.rows("units.tsv")
    )


UNITS: Final = _read()
OTHER: Final = next(unit for unit in UNITS if unit.name == "Lainnya")

_TRAILING: Final = re.compile(r"\(s\)$|[.,:;]+$")


def _key(text: str) -> str:
    return re.sub(r"[\s._]+", "", _TRAILING.sub("", text.casefold()))


def _by_word() -> dict[str, Unit]:
    """The first row that claims a word keeps it; names and codes claim theirs before synonyms."""
    found: dict[str, Unit] = {}
    for unit in UNITS:
        for word in (unit.name, unit.coretax):
            found.setdefault(_key(word), unit)
    for unit in UNITS:
        for word in unit.synonyms:
            found.setdefault(_key(word), unit)
    return found


_BY_WORD: Final[Mapping[str, Unit]] = _by_word()
_BY_CORETAX: Final[Mapping[str, Unit]] = {unit.coretax: unit for unit in reversed(UNITS)}
_BY_REC20: Final[Mapping[str, Unit]] = {unit.rec20: unit for unit in reversed(UNITS)}


def unit(printed: object) -> Unit | None:
    """The unit a document prints, or None when the word means none we know."""
    return _BY_WORD.get(_key(clean(printed)))


def coretax_code(printed: object) -> str:
    return (unit(printed) or OTHER).coretax


def name_of_coretax(code: str) -> str:
    return _BY_CORETAX[code].name if code in _BY_CORETAX else code


def rec20_code(printed: object) -> str:
    return (unit(printed) or OTHER).rec20


def name_of_rec20(code: str) -> str:
    return _BY_REC20[code].name if code in _BY_REC20 else code
