"""Countries: ISO 3166-1 codes, by code or by the name a document prints."""

import re
from collections.abc import Mapping
from typing import Final

from docmill.mappings import tables
from docmill.mappings.texts import clean

_END: Final = re.compile(r"[\s,;.]+$")
_ROWS: Final = tuple(tables.rows("countries.tsv"))
ALPHA3: Final[Mapping[str, str]] = {alpha2: alpha3 for alpha2, alpha3, _ in _ROWS}
_BY_NAME: Final[Mapping[str, str]] = {
    _END.sub("", name).casefold(): alpha2
    for alpha2, alpha3, names in _ROWS
    for name in (alpha2, alpha3, *names.split("; "))
}
_LAST: Final = 4  # no country's name is longer than its last four words, as printed
_SHORT: Final = 3  # codes inside an address are too often something else: "CA", "DE", "LA"
_KNOWN_SHORT: Final = ("usa", "uk", "uae", "prc", "u.k")
_STATES: Final = ("georgia", "new jersey", "new mexico")  # of the United States


def named(value: object) -> str:
    """Alpha-2 of a code or a name, or nothing."""
    return _BY_NAME.get(_END.sub("", clean(value)).casefold(), "")


def ending(address: object) -> str:
    """Alpha-2 of the country that an address ends with, or nothing."""
    words = re.split(r"[\s,;]+", _END.sub("", clean(address)))
    for count in range(min(_LAST, len(words)), 0, -1):
        last = " ".join(words[-count:])
        if last.casefold() in _STATES:
            return ""
        is_name = len(last) > _SHORT or last.casefold() in _KNOWN_SHORT
        if is_name and (found := named(last)):
            return found
    return ""


def prefixing(tax_id: str) -> str:
    """Alpha-2 of the country whose VAT number this is: EL is Greece's, XI Northern Ireland's."""
    prefix = {"EL": "GR", "XI": "GB"}.get(tax_id[:2], tax_id[:2])
    return prefix if prefix in ALPHA3 else ""
