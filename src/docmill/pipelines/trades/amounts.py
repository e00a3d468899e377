"""What was settled: the amount paid or received, in which currency, after which fees and taxes."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import combinations
from typing import Final

from docmill.pipelines.trades.figures import Figure
from docmill.pipelines.trades.search import CENT, ZERO, Deal
from docmill.reading.numbers import currency

_CODES: Final = re.compile(r"\b[A-Z]{3}\b")
PLAUSIBLE: Final = (Decimal("0.5"), Decimal("1.6"))
MOST: Final = 9
AFTER_TAX: Final = Decimal("0.35")
TURNS: Final = Decimal("0.002")


@dataclass(frozen=True, slots=True)
class Settled:
    """The settled amount and what lies between it and the notional."""

    amount: Figure | None = None
    fees: tuple[Figure, ...] = ()
    taxes: tuple[Figure, ...] = ()
    balanced: bool = False


@dataclass(frozen=True, slots=True)
class Converted:
    """The notional in the currency of the account: printed, or worked out from the rate."""

    value: Decimal
    figure: Figure | None


def settled(figures: Sequence[Figure], deal: Deal, opening: int) -> Settled:
    """The settlement that fees and taxes explain best; `opening` is the trade's first row."""
    candidates = [f for f in figures if _may_settle(f, deal)]
    candidates = candidates or _booked(figures, deal, opening)
    best, score = Settled(), -1.0
    for figure in candidates:
        parts, balanced = _explained(figures, deal, figure)
        own = figure.role("settlement") + (3.0 if balanced else 0.0) + figure.row.index / 1000
        if own > score:
            best, score = _settled(figure, parts, balanced), own
    return _exchanged(figures, candidates, best)


def _exchanged(figures: Sequence[Figure], candidates: Sequence[Figure], found: Settled) -> Settled:
    """The same amount in the currency of the account, where it is given after a rate."""
    amount = found.amount
    if amount is None:
        return found
    rates = rates_of(figures)
    ways = [way for rate in rates for way in (amount.value / rate, amount.value * rate)]
    for figure in candidates:
        if figure.row.index <= amount.row.index or figure.currency in {"", amount.currency}:
            continue
        near = any(abs(way - figure.value) <= figure.value * AFTER_TAX for way in ways)
        if near or figure.role("settlement") >= 1.0:
            return Settled(figure, found.fees, found.taxes, found.balanced)
    return found


def _booked(figures: Sequence[Figure], deal: Deal, opening: int) -> list[Figure]:
    """The amount at the end of a statement's row that opens with the trade."""
    row = [f for f in figures if f.row.index == opening]
    own = [deal.quantity, deal.price, deal.notional]
    free = [f for f in row[-1:] if not f.roles and not any(o and f.meets(o) for o in own)]
    return [f for f in free if not f.number.percent and not f.bare]


def rates_of(figures: Sequence[Figure]) -> list[Decimal]:
    return [f.value for f in figures if f.role("fx") and f.number.value]


def _settled(figure: Figure, parts: Sequence[Figure], balanced: bool) -> Settled:
    taxes = tuple(f for f in parts if f.role("taxes") and not f.role("fees"))
    return Settled(figure, tuple(f for f in parts if f not in taxes), taxes, balanced)


def _may_settle(figure: Figure, deal: Deal) -> bool:
    if figure.number.percent or figure.bare or not figure.role("settlement"):
        return False
    if deal.quantity is not None and figure.meets(deal.quantity):
        return False
    if deal.price is not None and figure.meets(deal.price):
        return False
    total = deal.notional_value
    if not total or _foreign(figure, deal):
        return bool(figure.number.value)
    return total * PLAUSIBLE[0] <= figure.value <= total * PLAUSIBLE[1]


def _foreign(figure: Figure, deal: Deal) -> bool:
    own = deal.notional.currency if deal.notional else ""
    return bool(figure.currency and own and figure.currency != own)


def _explained(
    figures: Sequence[Figure], deal: Deal, amount: Figure
) -> tuple[tuple[Figure, ...], bool]:
    """The fees and taxes that make up the difference, and whether they do."""
    parts = [f for f in figures if _is_part(f, amount, deal)]
    gap = abs(amount.value - deal.notional_value)
    if not deal.notional_value or _foreign(amount, deal):
        return tuple(parts[:MOST]), False
    if gap <= CENT:
        return (), True
    for size in range(len(parts[:MOST]), 0, -1):
        for some in combinations(parts[:MOST], size):
            if abs(sum((f.value for f in some), ZERO) - gap) <= CENT:
                return some, True
    return tuple(parts[:MOST]), False


def _is_part(figure: Figure, amount: Figure, deal: Deal) -> bool:
    if not (figure.role("fees") or figure.role("taxes")) or not figure.number.value:
        return False
    others = [f for f in (deal.quantity, deal.price, deal.notional, amount) if f]
    apart = not any(figure.meets(other) for other in others)
    money = not figure.currency or not amount.currency or figure.currency == amount.currency
    return apart and money and not figure.number.percent and figure.value < amount.value


def currency_of(figures: Sequence[Figure], deal: Deal, amount: Figure | None) -> str:
    """The currency of the account: of the settled amount, else of the notional, else of most."""
    if amount is not None and not amount.currency and deal.notional is not None:
        other = _other_currency(figures, deal, amount)
        if other:
            return other
    for figure in (amount, deal.notional, deal.price):
        if figure is not None and figure.currency:
            return figure.currency
    counted = Counter(f.currency for f in figures if f.currency) or _written(figures)
    return counted.most_common(1)[0][0] if counted else ""


def _written(figures: Sequence[Figure]) -> Counter[str]:
    """The currencies that stand in the rows of the numbers and in those above them."""
    rows = {f.row.index: f.row for f in figures}
    words = [word for row in rows.values() for word in _CODES.findall(row.text)]
    return Counter(word for word in words if currency(word))


def _other_currency(figures: Sequence[Figure], deal: Deal, amount: Figure) -> str:
    """The currency of an amount that shows none, where a rate brings the notional nearer to it."""
    own = deal.notional.currency if deal.notional else ""
    others = Counter(f.currency for f in figures if f.currency and f.currency != own)
    total = deal.notional_value
    ways = [way for rate in rates_of(figures) for way in (total / rate, total * rate)]
    gaps = [abs(amount.value - way) for way in ways]
    if not (own and others and gaps) or min(gaps) > abs(amount.value - deal.notional_value):
        return ""
    return others.most_common(1)[0][0]


def converted(figures: Sequence[Figure], deal: Deal, money: str) -> Converted | None:
    """The notional in another currency than it was traded in."""
    product = deal.notional_value
    ways = [way for rate in rates_of(figures) for way in (product / rate, product * rate)]
    able = [f for f in figures if f.currency == money and f is not deal.notional]
    for turned in ways:
        for figure in able:
            if abs(figure.value - turned) <= max(turned * TURNS, CENT):
                return Converted(figure.value, figure)
    return None


def worked_out(figures: Sequence[Figure], deal: Deal, amount: Figure | None) -> Converted | None:
    """The notional by the rate, the way round that comes nearer to what was settled."""
    rates = rates_of(figures)
    if not rates or amount is None:
        return None
    ways = [
        way for rate in rates for way in (deal.notional_value / rate, deal.notional_value * rate)
    ]
    best = min(ways, key=lambda way: abs(way - amount.value))
    near = abs(best - amount.value) <= amount.value * Decimal("0.35")
    return Converted(best.quantize(Decimal("0.01")), None) if near else None
