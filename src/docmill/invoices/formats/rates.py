"""Rates of VAT: as printed, as the totals prove them, or as the one mix that makes the tax."""

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from itertools import combinations
from typing import Final

from docmill.invoices.values import (
    CENT,
    HUNDRED,
    NOTHING,
    ONE,
    look_up,
    parse_number,
    round_cents,
)

_STEP: Final = Decimal("0.1")  # rates in use are whole numbers or tenths
_HIGHEST: Final = Decimal(50)


def printed_rate(line: object) -> Decimal | None:
    rate = parse_number(look_up(line, "tax_rate"))
    return rate if rate is not None and NOTHING <= rate < HUNDRED else None


def find_rate(net: Decimal | None, tax: Decimal | None, *, lines: int) -> Decimal | None:
    """The one rate that makes the tax of the net, when it is a rate that somebody could levy."""
    if tax == NOTHING:
        return NOTHING
    if net is None or tax is None or net == NOTHING:
        return None
    rate = (tax / net * HUNDRED).quantize(_STEP)
    close = _allow(net, tax, lines)
    sharp = abs(net) * _STEP / HUNDRED > close
    whole = rate.quantize(ONE)
    for each in (whole, rate) if sharp else (whole,):
        if NOTHING < each <= _HIGHEST and abs(round_cents(net * each / HUNDRED) - tax) <= close:
            return each
    return None


def _allow(net: Decimal, tax: Decimal, lines: int) -> Decimal:
    """A cent for each line; one whole where the money has no cents, as rupiah."""
    whole = net == net.to_integral_value() and tax == tax.to_integral_value()
    return ONE if whole and abs(tax) > HUNDRED else CENT * max(2, lines)


MOST_MIXED_LINES: Final = 12  # lines; every way of sharing them out is tried

# Rates of VAT in force lately, of countries whose invoices seldom say which line has which.
_COUNTRY_RATES: Final[Mapping[str, tuple[str, ...]]] = {
    "AR": ("21", "10.5", "27", "0"),
    "AT": ("20", "13", "10", "0"),
    "BE": ("21", "12", "6", "0"),
    "CH": ("8.1", "2.6", "7.7", "2.5", "0"),
    "CL": ("19", "0"),
    "CO": ("19", "5", "0"),
    "CZ": ("21", "12", "15", "10", "0"),
    "DE": ("19", "7", "0"),
    "DK": ("25", "0"),
    "ES": ("21", "10", "4", "0"),
    "FR": ("20", "10", "5.5", "2.1", "0"),
    "FI": ("25.5", "24", "14", "10", "0"),
    "GB": ("20", "5", "0"),
    "HU": ("27", "18", "5", "0"),
    "ID": ("11", "12", "0"),
    "IE": ("23", "13.5", "9", "0"),
    "IN": ("18", "12", "28", "5", "0"),
    "IT": ("22", "10", "5", "4", "0"),
    "LU": ("17", "14", "8", "3", "0"),
    "MX": ("16", "8", "0"),
    "NL": ("21", "9", "0"),
    "NO": ("25", "15", "12", "0"),
    "PL": ("23", "8", "5", "0"),
    "PT": ("23", "13", "6", "0"),
    "SE": ("25", "12", "6", "0"),
}


def share_rates(amounts: Sequence[Decimal], tax: Decimal, country: str) -> list[Decimal] | None:
    """A rate for each amount, or None when no way or more than one makes exactly this tax."""
    if not 2 <= len(amounts) <= MOST_MIXED_LINES:
        return None
    cents, wanted = [int(amount * HUNDRED) for amount in amounts], int(tax * HUNDRED)
    pairs = combinations(map(Decimal, _COUNTRY_RATES.get(country, ())), 2)
    found = [way for high, low in pairs for way in _ways_to_share(cents, wanted, high, low=low)]
    return found[0] if len(found) == 1 else None


def _ways_to_share(
    cents: list[int], wanted: int, high: Decimal, *, low: Decimal
) -> Iterator[list[Decimal]]:
    """Every proper subset of the lines whose tax at the high rate leaves the rest for the low."""
    sums = [0]
    for amount in cents:
        sums += [each + amount for each in sums]
    tenths = int(high * 10), int(low * 10)
    for mask in range(1, len(sums) - 1):
        parts = sums[mask], sums[-1] - sums[mask]
        if sum(map(_tax_cents, parts, tenths)) == wanted:
            yield [high if mask >> place & 1 else low for place in range(len(cents))]


def _tax_cents(cents: int, tenths: int) -> int:
    return (2 * cents * tenths + 1000) // 2000


def has_rate(country: str, rate: Decimal | None) -> bool:
    """Whether a country levies it; of countries that are not in the table, whether it is one."""
    known = _COUNTRY_RATES.get(country)
    return rate is not None and (known is None or rate in map(Decimal, known))
