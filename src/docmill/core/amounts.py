"""Amounts as people read them: thousands apart, with the decimal mark of the document."""

import re
from typing import Final

# Where amounts are written 1.234,50.
COMMA_CURRENCIES: Final = frozenset(
    {"EUR", "IDR", "DKK", "SEK", "NOK", "ISK", "PLN", "CZK", "HUF", "RON", "BGN", "TRY", "BRL"}
    | {"ARS", "CLP", "COP", "VND", "UAH"}
)
_PLAIN: Final = re.compile(r"([+-]?)([0-9]{1,30})(?:\.([0-9]{0,18}))?")


def find_mark(currency: str) -> str:
    """The decimal mark that is usual where a currency is used."""
    return "," if currency in COMMA_CURRENCIES else "."


def group_thousands(text: str, mark: str) -> str:
    """A plain number with thousands apart; what is no number stays as it is."""
    found = _PLAIN.fullmatch(text)
    if found is None:
        return text
    whole = f"{int(found[2]):,}".replace(",", "." if mark == "," else ",")
    behind = mark + found[3] if found[3] else ""
    return ("-" if found[1] == "-" else "") + whole + behind
