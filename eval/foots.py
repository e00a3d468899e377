"""The foot of an invoice under several tax schemes: rows of label and amount, and their truth."""

from collections.abc import Callable
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from random import Random

NOTHING = Decimal(0)
SHORT = Decimal("0.02")


@dataclass(frozen=True, slots=True)
class Locale:
    """How one language prints an invoice; each choice of words is drawn once per document."""

    name: str
    words: dict[str, tuple[str, ...]]
    rates: tuple[str, ...]
    mark: str
    group: str
    places: int
    money: tuple[str, ...]
    scale: int

    def round(self, value: Decimal) -> Decimal:
        return value.quantize(Decimal(1).scaleb(-self.places), ROUND_HALF_UP)

    def print(self, value: Decimal, places: int | None = None) -> str:
        """A number in this language's notation."""
        text = f"{abs(value):,.{self.places if places is None else places}f}"
        text = text.replace(",", "~").replace(".", self.mark).replace("~", self.group)
        return ("-" if value < 0 else "") + text


@dataclass(frozen=True, slots=True)
class Foot:
    """Rows from top to bottom, and what of them is net, tax and gross."""

    rows: list[tuple[str, Decimal]]
    net: Decimal | None
    tax: Decimal | None
    gross: Decimal


@dataclass(frozen=True, slots=True)
class Sale:
    """What a foot is made of."""

    locale: Locale
    random: Random
    total: Decimal

    def word(self, concept: str, **parts: str) -> str:
        return self.random.choice(self.locale.words[concept]).format(**parts)

    def share(self, percent: str, of: Decimal) -> Decimal:
        return self.locale.round(of * Decimal(percent) / 100)


def _taxed(sale: Sale, net: Decimal) -> tuple[str, Decimal]:
    rate = sale.random.choice(sale.locale.rates)
    shown = rate.replace(".", sale.locale.mark)
    return sale.word("tax", rate=shown), sale.share(rate, net)


def plain(sale: Sale) -> Foot:
    label, tax = _taxed(sale, sale.total)
    gross = sale.total + tax
    rows = [(sale.word("net"), sale.total), (label, tax), (sale.word("gross"), gross)]
    return Foot(rows, sale.total, tax, gross)


def untaxed(sale: Sale) -> Foot:
    return Foot([(sale.word("gross"), sale.total)], None, None, sale.total)


def reverse_charge(sale: Sale) -> Foot:
    rows = [
        (sale.word("net"), sale.total),
        (sale.word("tax", rate="0"), NOTHING),
        (sale.word("gross"), sale.total),
    ]
    return Foot(rows, sale.total, NOTHING, sale.total)


def other_base(sale: Sale) -> Foot:
    """Twelve percent of eleven twelfths, as Indonesia has it."""
    base = sale.locale.round(sale.total * 11 / 12)
    tax = sale.share("11", sale.total)
    gross = sale.total + tax
    rows = [
        (sale.word("net"), sale.total),
        (sale.word("other_base"), base),
        (sale.word("tax", rate="12"), tax),
        (sale.word("gross"), gross),
    ]
    return Foot(rows, sale.total, tax, gross)


def withheld(sale: Sale) -> Foot:
    """Tax kept back by the buyer below the gross."""
    foot = sale.random.choice((plain, other_base))(sale)
    kept = sale.share("2", sale.total)
    rows = [
        *foot.rows,
        (sale.word("withheld", rate="2"), -kept),
        (sale.word("due"), foot.gross - kept),
    ]
    return Foot(rows, foot.net, foot.tax, foot.gross)


def withheld_inside(sale: Sale) -> Foot:
    """Tax kept back above the only total."""
    foot = plain(sale)
    kept = sale.share("10", sale.total)
    total = foot.gross - kept
    rows = [
        *foot.rows[:2],
        (sale.word("withheld", rate="10"), -kept),
        (sale.word("gross"), total),
    ]
    return Foot(rows, foot.net, foot.tax, total)


def down_payment(sale: Sale) -> Foot:
    """A share of the order is invoiced."""
    part = sale.share("30", sale.total)
    label, tax = _taxed(sale, part)
    rows = [
        (sale.word("order"), sale.total),
        (sale.word("down", rate="30"), part),
        (label, tax),
        (sale.word("gross"), part + tax),
    ]
    return Foot(rows, part, tax, part + tax)


def after_down_payment(sale: Sale) -> Foot:
    """What was paid before is taken off the net."""
    paid = sale.share("40", sale.total)
    net = sale.total - paid
    label, tax = _taxed(sale, net)
    rows = [
        (sale.word("order"), sale.total),
        (sale.word("paid"), -paid),
        (sale.word("base"), net),
        (label, tax),
        (sale.word("gross"), net + tax),
    ]
    return Foot(rows, net, tax, net + tax)


def paid_before(sale: Sale) -> Foot:
    foot = plain(sale)
    paid = sale.random.choice((foot.gross, sale.share("50", foot.gross)))
    rows = [*foot.rows, (sale.word("paid"), -paid), (sale.word("due"), foot.gross - paid)]
    return Foot(rows, foot.net, foot.tax, foot.gross)


def charged(sale: Sale) -> Foot:
    """A charge that bears no tax: stamp duty or freight."""
    label, tax = _taxed(sale, sale.total)
    charge = sale.share("1", sale.total)
    gross = sale.total + tax + charge
    rows = [(sale.word("net"), sale.total), (label, tax), (sale.word("charge"), charge)]
    return Foot([*rows, (sale.word("gross"), gross)], sale.total, tax, gross)


def discounted(sale: Sale) -> Foot:
    """A discount stands between subtotal and tax, and no other net is printed."""
    off = sale.share("10", sale.total)
    label, tax = _taxed(sale, sale.total - off)
    gross = sale.total - off + tax
    rows = [(sale.word("net"), sale.total), (sale.word("discount"), -off), (label, tax)]
    return Foot([*rows, (sale.word("gross"), gross)], sale.total, tax, gross)


def several_rates(sale: Sale) -> Foot:
    part = sale.share("35", sale.total)
    rates = sorted(sale.random.sample(sale.locale.rates, 2))
    taxes = [sale.share(rates[0], part), sale.share(rates[1], sale.total - part)]
    tax = sum(taxes, NOTHING)
    gross = sale.total + tax
    shown = [sale.word("tax", rate=rate.replace(".", sale.locale.mark)) for rate in rates]
    rows = [(sale.word("net"), sale.total), *zip(shown, taxes, strict=True)]
    return Foot([*rows, (sale.word("gross"), gross)], sale.total, tax, gross)


def rounded(sale: Sale) -> Foot:
    foot = plain(sale)
    gross = foot.gross.quantize(Decimal(1) if sale.locale.places else Decimal(100), ROUND_HALF_UP)
    off = gross - foot.gross
    rows = [*foot.rows[:2], (sale.word("rounding"), off), (sale.word("gross"), gross)]
    return Foot(rows, foot.net, foot.tax, gross)


SCHEMES: dict[str, Callable[[Sale], Foot]] = {
    made.__name__: made
    for made in (
        *(plain, untaxed, reverse_charge, other_base, withheld, withheld_inside, down_payment),
        *(after_down_payment, paid_before, charged, discounted, several_rates, rounded),
    )
}
