"""Which numbers are quantity, price and notional: the set that labels and arithmetic speak for."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import product
from typing import Final

from docmill.pipelines.trades.figures import Figure

ZERO: Final = Decimal(0)
HUNDREDTH: Final = Decimal("0.01")
CENT: Final = Decimal("0.011")
EXACT: Final = 4.0
TURNED: Final = 3.0  # through an exchange rate or per cent
SMALL: Final = 60
TRIVIAL: Final = 1.2  # one times a price is no proof
MOST: Final = 16  # candidates of each role that are looked at
SUMMED: Final = 1.5
ROUGH: Final = Decimal("0.06")
NET: Final = Decimal("0.006")  # a total after fees that the row does not name
NEARLY: Final = 2.4
WRONG: Final = -1.2
APART: Final = 0.06  # a row
ONE_ROW: Final = 0.8
LEAST: Final = 2.6


@dataclass(frozen=True, slots=True)
class Deal:
    """A way to read a trade's numbers. `fit` says how quantity x price gives the notional."""

    quantity: Figure | None = None
    price: Figure | None = None
    notional: Figure | None = None
    fit: str = ""
    score: float = 0.0
    quantity_value: Decimal = ZERO
    price_value: Decimal = ZERO
    notional_value: Decimal = ZERO

    @property
    def complete(self) -> bool:
        return self.quantity is not None and (self.notional is not None or self.price is not None)


def best(figures: Sequence[Figure]) -> Deal:
    """The best deal among these numbers; an empty one where none is likely."""
    usable = [f for f in figures if f.number.value and not f.role("other")]
    quantities = _ranked((f for f in usable if _countable(f)), "quantity")
    prices = _ranked((f for f in usable if not f.bare), "price")
    totals = _ranked((f for f in usable if not f.bare and not f.number.percent), "notional")
    rates = [f for f in figures if f.role("fx") and f.number.value]
    sums = _sums(quantities)
    deals = [
        replace(deal, score=deal.score + (SUMMED if quantity.value in sums else 0.0))
        for quantity in quantities
        for price in prices
        if not price.meets(quantity)
        for deal in _with(quantity, price, totals, rates)
    ]
    return max([Deal(), *deals, *_pairs(quantities, prices, totals)], key=_score)


def _score(deal: Deal) -> float:
    return deal.score


def _sums(quantities: Sequence[Figure]) -> set[Decimal]:
    """Quantities that are the sum of the smaller ones: of a trade done in parts, the whole."""
    named = {(f.row.index, f.value) for f in quantities if f.role("quantity")}
    values = sorted(value for _, value in named)
    whole: set[Decimal] = set()
    for value in set(values):
        parts = [part for part in values if part < value]
        if len(parts) > 1 and sum(parts, ZERO) == value:
            whole.add(value)
    return whole


def _countable(figure: Figure) -> bool:
    if figure.number.percent or figure.bare:
        return False
    return figure.role("quantity") > 0 or not (figure.currency and figure.roles)


def _ranked(figures: Iterable[Figure], role: str) -> list[Figure]:
    others = {"quantity", "price", "notional", "settlement", "fees", "taxes", "fx"} - {role}
    if role == "notional":
        others -= {"settlement"}

    def rank(figure: Figure) -> float:
        return figure.role(role) - 0.5 * max((figure.role(name) for name in others), default=0.0)

    return sorted(figures, key=rank, reverse=True)[:MOST]


def _worth(figure: Figure, role: str) -> float:
    """How far the words speak for a role, less what they say for another one."""
    own = figure.role(role)
    if role == "notional":
        own = max(own, 0.6 * figure.role("settlement"))
    against = max(
        (figure.role(name) for name in figure.roles if name not in {role, "settlement"}),
        default=0.0,
    )
    return own or -0.7 * against


def _with(
    quantity: Figure, price: Figure, totals: Sequence[Figure], rates: Sequence[Figure]
) -> Iterator[Deal]:
    """The deals of a quantity and a price with every total their product may be."""
    base = 2.2 * _worth(quantity, "quantity") + 1.6 * _worth(price, "price")
    base -= 2.5 if quantity.currency and not price.number.percent else 0.0
    for total in totals:
        if total.meets(quantity) or total.meets(price):
            continue
        words = base + 1.3 * _worth(total, "notional") - _apart(quantity, price, total)
        for fit, bonus, values in _fits(quantity, price, total, rates):
            yield Deal(quantity, price, total, fit, words + bonus, *values)


def _apart(*figures: Figure) -> float:
    rows = [figure.row.index for figure in figures]
    span = max(rows) - min(rows)
    return APART * span - (ONE_ROW if span == 0 else 0)


Values = tuple[Decimal, Decimal, Decimal]


def _fits(
    quantity: Figure, price: Figure, total: Figure, rates: Sequence[Figure]
) -> Iterator[tuple[str, float, Values]]:
    """How the product may meet the total, over all ways to read the three numbers."""
    read = (quantity.number.readings, price.number.readings, total.number.readings)
    for count, each, sum_ in product(*read):
        values = abs(count), abs(each), abs(sum_)
        fit, bonus = _fit(values, price, rates, total) if all(values) else ("", 0.0)
        if fit:
            yield fit, bonus - _doubt(quantity, values[0]), values


def _doubt(quantity: Figure, count: Decimal) -> float:
    return 0.3 if count != abs(quantity.number.value) else 0.0


def _fit(
    values: Values, price: Figure, rates: Sequence[Figure], total: Figure
) -> tuple[str, float]:
    count, each, sum_ = values
    made = count * each
    slack = _slack(count, each, sum_)
    if abs(made - sum_) <= slack:
        loose = min(float(slack / sum_) * 200, 2.5)
        bonus = TRIVIAL if _trivial(count, each) else EXACT - loose
        return "product", bonus + _shape(count, each)
    if abs(made / 100 - sum_) <= max(slack / 100, CENT) and (
        price.number.percent or not price.currency or price.currency == "GBP"
    ):
        return "per cent", TURNED if price.number.percent else TURNED - 0.6
    if abs(made - sum_) <= sum_ * NET and total.role("fees") == 0 and 1 not in (count, each):
        return ("net", NEARLY) if total.row.index == price.row.index else ("", 0.0)
    for rate in rates:
        turned = abs(rate.number.value)
        near = min(abs(made * turned - sum_), abs(made / turned - sum_))
        if near <= max(sum_ * Decimal("0.001"), CENT) and not rate.meets(total):
            return "exchange", TURNED
    return "", 0.0


def _trivial(count: Decimal, each: Decimal) -> bool:
    """Whether a product proves nothing: small whole numbers multiply to anything."""
    small = all(value == int(value) and value < SMALL for value in (count, each))
    return small or 1 in (count, each)


def _shape(count: Decimal, each: Decimal) -> float:
    """Which of two factors looks like a count: whole, or with more places than money has."""
    whole = count == int(count) and each != int(each)
    return 0.3 if whole or (_step(count) < HUNDREDTH and _step(each) == HUNDREDTH) else 0.0


def _slack(count: Decimal, each: Decimal, sum_: Decimal) -> Decimal:
    """How far a product of rounded numbers may be off."""
    off = count * _step(each) / 2 + each * _step(count) / 2 + CENT
    return min(off, max(sum_ * ROUGH, CENT))


def _step(value: Decimal) -> Decimal:
    value = value.normalize() if value == value.quantize(HUNDREDTH) else value
    exponent = value.as_tuple().exponent
    places = exponent if isinstance(exponent, int) and exponent < 0 else 0
    return Decimal(1).scaleb(places) if places else ZERO


def _pairs(
    quantities: Sequence[Figure], prices: Sequence[Figure], totals: Sequence[Figure]
) -> Iterator[Deal]:
    """Deals without arithmetic: every number must be named."""
    named = [f for f in quantities if f.role("quantity")]
    for quantity in named:
        price = _named(prices, "price", quantity)
        total = _named(totals, "notional", quantity)
        if price is None and total is None:
            continue
        score = 2.2 * _worth(quantity, "quantity")
        score += 1.6 * _worth(price, "price") if price else 0.0
        score += 1.3 * _worth(total, "notional") if total else 0.0
        score += WRONG if price and total else 0.0
        others = [figure for figure in (price, total) if figure]
        score -= _apart(quantity, *others)
        yield Deal(
            quantity,
            price,
            total,
            "",
            score,
            quantity.value,
            price.value if price else ZERO,
            total.value if total else ZERO,
        )


def _named(figures: Sequence[Figure], role: str, quantity: Figure) -> Figure | None:
    """The nearest number that words give a role."""
    named = [f for f in figures if _worth(f, role) > 0.5 and not f.meets(quantity)]
    return min(
        named,
        key=lambda f: (-_worth(f, role), abs(f.row.index - quantity.row.index)),
        default=None,
    )
