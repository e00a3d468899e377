"""Amounts as people read them: thousands apart, in the notation of the document."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

# Where amounts are written 1.234,50.
COMMA_CURRENCIES: Final = frozenset(
    {"EUR", "IDR", "DKK", "SEK", "NOK", "ISK", "PLN", "CZK", "HUF", "RON", "BGN", "TRY", "BRL"}
    | {"ARS", "CLP", "COP", "VND", "UAH"}
)
NARROW_SPACE: Final = "\u202f"
APOSTROPHE: Final = "'"
_PLAIN: Final = re.compile(r"([+-]?)([0-9]{1,30})(?:\.([0-9]{0,18}))?")
_GROUPED: Final = re.compile(r"(?<![\d.,])\d{1,3}([.,'’\s])\d{3}(?:\1\d{3})*(?!\d)")


@dataclass(frozen=True, slots=True)
class Notation:
    """The decimal mark, and what parts thousands."""

    mark: str
    group: str

    @property
    def sample(self) -> str:
        """How it writes an amount, for instance `1.234,50`; a summary says it so."""
        return f"1{' ' if self.group == NARROW_SPACE else self.group}234{self.mark}50"

    def write(self, text: str) -> str:
        return group_thousands(text, self.mark, self.group)


_KNOWN: Final = (
    Notation(".", ","),
    Notation(",", "."),
    Notation(",", NARROW_SPACE),
    Notation(".", NARROW_SPACE),
    Notation(".", APOSTROPHE),
    Notation(",", APOSTROPHE),
)
NOTATIONS: Final = {each.sample: each for each in _KNOWN}


def find_mark(currency: str) -> str:
    """The decimal mark that is usual where a currency is used."""
    return "," if currency in COMMA_CURRENCIES else "."


def find_group(texts: Iterable[str], mark: str) -> str:
    """What parts the thousands of printed amounts; where none tells, what is usual."""
    found = Counter(_name_group(each[1]) for text in texts for each in _GROUPED.finditer(text))
    del found[mark]
    return found.most_common(1)[0][0] if found else "." if mark == "," else ","


def _name_group(char: str) -> str:
    return NARROW_SPACE if char.isspace() else APOSTROPHE if char in "'’" else char


def group_thousands(text: str, mark: str, group: str = "") -> str:
    """A plain number with thousands apart; what is no number stays as it is."""
    found = _PLAIN.fullmatch(text)
    if found is None:
        return text
    parting = group or ("." if mark == "," else ",")
    whole = f"{int(found[2]):,}".replace(",", parting)
    behind = mark + found[3] if found[3] else ""
    return ("-" if found[1] == "-" else "") + whole + behind


def show_amount(summary: Mapping[str, Any]) -> str:
    """The amount of a summary, as its document writes amounts, else as its currency is written."""
    known, text = NOTATIONS.get(str(summary.get("notation"))), str(summary.get("amount") or "")
    if known:
        return known.write(text)
    return group_thousands(text, find_mark(str(summary.get("currency") or "")))
