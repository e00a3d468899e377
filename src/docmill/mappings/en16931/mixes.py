"""Lines of two rates that print neither: the one way of sharing them out that makes the tax."""

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from itertools import combinations
from typing import Final

from docmill.mappings.amounts import HUNDRED

MOST: Final = 12  # lines; every way of sharing them out is tried

# Rates of VAT in force lately, of countries whose invoices seldom say which line has which.
_RATES: Final[Mapping[str, tuple[str, ...]]] = {
    "AT": ("20", "13", "10", "0"),
    "BE": ("21", "12", "6", "0"),
    "CH": ("8.1", "2.6", "7.7", "2.5", "0"),
    "DE": ("19", "7", "0"),
    "ES": ("21", "10", "4", "0"),
    "FR": ("20", "10", "5.5", "2.1", "0"),
    "GB": ("20", "5", "0"),
    "IT": ("22", "10", "5", "4", "0"),
    "LU": ("17", "14", "8", "3", "0"),
    "NL": ("21", "9", "0"),
    "PL": ("23", "8", "5", "0"),
    "PT": ("23", "13", "6", "0"),
}


def shared(amounts: Sequence[Decimal], tax: Decimal, country: str) -> list[Decimal] | None:
    """A rate for each amount, or None when no way or more than one makes exactly this tax."""
    if not 2 <= len(amounts) <= MOST:
        return None
    cents, wanted = [int(amount * HUNDRED) for amount in amounts], int(tax * HUNDRED)
    pairs = combinations(map(Decimal, _RATES.get(country, ())), 2)
    found = [way for high, low in pairs for way in _ways(cents, wanted, high, low=low)]
    return found[0] if len(found) == 1 else None


def _ways(cents: list[int], wanted: int, high: Decimal, *, low: Decimal) -> Iterator[list[Decimal]]:
    """Every proper subset of the lines whose tax at the high rate leaves the rest for the low."""
    sums = [0]
    for amount in cents:
        sums += [each + amount for each in sums]
    tenths = int(high * 10), int(low * 10)
    for mask in range(1, len(sums) - 1):
        parts = sums[mask], sums[-1] - sums[mask]
        if sum(map(_tax, parts, tenths)) == wanted:
            yield [high if mask >> place & 1 else low for place in range(len(cents))]


def _tax(cents: int, tenths: int) -> int:
    return (2 * cents * tenths + 1000) // 2000
