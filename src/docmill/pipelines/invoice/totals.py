"""Net, tax and gross: of all labelled amounts, the three that fit each other best."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import product
from typing import Final

from docmill.pipelines.invoice.amounts import Amount

CENT: Final = Decimal("0.02")
MOST: Final = 12
MOST_UNNAMED: Final = 9
UNNAMED: Final = 0.1  # what an amount is worth without a label
NO_TAX: Final = 0.2  # what a tax of nothing is worth: any sum allows it
NEIGHBOURS: Final = 3  # rows between the taxes of two rates, at most
RATES: Final = tuple(
    Decimal(rate)
    for rate in (
        *(
            "0",
            "1.1",
            "2.1",
            "5",
            "5.5",
            "6",
            "7",
            "7.7",
            "8",
            "8.1",
            "8.5",
            "9",
            "10",
            "11",
            "12",
            "13",
        ),
        *("15", "16", "17", "17.5", "18", "19", "20", "21", "22", "23", "24", "25"),
    )
)
_STANDS_FOR_GROSS: Final = {"gross": 1.0, "due": 0.75, "paid": 0.35}
_STANDS_FOR_NET: Final = {"net": 1.0, "base": 0.7, "gross": 0.4}
_KEPT_APART: Final = frozenset(
    {"paid", "due", "withholding", "discount", "charge", "other", "other_base", "carried"}
)


@dataclass(frozen=True, slots=True)
class Pick:
    """One value of a set, which amounts it comes from and how much their labels say for it."""

    value: Decimal
    weight: float
    amounts: tuple[Amount, ...]


@dataclass(frozen=True, slots=True)
class Chosen:
    """The set that fits best, and what holds in it."""

    net: Pick | None
    tax: Pick | None
    gross: Pick | None
    score: float
    adds_up: bool
    lines_fit: bool

    @property
    def exact(self) -> bool:
        """Whether net and tax are the gross, and no charge or discount comes between."""
        parts = (self.net, self.tax, self.gross)
        net, tax, gross = (pick.value if pick else Decimal(0) for pick in parts)
        return abs(net + tax - gross) <= CENT


@dataclass(frozen=True, slots=True)
class Around:
    """What else the set is held against."""

    lines: Decimal | None
    charges: Decimal
    discounts: Decimal


def choose(amounts: Sequence[Amount], lines: Decimal | None) -> Chosen:
    """The net, tax and gross that labels and arithmetic support best together.

    Where what the labels name does not add up, any amount may stand for any of them, if then all
    of it does.
    """
    around = Around(lines, _one(amounts, "charge"), _one(amounts, "discount"))
    named = _best(amounts, around, ())
    if named.adds_up and named.tax and named.tax.value:
        return named
    wider = _best(amounts, around, _unnamed(amounts))
    return wider if _proven(wider) and wider.score > named.score + 0.4 else named


def _best(amounts: Sequence[Amount], around: Around, others: Sequence[Pick]) -> Chosen:
    nets = [*_picks(amounts, _STANDS_FOR_NET), *others]
    taxes = [*_picks(amounts, {"tax": 1.0}), *_tax_sums(amounts), *others]
    grosses = [*_picks(amounts, _STANDS_FOR_GROSS), *others]
    sets = product((*nets, None), (*taxes, None), (*grosses, None))
    return max((_weigh(*made, around) for made in sets), key=lambda made: made.score)


def _unnamed(amounts: Iterable[Amount]) -> list[Pick]:
    """Amounts by themselves, whatever stands beside them."""
    found = {
        item.value: item
        for item in amounts
        if item.value > 0 and item.role not in _KEPT_APART and _printed_as_money(item)
    }
    return [Pick(value, UNNAMED, (item,)) for value, item in found.items()][-MOST_UNNAMED:]


def _printed_as_money(item: Amount) -> bool:
    return bool(item.figure.number.currency or set(item.figure.text) & set(".,'"))


def _proven(chosen: Chosen) -> bool:
    """Whether a set holds without all labels: the tax is a usual share, and it or the lines fit."""
    if not (chosen.adds_up and chosen.tax and chosen.tax.value):
        return False
    usual = _rate_bonus(chosen.net, chosen.tax, chosen.gross) > 0
    return usual and (chosen.lines_fit or chosen.tax.weight > 0.5)


def _one(amounts: Iterable[Amount], role: str) -> Decimal:
    likely: dict[int, Decimal] = {}  # of each figure the first reading
    for item in amounts:
        if item.role == role and item.weight > 0.5:
            likely.setdefault(id(item.figure), abs(item.value))
    return sum(dict.fromkeys(likely.values()), Decimal(0))


def _picks(amounts: Iterable[Amount], roles: dict[str, float]) -> list[Pick]:
    """The distinct values of some roles, best labels first; said twice counts more."""
    by_value: dict[Decimal, list[Amount]] = {}
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


def _tax_sums(amounts: Iterable[Amount]) -> list[Pick]:
    """The taxes of several rates added up: all of them, and each run of neighbours."""
    rows: dict[tuple[int, int], Amount] = {}
    for item in amounts:
        shown = item.value > 0 and _printed_as_money(item)
        if item.role == "tax" and item.weight >= 0.5 and shown:
            rows[item.page, item.figure.row] = item
    several = list(rows.values())
    runs: list[list[Amount]] = [[]]
    for item in several:
        if runs[-1] and item.figure.row - runs[-1][-1].figure.row > NEIGHBOURS:
            runs.append([])
        runs[-1].append(item)
    made = {tuple(run) for run in (*runs, several) if 2 <= len(run) <= 8}
    return [Pick(sum((item.value for item in run), Decimal(0)), 0.6, run) for run in made]


def _weigh(net: Pick | None, tax: Pick | None, gross: Pick | None, around: Around) -> Chosen:
    score = sum(pick.weight for pick in (net, tax, gross) if pick)
    adds_up = False
    if net and gross:
        adds_up = _adds_up(net.value, tax.value if tax else Decimal(0), gross.value, around)
        score += _sum_bonus(net, tax, gross, adds_up)
    if tax and (net or gross):
        score += _rate_bonus(net, tax, gross)
    lines_fit = _lines_fit(net, gross, around)
    score += 1.0 if lines_fit else 0.0
    score -= 0.6 * sum(1 for pick in (net, gross) if pick and pick.value <= 0)
    return Chosen(net, tax, gross, score, adds_up, lines_fit)


def _adds_up(net: Decimal, tax: Decimal, gross: Decimal, around: Around) -> bool:
    if abs(net + tax - gross) <= CENT:
        return True
    other = {around.charges, -around.discounts, around.charges - around.discounts} - {Decimal(0)}
    return bool(tax) and any(abs(net + part + tax - gross) <= CENT for part in other)


def _sum_bonus(net: Pick, tax: Pick | None, gross: Pick, adds_up: bool) -> float:
    exact = abs(net.value + (tax.value if tax else 0) - gross.value) <= CENT
    if adds_up:
        return (2.0 if exact else 1.4) if tax and tax.value else 0.8 if tax else 0.3
    if tax is None and net.value and Decimal("0.01") < gross.value / net.value - 1 < Decimal("0.3"):
        return -0.2
    return -1.6


def _rate_bonus(net: Pick | None, tax: Pick, gross: Pick | None) -> float:
    """Whether the tax is a usual share of the net."""
    base = net.value if net else gross.value - tax.value if gross else Decimal(0)
    if not base or tax.value == base:
        return -0.5 if tax.value else 0.0
    if not tax.value:
        return NO_TAX
    share = 100 * tax.value / base
    if not 0 <= share <= 30:
        return -1.5
    slack = 100 * CENT / abs(base)
    return 0.4 if any(abs(share - rate) <= slack + Decimal("0.005") for rate in RATES) else 0.0


def _lines_fit(net: Pick | None, gross: Pick | None, around: Around) -> bool:
    if around.lines is None or not around.lines:
        return False
    sums = {around.lines, around.lines - around.discounts, around.lines + around.charges}
    sums.add(around.lines + around.charges - around.discounts)
    targets = [pick.value for pick in (net, gross) if pick]
    return any(abs(total - target) <= CENT for total in sums for target in targets)
