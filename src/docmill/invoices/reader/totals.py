"""Net, tax and gross: of all labelled amounts, the three that fit each other best."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property, lru_cache
from itertools import pairwise, product
from math import inf
from typing import Final

from docmill.invoices.checks import TOLERANCE
from docmill.invoices.reader.amounts import LabelledAmount
from docmill.invoices.reader.equation import SLACK, Surroundings, make_surroundings, to_cents
from docmill.invoices.reader.model import (
    InvoiceTax,
    Values,
    format_number,
    keep_found,
    number_of,
    number_value,
)
from docmill.invoices.values import NOTHING
from docmill.reading.pages import Value

MOST: Final = 12
MOST_UNNAMED: Final = 9
UNNAMED: Final = 0.1  # what an amount is worth without a label
NAMED: Final = 0.6
NO_TAX: Final = 0.2  # what a tax of nothing is worth: any sum allows it
NAMED_RATE: Final = 0.6  # what it is worth that a tax is the share that its label names
UNIT: Final = 100  # cents
LARGE: Final = 10_000  # in a currency without cents
PART_COST: Final = 0.4  # for each charge or discount without which a sum does not close
IN_ORDER: Final = 0.1
OPEN: Final = -0.7  # what a sum is worth that does not close
CLOSED: Final = 2.0  # what a sum with a tax is worth that closes
CLOSED_UNTAXED: Final = 0.8  # what one is worth whose tax is nothing
MOST_TAXED: Final = CLOSED + NAMED_RATE + 3 * IN_ORDER  # beside labels and lines; rounded up
MOST_UNTAXED: Final = CLOSED_UNTAXED + NO_TAX + 3 * IN_ORDER
NEIGHBOURS: Final = 3  # rows between the taxes of two rates, at most
RATES: Final = tuple(
    Decimal(rate)
    for rate in (
        *(
            "0",
            "1.1",
            "2.1",
            "3",
            "4",
            "5",
            "5.5",
            "6",
            "7",
            "7.5",
            "7.7",
            "8",
            "8.1",
            "8.5",
            "9",
            "10",
            "11",
            "12",
            "13",
            "13.5",
            "14",
        ),
        *("15", "16", "17", "17.5", "18", "19", "20", "21", "22", "23", "24", "25", "25.5", "27"),
    )
)
_STANDS_FOR_GROSS: Final = {"gross": 1.0, "due": 0.75, "paid": 0.35}
_STANDS_FOR_NET: Final = {"net": 1.0, "base": 0.7, "gross": 0.4, "paid": 0.25, "discount": 0.25}
_KEPT_APART: Final = frozenset(
    {"paid", "due", "withholding", "discount", "charge", "other", "other_base", "carried"}
)


@dataclass(frozen=True)  # no slots: what it says is asked for in each set, and kept
class Pick:
    """One value of a set, which amounts it comes from and how much their labels say for it."""

    value: Decimal
    weight: float
    amounts: tuple[LabelledAmount, ...]

    @cached_property
    def row(self) -> int:
        return self.amounts[0].figure.row

    @cached_property
    def cents(self) -> int:
        return to_cents(self.value)

    @cached_property
    def is_whole(self) -> bool:
        """Whether it is printed without cents."""
        return self.value == int(self.value) and not _CENTS.search(self.amounts[0].figure.text)

    @cached_property
    def is_nothing(self) -> bool:
        """Whether it is no sum that anybody pays."""
        return self.value <= 0


TotalsSet = tuple[Pick | None, Pick | None, Pick | None]


@dataclass(frozen=True, slots=True)
class ChosenTotals:
    """The set that fits best, and what holds in it."""

    net: Pick | None
    tax: Pick | None
    gross: Pick | None
    score: float
    adds_up: bool
    lines_fit: bool

    @property
    def is_exact(self) -> bool:
        """Whether net and tax are the gross, and no charge or discount comes between."""
        parts = (self.net, self.tax, self.gross)
        net, tax, gross = (pick.value if pick else NOTHING for pick in parts)
        return abs(net + tax - gross) <= TOLERANCE


def choose_totals(
    amounts: Sequence[LabelledAmount], lines: Sequence[LabelledAmount]
) -> ChosenTotals:
    """The net, tax and gross that labels and arithmetic support best together.

    Where what the labels name does not add up, the lines may stand for the net, and then any
    amount for any of them, if then all of it does.
    """
    total = sum((line.value for line in lines), NOTHING) if lines else None
    around = make_surroundings(amounts, total)
    named = _after_discount(_best_set(amounts, around, ()), amounts, around)
    if named.adds_up and named.tax and named.tax.value:
        return named
    if total and named.tax and (by_lines := _net_by_lines(named, around, lines, amounts)):
        return by_lines
    wider = _best_set(amounts, around, _unnamed_picks(amounts))
    return wider if _is_proven(wider) and wider.score > named.score + 0.4 else named


def _after_discount(
    chosen: ChosenTotals, amounts: Sequence[LabelledAmount], around: Surroundings
) -> ChosenTotals:
    """The set with what is left after a discount as its net, where the page prints that too."""
    if not (chosen.net and chosen.gross and chosen.adds_up) or chosen.is_exact:
        return chosen
    left = chosen.gross.value - (chosen.tax.value if chosen.tax else NOTHING)
    bases = [pick for pick in _picks_of_roles(amounts, {"base": 1.0}) if pick.value == left]
    return _weigh(bases[0], chosen.tax, chosen.gross, around) if bases else chosen


def _net_by_lines(
    named: ChosenTotals,
    around: Surroundings,
    lines: Sequence[LabelledAmount],
    amounts: Sequence[LabelledAmount],
) -> ChosenTotals | None:
    """The set with what the lines come to as its net, where no net is named and so it closes.

    If not with the tax that is named best, then with another one, or with several in sum.
    """
    if named.net and named.net.amounts[0].role == "net":
        return None
    net = Pick(sum((line.value for line in lines), NOTHING), UNNAMED, tuple(lines))
    others = [*_picks_of_roles(amounts, {"tax": 1.0}), *_tax_sums(amounts)]
    sets = [_weigh(net, tax, named.gross, around) for tax in (named.tax, *others)]
    made = [each for each in sets if each.adds_up and each.is_exact]
    return next(iter([each for each in sets[:1] if each.adds_up] or made), None)


def _best_set(
    amounts: Sequence[LabelledAmount], around: Surroundings, others: Sequence[Pick]
) -> ChosenTotals:
    nets = [*_picks_of_roles(amounts, _STANDS_FOR_NET), *others]
    taxes = [*_picks_of_roles(amounts, {"tax": 1.0}), *_tax_sums(amounts)]
    taxes += () if any(_is_named(pick) for pick in taxes) else others
    grosses = [*_picks_of_roles(amounts, _STANDS_FOR_GROSS), *others]
    sets = product((*nets, None), (*taxes, None), (*grosses, None))
    return _weigh(*_find_best(sets, around), around)


def _find_best(sets: Iterable[TotalsSet], around: Surroundings) -> TotalsSet:
    """The first of the sets with the best score; what cannot reach it is not weighed."""
    best: TotalsSet = (None, None, None)
    most = -inf
    for made in sets:
        if _limit_score(*made, around) > most and (score := _score_set(*made, around)) > most:
            best, most = made, score
    return best


def _limit_score(
    net: Pick | None, tax: Pick | None, gross: Pick | None, around: Surroundings
) -> float:
    """What a set cannot be worth more than, whether its sum closes or not."""
    limit = MOST_TAXED if tax and tax.value else MOST_UNTAXED
    for pick in (net, tax, gross):
        limit += pick.weight if pick else 0.0
    fits = (net and around.fits_lines(net.value)) or (gross and around.fits_lines(gross.value))
    return limit + 1.0 if fits else limit


def _is_named(pick: Pick) -> bool:
    """Whether a label says what an amount of money is."""
    return bool(pick.value) and pick.weight > NAMED and pick.amounts[0].figure.is_marked


def _unnamed_picks(amounts: Iterable[LabelledAmount]) -> list[Pick]:
    """Amounts by themselves, whatever stands beside them."""
    found = {
        item.value: item
        for item in amounts
        if item.value > 0 and item.role not in _KEPT_APART and item.figure.is_marked
    }
    return [Pick(value, UNNAMED, (item,)) for value, item in found.items()][-MOST_UNNAMED:]


def _is_proven(chosen: ChosenTotals) -> bool:
    """Whether a set holds without all labels: the tax is a usual share, and it or the lines fit."""
    if not (chosen.adds_up and chosen.tax and chosen.tax.value):
        return False
    usual = _rate_bonus(chosen.net, chosen.tax, chosen.gross) > 0
    return usual and (chosen.lines_fit or chosen.tax.weight > 0.5)


def _picks_of_roles(amounts: Iterable[LabelledAmount], roles: dict[str, float]) -> list[Pick]:
    """The distinct values of some roles, best labels first; said twice counts more."""
    by_value: dict[Decimal, list[LabelledAmount]] = {}
    for item in amounts:
        if item.role in roles:
            by_value.setdefault(item.value, []).append(item)
    picks = [
        Pick(
            value,
            max(item.weight * roles[item.role] for item in same) + 0.05 * min(len(same) - 1, 3),
            tuple(sorted(same, key=lambda item: -item.weight * roles[item.role])),
        )
        for value, same in by_value.items()
    ]
    return sorted(picks, key=lambda pick: -pick.weight)[:MOST]


def _tax_sums(amounts: Iterable[LabelledAmount]) -> list[Pick]:
    """The taxes of several rates added up: all of them, and each run of neighbours."""
    rows: dict[tuple[int, int, Decimal | None], LabelledAmount] = {}
    for item in amounts:
        shown = item.value > 0 and item.figure.is_marked
        if item.role == "tax" and item.weight >= 0.5 and shown:
            rows.setdefault((item.page, item.figure.row, _rate_in(item.label)), item)
    several = list(rows.values())
    named = {_rate_in(item.label): item for item in reversed(several) if _rate_in(item.label)}
    runs: list[list[LabelledAmount]] = [[]]
    for item in several:
        if runs[-1] and item.figure.row - runs[-1][-1].figure.row > NEIGHBOURS:
            runs.append([])
        runs[-1].append(item)
    by_rate = [item for item in several if item in named.values()]
    made = {tuple(run) for run in (*runs, several, by_rate) if 2 <= len(run) <= 8}
    return [Pick(sum((item.value for item in run), NOTHING), 0.6, run) for run in made]


def _weigh(
    net: Pick | None, tax: Pick | None, gross: Pick | None, around: Surroundings
) -> ChosenTotals:
    score = _score_set(net, tax, gross, around)
    parts = _count_parts(net, tax, gross, around) if net and gross else None
    fits = any(around.fits_lines(pick.value) for pick in (net, gross) if pick)
    return ChosenTotals(net, tax, gross, score, parts is not None, fits)


def _score_set(
    net: Pick | None, tax: Pick | None, gross: Pick | None, around: Surroundings
) -> float:
    picks = [pick for pick in (net, tax, gross) if pick is not None]
    score = sum([pick.weight for pick in picks])
    if net and gross:
        score += _sum_bonus(net, tax, gross, _count_parts(net, tax, gross, around))
    if tax and (net or gross):
        score += _rate_bonus(net, tax, gross)
    score += _order_bonus(picks)
    if (net and around.fits_lines(net.value)) or (gross and around.fits_lines(gross.value)):
        score += 1.0
    return score - 0.6 * (
        (net is not None and net.is_nothing) + (gross is not None and gross.is_nothing)
    )


def _count_parts(net: Pick, tax: Pick | None, gross: Pick, around: Surroundings) -> int | None:
    gap = gross.cents - net.cents - (tax.cents if tax else 0)
    return around.count_parts(gap, _rounding_of(net, gross))


def _rounding_of(net: Pick, gross: Pick) -> int:
    """By how many cents a gross may be off: more where it is printed in whole units and the net is
    not, and most where all amounts are rounded to whole units."""
    if not gross.is_whole:
        return SLACK
    if not net.is_whole:
        return UNIT
    return 2 * UNIT if abs(gross.cents) >= LARGE * UNIT else SLACK


def _order_bonus(picks: Sequence[Pick]) -> float:
    """A foot goes from net over tax to gross."""
    return IN_ORDER * sum([one.row <= two.row for one, two in pairwise(picks)])


def _sum_bonus(net: Pick, tax: Pick | None, gross: Pick, parts: int | None) -> float:
    """What it is worth that net and tax come to the gross, with how many other amounts."""
    if parts is not None:
        closed = CLOSED if tax and tax.value else CLOSED_UNTAXED if tax else 0.1
        return closed - (PART_COST * parts if tax else 0)
    if tax is None and net.value and Decimal("0.01") < gross.value / net.value - 1 < Decimal("0.3"):
        return -0.1
    return OPEN


def _rate_bonus(net: Pick | None, tax: Pick, gross: Pick | None) -> float:
    """Whether the tax is a usual share of the net."""
    base = net.value if net else gross.value - tax.value if gross else NOTHING
    if not base or tax.value == base:
        return -0.5 if tax.value else 0.0
    if not tax.value:
        return NO_TAX
    rate = _rate_in(tax.amounts[0].label) if len(tax.amounts) == 1 else None
    return _share_bonus(tax.value, base, rate)


@lru_cache(maxsize=1024)
def _share_bonus(tax: Decimal, base: Decimal, rate: Decimal | None) -> float:
    """The same tax and net are weighed with each gross."""
    share = 100 * tax / base
    if not 0 <= share <= 30:
        return -1.5
    slack = 100 * TOLERANCE / abs(base) + Decimal("0.005")
    if rate is not None and abs(share - rate) <= slack:
        return NAMED_RATE
    return 0.4 if any(abs(share - usual) <= slack for usual in RATES) else 0.0


@lru_cache(maxsize=1024)
def _rate_in(label: str) -> Decimal | None:
    """The share that a label names."""
    match = _PERCENT.search(label)
    return Decimal(match[1].replace(",", ".")) if match else None


_CENTS: Final = re.compile(r"[.,]\d\d\D*$")
_PERCENT: Final = re.compile(r"(\d{1,2}(?:[.,]\d{1,2})?)\s?%")


def make_totals(chosen: ChosenTotals, amounts: Sequence[LabelledAmount]) -> Values:
    """All totals, the surer the more of them fit each other."""
    sure = confidence_of(chosen)
    alone = chosen.lines_fit and chosen.tax is None
    net = chosen.net or (chosen.gross if alone else None)
    found = {
        "net": _pick_value(net, sure),
        "tax": _pick_value(chosen.tax, sure),
        "gross": _pick_value(chosen.gross, sure),
        **_find_payments(chosen, amounts),
        "charges": _first_of_role(amounts, "charge"),
        "discounts": _first_of_role(amounts, "discount"),
    }
    return keep_found({f"totals.{name}": value for name, value in found.items()})


def make_taxes(
    chosen: ChosenTotals, amounts: Sequence[LabelledAmount], lines: Sequence[Values]
) -> tuple[InvoiceTax, ...]:
    """The taxes of several rates, each with the lines that bear it; else the one there is."""
    found = {item.value: item for item in (chosen.tax.amounts if chosen.tax else ())}
    if len(found) > 1:
        return tuple(_make_tax(item, lines, confidence_of(chosen)) for item in found.values())
    one = InvoiceTax(rate=_find_rate(chosen), base=_find_base(chosen, amounts))
    return _taxes_by_lines(chosen, lines) or (one,)


def _taxes_by_lines(chosen: ChosenTotals, lines: Sequence[Values]) -> tuple[InvoiceTax, ...]:
    """What the lines of each rate are taxed with, if that comes to the tax on the page."""
    bases: dict[Decimal, Decimal] = {}
    for line in lines:
        rate = number_of(line.get("tax_rate"))
        if rate is not None:
            bases[rate] = bases.get(rate, NOTHING) + (number_of(line.get("amount")) or NOTHING)
    taxes = {rate: (base * rate / 100).quantize(Decimal("0.01")) for rate, base in bases.items()}
    total = sum(taxes.values(), NOTHING)
    if len(bases) < 2 or not chosen.tax or abs(total - chosen.tax.value) > TOLERANCE:
        return ()
    return tuple(
        InvoiceTax(
            Value(format_number(tax), 0.8),
            Value(format_number(rate), 0.9),
            Value(format_number(bases[rate]), 0.8),
        )
        for rate, tax in taxes.items()
    )


def _make_tax(item: LabelledAmount, lines: Sequence[Values], sure: float) -> InvoiceTax:
    named = _labelled_rate(item)
    rate = number_of(named)
    own = [line for line in lines if rate is not None and number_of(line.get("tax_rate")) == rate]
    total = sum((number_of(line.get("amount")) or NOTHING for line in own), NOTHING)
    base = Value(format_number(total), 0.8) if own else None
    return InvoiceTax(_amount_value(item, sure), named if rate else None, base)


def _labelled_rate(item: LabelledAmount) -> Value | None:
    match, rate = _PERCENT.search(item.label), _rate_in(item.label)
    if not match or rate is None:
        return None
    return Value(format_number(rate), 0.9, item.page, item.figure.box, match[0])


def confidence_of(chosen: ChosenTotals) -> float:
    """How sure the chosen set is: sums that add up prove it, a lone label does not."""
    if chosen.adds_up and chosen.tax and chosen.tax.value:
        sure = 0.98 if chosen.lines_fit else 0.95
        return sure if chosen.is_exact else 0.85  # a net from which a discount is still to go
    if chosen.adds_up:
        return 0.93 if chosen.lines_fit else 0.85
    if chosen.lines_fit:
        return 0.8
    found = [pick for pick in (chosen.net, chosen.tax, chosen.gross) if pick]
    return 0.75 if len(found) == 1 and found[0].weight >= 0.95 else 0.55


def _pick_value(pick: Pick | None, sure: float) -> Value | None:
    if pick is None:
        return None
    figure = pick.amounts[0].figure
    several = len({item.value for item in pick.amounts}) > 1
    text = " + ".join(item.figure.text for item in pick.amounts) if several else figure.text
    return Value(format_number(pick.value), sure, figure.cell.page, figure.box, text)


def _amount_value(item: LabelledAmount, sure: float) -> Value:
    return number_value(item.figure, abs(item.value), sure)


def _first_of_role(amounts: Sequence[LabelledAmount], role: str) -> Value | None:
    found = [item for item in amounts if item.role == role and item.weight > 0.5 and item.value]
    return _amount_value(found[0], 0.6) if found else None


def _find_payments(chosen: ChosenTotals, amounts: Sequence[LabelledAmount]) -> dict[str, Value]:
    """Withholding, payments and what is due: those that explain each other, else the likeliest."""
    roles = {
        role: sorted((a for a in amounts if a.role == role), key=lambda a: -a.weight)[:5]
        for role in ("withholding", "paid", "due")
    }
    gross = chosen.gross.value if chosen.gross else None
    choices = [[*roles[role], None] for role in ("withholding", "paid", "due")]
    for withheld, paid, due in product(*choices):
        if due and gross is not None and (withheld or paid):
            off = sum((abs(item.value) for item in (withheld, paid) if item), NOTHING)
            if abs(gross - off - due.value) <= TOLERANCE:
                kept = {"withholding": withheld, "paid": paid, "due": due}
                found = {role: _amount_value(item, 0.95) for role, item in kept.items() if item}
                return found | {"due": number_value(due.figure, due.value, 0.95)}
    likely = {role: found[0] for role, found in roles.items() if found and found[0].weight > 0.5}
    return {role: _amount_value(item, 0.6) for role, item in likely.items()}


def _find_rate(chosen: ChosenTotals) -> Value | None:
    """The rate that the tax's label names, or the usual one that it amounts to."""
    if chosen.tax is None:
        return None
    item = chosen.tax.amounts[0]
    named = _labelled_rate(item)
    if named and len({each.value for each in chosen.tax.amounts}) == 1:
        return named
    if not chosen.net or not chosen.net.value:
        return None
    share = 100 * chosen.tax.value / chosen.net.value
    near = next((rate for rate in RATES if abs(share - rate) < Decimal("0.05")), None)
    return (
        Value(format_number(near), 0.7, item.page, item.figure.box, "")
        if near is not None
        else None
    )


def _find_base(chosen: ChosenTotals, amounts: Sequence[LabelledAmount]) -> Value | None:
    """What the tax is taken of: the other base where one is printed, else the net."""
    other = [item for item in amounts if item.role == "other_base" and item.weight > 0.5]
    if other:
        return _amount_value(other[0], 0.85)
    return _pick_value(chosen.net, 0.8) if chosen.tax else None
