"""Which numbers are quantity, price and notional, and what was settled: labels and arithmetic."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import combinations, product
from typing import Final

from docmill.reading.numbers import currency_code
from docmill.trades.reader import lexicon
from docmill.trades.reader.figures import TradeFigure, judge_order
from docmill.trades.reader.rows import NoteRow

ZERO: Final = Decimal(0)
HUNDREDTH: Final = Decimal("0.01")
CENT: Final = Decimal("0.011")
MONEY_PLACES: Final = 2
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
IN_ORDER: Final = 0.4  # as the head of the table names them
LEAST: Final = 2.6

Figures = Sequence[TradeFigure]


@dataclass(frozen=True, slots=True)
class Deal:
    """A way to read a trade's numbers. `fit` says how quantity x price gives the notional."""

    quantity: TradeFigure | None = None
    price: TradeFigure | None = None
    notional: TradeFigure | None = None
    fit: str = ""
    score: float = 0.0
    quantity_value: Decimal = ZERO
    price_value: Decimal = ZERO
    notional_value: Decimal = ZERO

    @property
    def complete(self) -> bool:
        return self.quantity is not None and (self.notional is not None or self.price is not None)


def find_deal(figures: Figures) -> Deal:
    """The best deal among these numbers; an empty one where none is likely."""
    usable = [f for f in figures if f.number.value and not f.role("other")]
    quantities = _rank_figures((f for f in usable if _is_countable(f)), "quantity")
    prices = _rank_figures((f for f in usable if not f.bare and not _is_rate(f, "price")), "price")
    totals = _rank_figures((f for f in usable if not f.bare and not f.number.percent), "notional")
    rates = [f for f in figures if f.role("fx") and f.number.value]
    sums = _find_sums(quantities)
    deals = [
        replace(deal, score=deal.score + (SUMMED if quantity.value in sums else 0.0))
        for quantity in quantities
        for price in prices
        if not price.meets(quantity)
        for deal in _deals_with_totals(quantity, price, totals, rates)
    ]
    return max(
        [Deal(), *deals, *_deals_by_labels(quantities, prices, totals)], key=lambda deal: deal.score
    )


def _find_sums(quantities: Figures) -> set[Decimal]:
    """Quantities that are the sum of the smaller ones: of a trade done in parts, the whole."""
    named = {(f.row.index, f.value) for f in quantities if f.role("quantity")}
    values = sorted(value for _, value in named)
    whole = {f.value for f in quantities if f.role("quantity") and _is_in_sum_row(f)}
    for value in set(values):
        parts = [part for part in values if part < value]
        if len(parts) > 1 and sum(parts, ZERO) == value:
            whole.add(value)
    return whole


def _is_in_sum_row(figure: TradeFigure) -> bool:
    """Whether its row opens with a word for a sum: the whole of a trade that was done in parts."""
    return bool(lexicon.SUM_ROW.match(figure.row.plain))


def _is_rate(figure: TradeFigure, role: str) -> bool:
    """Whether the words call it an exchange rate, and not what it is looked at for."""
    return figure.role("fx") > 0 and not figure.role(role)


def _is_countable(figure: TradeFigure) -> bool:
    if figure.number.percent or figure.bare or _is_rate(figure, "quantity"):
        return False
    return figure.role("quantity") > 0 or not (figure.currency and figure.roles)


def _rank_figures(figures: Iterable[TradeFigure], role: str) -> list[TradeFigure]:
    others = {"quantity", "price", "notional", "settlement", "fees", "taxes", "fx"} - {role}
    if role == "notional":
        others -= {"settlement"}

    def rank(figure: TradeFigure) -> float:
        against = 0.5 * max((figure.role(name) for name in others), default=0.0)
        return figure.role(role) - against + (0.4 if _is_in_sum_row(figure) else 0.0)

    return sorted(figures, key=rank, reverse=True)[:MOST]


def _role_weight(figure: TradeFigure, role: str) -> float:
    """How far the words speak for a role, less what they say for another one."""
    own = figure.role(role)
    if role == "notional":
        own = max(own, 0.6 * figure.role("settlement"))
    against = max(
        (figure.role(name) for name in figure.roles if name not in {role, "settlement"}),
        default=0.0,
    )
    return own or -0.7 * against


def _deals_with_totals(
    quantity: TradeFigure,
    price: TradeFigure,
    totals: Figures,
    rates: Figures,
) -> Iterator[Deal]:
    """The deals of a quantity and a price with every total their product may be."""
    base = 2.2 * _role_weight(quantity, "quantity") + 1.6 * _role_weight(price, "price")
    base -= 2.5 if quantity.currency and not price.number.percent else 0.0
    if not quantity.roles and not price.roles:
        base += IN_ORDER * judge_order(quantity, price)
    for total in totals:
        if total.meets(quantity) or total.meets(price):
            continue
        words = (
            base + 1.3 * _role_weight(total, "notional") - _distance_cost(quantity, price, total)
        )
        for fit, bonus, values in _find_fits(quantity, price, total, rates):
            yield Deal(quantity, price, total, fit, words + bonus, *values)


def find_fitting(
    quantity: TradeFigure, price: TradeFigure, total: TradeFigure, rates: Figures
) -> list[Deal]:
    """The deals that these three numbers make, where they are known by their columns."""
    return list(_deals_with_totals(quantity, price, [total], rates))


def _distance_cost(*figures: TradeFigure) -> float:
    rows = [figure.row.index for figure in figures]
    span = max(rows) - min(rows)
    return APART * span - (ONE_ROW if span == 0 else 0)


DealValues = tuple[Decimal, Decimal, Decimal]


def _find_fits(
    quantity: TradeFigure, price: TradeFigure, total: TradeFigure, rates: Figures
) -> Iterator[tuple[str, float, DealValues]]:
    """How the product may meet the total, over all ways to read the three numbers."""
    read = (quantity.number.readings, price.number.readings, total.number.readings)
    for count, each, sum_ in product(*read):
        values = abs(count), abs(each), abs(sum_)
        fit, bonus = _fit_values(values, price, rates, total) if all(values) else ("", 0.0)
        if fit:
            yield fit, bonus - _reading_cost(quantity, values[0]), values


def _reading_cost(quantity: TradeFigure, count: Decimal) -> float:
    return 0.3 if count != abs(quantity.number.value) else 0.0


def _fit_values(
    values: DealValues, price: TradeFigure, rates: Figures, total: TradeFigure
) -> tuple[str, float]:
    count, each, sum_ = values
    made = count * each
    slack = find_slack(count, each, sum_)
    if abs(made - sum_) <= slack:
        loose = min(float(slack / sum_) * 200, 2.5)
        bonus = TRIVIAL if is_trivial(count, each) else EXACT - loose
        return "product", bonus + _shape_bonus(count, each)
    if abs(made / 100 - sum_) <= max(slack / 100, CENT) and (
        price.number.percent or not price.currency or price.currency == "GBP"
    ):
        return "per cent", TURNED if price.number.percent else TURNED - 0.6
    if abs(made - sum_) <= sum_ * NET and total.role("fees") == 0 and 1 not in (count, each):
        return ("net", NEARLY) if total.row.index == price.row.index else ("", 0.0)
    if count == int(count) and _is_contract(made, sum_, total):
        return "contract", TURNED - 1.0
    for rate in rates:
        turned = abs(rate.number.value)
        paid = made / 100 if price.number.percent else made
        near = min(abs(paid * turned - sum_), abs(paid / turned - sum_))
        if near <= max(sum_ * Decimal("0.001"), CENT) and not rate.meets(total):
            return "exchange", TURNED
    return "", 0.0


def _is_contract(made: Decimal, sum_: Decimal, total: TradeFigure) -> bool:
    """Whether a hundred of the underlying make one contract, as of options."""
    named = total.role("notional") or total.role("settlement")
    return abs(made * 100 - sum_) <= CENT and named > 0


def is_trivial(count: Decimal, each: Decimal) -> bool:
    """Whether a product proves nothing: small whole numbers multiply to anything."""
    small = all(value == int(value) and value < SMALL for value in (count, each))
    return small or 1 in (count, each)


def _shape_bonus(count: Decimal, each: Decimal) -> float:
    """Which of two factors looks like a count: whole, or with more places than money has."""
    whole = count == int(count) and each != int(each)
    return 0.3 if whole or (_is_fine(count) and _is_money(each)) else 0.0


def _is_fine(value: Decimal) -> bool:
    """Whether more places are printed than money has."""
    return len(f"{value:f}".partition(".")[2]) > MONEY_PLACES


def _is_money(value: Decimal) -> bool:
    """Whether a value needs no more places than money has, whatever noughts are printed."""
    return value == value.quantize(HUNDREDTH)


def find_slack(count: Decimal, each: Decimal, sum_: Decimal) -> Decimal:
    """How far a product of rounded numbers may be off."""
    off = count * _step(each) / 2 + each * _step(count) / 2 + CENT
    return min(off, max(sum_ * ROUGH, CENT))


def _step(value: Decimal) -> Decimal:
    value = value.normalize() if value == value.quantize(HUNDREDTH) else value
    exponent = value.as_tuple().exponent
    places = exponent if isinstance(exponent, int) and exponent < 0 else 0
    return Decimal(1).scaleb(places) if places else ZERO


def _deals_by_labels(quantities: Figures, prices: Figures, totals: Figures) -> Iterator[Deal]:
    """Deals without arithmetic: every number must be named."""
    named = [f for f in quantities if f.role("quantity")]
    for quantity in named:
        price = _nearest_named(prices, "price", quantity)
        total = _nearest_named(totals, "notional", quantity)
        if price is None and total is None:
            continue
        score = 2.2 * _role_weight(quantity, "quantity")
        score += 1.6 * _role_weight(price, "price") if price else 0.0
        score += 1.3 * _role_weight(total, "notional") if total else 0.0
        score += WRONG if price and total else 0.0
        others = [figure for figure in (price, total) if figure]
        score -= _distance_cost(quantity, *others)
        each, sum_ = (figure.value if figure else ZERO for figure in (price, total))
        yield Deal(quantity, price, total, "", score, quantity.value, each, sum_)


def _nearest_named(figures: Figures, role: str, quantity: TradeFigure) -> TradeFigure | None:
    """The nearest number that words give a role."""
    named = [f for f in figures if _role_weight(f, role) > 0.5 and not f.meets(quantity)]
    return min(
        named,
        key=lambda f: (-_role_weight(f, role), abs(f.row.index - quantity.row.index)),
        default=None,
    )


_CODES: Final = re.compile(r"\b[A-Z]{3}\b")
PLAUSIBLE: Final = (Decimal("0.5"), Decimal("1.6"))
DEAREST: Final = 2000  # no rate between the currencies of a trade and an account is higher
MAX_PARTS: Final = 9
AFTER_TAX: Final = Decimal("0.35")
TURNS: Final = Decimal("0.002")
ROUNDED: Final = Decimal("0.02")


@dataclass(frozen=True, slots=True)
class TradeSettlement:
    """The settled amount and what lies between it and the notional."""

    amount: TradeFigure | None = None
    fees: tuple[TradeFigure, ...] = ()
    taxes: tuple[TradeFigure, ...] = ()
    balanced: bool = False


def _convert(figures: Figures, value: Decimal) -> list[Decimal]:
    """A value in another currency: by every rate that is shown, both ways round."""
    rates = [f.value for f in figures if f.number.value > 0 and _is_believed_rate(f)]
    return [way for rate in rates for way in (value / rate, value * rate)]


def _is_believed_rate(figure: TradeFigure) -> bool:
    """Whether a word beside it, or the head over a bare number, calls it a rate."""
    return figure.role("fx") >= 1.0 or (figure.role("fx") > 0 and not figure.currency)


def find_settlement(figures: Figures, deal: Deal, opening: int) -> TradeSettlement:
    """The settlement that fees and taxes explain best; `opening` is the trade's first row."""
    candidates = [f for f in figures if _may_settle(f, deal)]
    candidates = candidates or _amount_in_opening_row(figures, deal, opening)
    best, score = TradeSettlement(), -1.0
    for figure in candidates:
        parts, balanced = _find_parts(figures, deal, figure)
        own = figure.role("settlement") + (3.0 if balanced else 0.0) + figure.row.index / 1000
        if own > score:
            best, score = _make_settlement(figure, parts, balanced), own
    return _in_account_currency(figures, candidates, best, deal)


def _in_account_currency(
    figures: Figures, candidates: Figures, found: TradeSettlement, deal: Deal
) -> TradeSettlement:
    """The same amount in the currency of the account, where it is given after a rate."""
    amount = found.amount
    if amount is None:
        turned = _find_turned(figures, deal.notional) if deal.notional else None
        return found if turned is deal.notional else replace(found, amount=turned)
    ways = _convert(figures, amount.value)
    if found.balanced and amount.currency and not ways:
        return found
    own = amount.currency or (deal.notional.currency if deal.notional else "")
    for one in candidates:
        if one.row.index <= amount.row.index or (own and one.currency == own):
            continue
        known = replace(amount, currency=own)
        figure = one if one.currency else _add_currency(figures, known, one)
        near = any(abs(way - figure.value) <= figure.value * AFTER_TAX for way in ways)
        if figure.currency and (near or figure.role("settlement") >= 1.0):
            return replace(found, amount=figure)
    whole = abs(amount.value - deal.notional_value) <= CENT
    return replace(found, amount=_find_turned(figures, amount) if whole else amount)


def _find_turned(figures: Figures, amount: TradeFigure) -> TradeFigure:
    """The same amount in another currency behind a rate that turns it exactly; else itself."""
    rates = [f for f in figures if f.role("fx") and f.value and f.row.index >= amount.row.index]
    for rate in rates:
        ways = (amount.value / rate.value, amount.value * rate.value)
        for figure in figures:
            if figure.row.index < rate.row.index or figure.currency in {"", amount.currency}:
                continue
            if any(abs(way - figure.value) <= max(way * TURNS, CENT) for way in ways):
                return figure
    return amount


def _add_currency(figures: Figures, amount: TradeFigure, other: TradeFigure) -> TradeFigure:
    """An amount below a rate, with the currency that the rate leads to if the sums say so."""
    for rate in figures:
        between = amount.row.index < rate.row.index < other.row.index
        if not (rate.role("fx") and rate.value and between):
            continue
        codes = [c for c in _CODES.findall(rate.row.text) if currency_code(c)]
        foreign = [code for code in codes if code != amount.currency]
        ways = (amount.value / rate.value, amount.value * rate.value)
        if foreign and any(abs(way - other.value) <= way * ROUNDED for way in ways):
            return replace(other, currency=foreign[-1])
    return other


def _amount_in_opening_row(figures: Figures, deal: Deal, opening: int) -> list[TradeFigure]:
    """The amount at the end of a statement's row that opens with the trade."""
    row = [f for f in figures if f.row.index == opening]
    own = [deal.quantity, deal.price, deal.notional]
    free = [f for f in row[-1:] if not f.roles and not any(o and f.meets(o) for o in own)]
    return [f for f in free if not f.number.percent and not f.bare]


def _make_settlement(figure: TradeFigure, parts: Figures, balanced: bool) -> TradeSettlement:
    taxes = tuple(f for f in parts if f.role("taxes") and not f.role("fees"))
    return TradeSettlement(figure, tuple(f for f in parts if f not in taxes), taxes, balanced)


def _may_settle(figure: TradeFigure, deal: Deal) -> bool:
    if figure.number.percent or figure.bare or not figure.role("settlement"):
        return False
    if any(other and figure.meets(other) for other in (deal.quantity, deal.price)):
        return False
    total = deal.notional_value
    if not total:
        return bool(figure.number.value)
    if _is_foreign(figure, deal):
        return total / DEAREST <= figure.value <= total * DEAREST
    return total * PLAUSIBLE[0] <= figure.value <= total * PLAUSIBLE[1]


def _is_foreign(figure: TradeFigure, deal: Deal) -> bool:
    own = deal.notional.currency if deal.notional else ""
    return bool(figure.currency and own and figure.currency != own)


def _find_parts(
    figures: Figures, deal: Deal, amount: TradeFigure
) -> tuple[tuple[TradeFigure, ...], bool]:
    """The fees and taxes that make up the difference, and whether they do."""
    parts = tuple(f for f in figures if _is_part(f, amount, deal))[:MAX_PARTS]
    gap = abs(amount.value - deal.notional_value)
    if not deal.notional_value or _is_foreign(amount, deal):
        return parts, False
    if gap <= CENT:
        return (), True
    for size in range(len(parts), 0, -1):
        for some in combinations(parts, size):
            if abs(sum((f.value for f in some), ZERO) - gap) <= CENT:
                return some, True
    return parts, False


def _is_part(figure: TradeFigure, amount: TradeFigure, deal: Deal) -> bool:
    if not (figure.role("fees") or figure.role("taxes")) or not figure.number.value:
        return False
    others = [f for f in (deal.quantity, deal.price, deal.notional, amount) if f]
    apart = not any(figure.meets(other) for other in others)
    money = not figure.currency or not amount.currency or figure.currency == amount.currency
    return apart and money and not figure.number.percent and figure.value < amount.value


def find_currency(figures: Figures, deal: Deal, amount: TradeFigure | None) -> str:
    """The currency of the account: of the settled amount, else of the notional, else of most."""
    if amount is not None and not amount.currency and deal.notional is not None:
        other = _find_other_currency(figures, deal, amount)
        if other:
            return other
    turned = find_row_conversion(figures, deal)
    for figure in (amount if amount and not turned else turned, deal.notional, deal.price):
        if figure is not None and figure.currency:
            return figure.currency
    counted = Counter(f.currency for f in figures if f.currency) or _count_written_currencies(
        figures
    )
    return counted.most_common(1)[0][0] if counted else ""


def _count_written_currencies(figures: Figures) -> Counter[str]:
    """The currencies that stand in the rows of the numbers."""
    return count_currencies({f.row.index: f.row for f in figures}.values())


def count_currencies(rows: Iterable[NoteRow]) -> Counter[str]:
    """How often these rows print each code of a currency."""
    words = [word for row in rows for word in _CODES.findall(row.text)]
    return Counter(word for word in words if currency_code(word))


def _find_other_currency(figures: Figures, deal: Deal, amount: TradeFigure) -> str:
    """The currency of an amount that shows none, where a rate brings the notional nearer to it."""
    own = deal.notional.currency if deal.notional else ""
    others = Counter(f.currency for f in figures if f.currency and f.currency != own)
    gaps = [abs(amount.value - way) for way in _convert(figures, deal.notional_value)]
    if not (own and others and gaps) or min(gaps) > abs(amount.value - deal.notional_value):
        return ""
    return others.most_common(1)[0][0]


def find_converted_notional(figures: Figures, deal: Deal, money: str) -> TradeFigure | None:
    """The notional in another currency than it was traded in, as it is printed."""
    able = [f for f in figures if f.currency == money and f is not deal.notional]
    for turned in _convert(figures, deal.notional_value):
        for figure in able:
            if abs(figure.value - turned) <= max(turned * TURNS, CENT):
                return figure
    return find_row_conversion(figures, deal)


def find_row_conversion(figures: Figures, deal: Deal) -> TradeFigure | None:
    """In a statement's row: the amount in another currency that a number beside it leads to."""
    if deal.notional is None or not deal.notional.currency:
        return None
    row = [f for f in figures if f.row.index == deal.notional.row.index and f.value]
    own = [f for f in (deal.quantity, deal.price, deal.notional) if f]
    free = [f for f in row if not any(f.meets(other) for other in own)]
    for figure in free:
        if figure.currency in {"", deal.notional.currency}:
            continue
        for rate in free:
            ways = (deal.notional_value / rate.value, deal.notional_value * rate.value)
            near = any(abs(way - figure.value) <= max(way * TURNS, CENT) for way in ways)
            if near and not rate.meets(figure):
                return figure
    return None


def convert_notional(figures: Figures, deal: Deal, amount: TradeFigure | None) -> Decimal | None:
    """The notional by the rate, the way round that comes nearer to what was settled."""
    ways = _convert(figures, deal.notional_value)
    if not ways or amount is None:
        return None
    best = min(ways, key=lambda way: abs(way - amount.value))
    near = abs(best - amount.value) <= amount.value * AFTER_TAX
    return best.quantize(HUNDREDTH) if near else None
